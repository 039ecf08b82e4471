// Connect the controls of the page.

function listen(id, event, handler) {
  byId(id).addEventListener(event, handler);
}

// Return a handler that changes a filter to the value of a control.
function filtered(changeFilter) {
  return (event) => {
    changeFilter(event.target.value);
    filter();
    showClusters();
  };
}

function listenToFilters() {
  listen("search", "input", filtered((value) => { choice.searched = value.trim().toLowerCase(); }));
  listen("least", "input", filtered((value) => { choice.minNearDuplicates = Math.max(Number(value) || 1, 1); }));
  listen("filters", "submit", (event) => event.preventDefault());
  listen("clear", "click", () => {
    byId("filters").reset();
    Object.assign(choice, { searched: "", pattern: null, minNearDuplicates: 1 });
    filter();
    showClusters();
    byId("search").focus();
  });
  listen("only-back", "click", () => {
    const button = document.querySelector(`button[data-pattern="${choice.pattern}"]`);
    choice.pattern = null;
    filter();
    showClusters();
    button.scrollIntoView({ block: "center" });
    button.focus({ preventScroll: true });
  });
}

function listenToTable() {
  for (const head of byId("cluster-table").tHead.querySelectorAll("[data-sorts]")) {
    head.firstElementChild.addEventListener("click", () => {
      const by = head.dataset.sorts;
      // Numbers start with the largest, names with the first in the alphabet.
      choice.ascending = choice.sort === by ? !choice.ascending : by === "key";
      choice.sort = by;
      choice.page = 0;
      sort();
      showClusters();
    });
  }
  listen("cluster-table", "click", (event) => {
    const button = event.target.closest("button"), body = event.target.closest("tbody");
    if (!body || !body.dataset.cluster) return;
    if (!button) {
      const row = event.target.closest("tr.cluster");
      if (row && !event.target.closest("a") && getSelection().isCollapsed) toggle(body);
    } else if (button.classList.contains("open")) {
      toggle(body);
    } else if (button.classList.contains("compare")) {
      compare(Number(body.dataset.cluster), Number(button.dataset.page));
    } else {
      showMore(body, Number(button.dataset.shown));
    }
  });
  const toggle = (body) => {
    open(body, !body.classList.contains("opened"));
    showOpenAll();
  };
  listen("member-order", "change", (event) => {
    choice.memberOrder = event.target.value;
    for (const body of byId("cluster-table").querySelectorAll("tbody.opened")) open(body, true);
  });
  listen("open-all", "click", () => openAll(!areAllOpen()));
  const scrollUp = () => byId("cluster-table").scrollIntoView({ block: "start" });
  listen("first", "click", () => { turnTo(0); scrollUp(); });
  listen("previous", "click", () => { turnTo(choice.page - 1); scrollUp(); });
  listen("next", "click", () => { turnTo(choice.page + 1); scrollUp(); });
  listen("last", "click", () => { turnTo(tablePageCount() - 1); scrollUp(); });
  listen("page", "change", (event) => turnTo((Math.floor(Number(event.target.value)) || 1) - 1));
}

function listenToComparison() {
  for (const side of ["left", "right"]) {
    listen(`choose-${side}`, "change", (event) => choose(side, Number(event.target.value)));
    listen(`before-${side}`, "click", () => choose(side, comparison[side] - 1));
    listen(`after-${side}`, "click", () => choose(side, comparison[side] + 1));
  }
  listen("swap", "click", () => {
    [comparison.left, comparison.right] = [comparison.right, comparison.left];
    showComparison();
  });
  listen("only", "change", (event) => byId("texts-compared").classList.toggle("only", event.target.checked));
  listen("difference-before", "click", () => goToDifference(-1));
  listen("difference-after", "click", () => goToDifference(1));
  for (const [id, step] of [["cluster-before", -1], ["cluster-after", 1]]) {
    listen(id, "click", () => {
      goToCluster(step);
      if (byId(id).disabled) byId("close").focus();
    });
  }
  listen("close", "click", () => byId("comparison").close());
}

function listenToOverview() {
  for (const button of document.querySelectorAll("button[data-shows]")) {
    const table = document.querySelector(`table[data-more="${button.dataset.shows}"]`), { textContent } = button;
    button.disabled = false;
    table.classList.add("short");
    button.addEventListener("click", () => {
      const short = table.classList.toggle("short");
      button.setAttribute("aria-expanded", String(!short));
      button.textContent = short ? textContent : "Show the first 10";
    });
  }
  for (const button of document.querySelectorAll("button[data-pattern]")) {
    button.disabled = false;
    button.addEventListener("click", () => {
      choice.pattern = Number(button.dataset.pattern);
      filter();
      showClusters();
      byId("clusters").scrollIntoView();
      byId("only-back").focus({ preventScroll: true });
    });
  }
}

function start() {
  for (const part of document.querySelectorAll(".scripted")) part.hidden = false;
  choice.groups = makeGroups(pages);
  // A reload keeps typed text but resets everything else, so reset the text, too.
  byId("filters").reset();
  byId("member-order").value = choice.memberOrder;
  filter();
  showClusters();
  listenToFilters();
  listenToTable();
  listenToComparison();
  listenToOverview();
  addEventListener("beforeprint", openForPrint);
  addEventListener("afterprint", closeAfterPrint);
  // The first letter of a search would wait for this.
  setTimeout(lowerCaseNames);
}

start();
