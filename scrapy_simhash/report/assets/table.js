// Show a page of the table of clusters. Each cluster is a tbody: its representative and, if open, members.
const MEMBERS_AT_ONCE = 100;
// Limit for the rows of all open clusters, because a browser takes seconds to lay out ten thousand.
const ROWS_AT_ONCE = 2_000;

function nameOfPattern() {
  return visible(cut(data.patterns[choice.pattern].pattern)) || "(none)";
}

// Return the title of a near-duplicate, unless its representative has the same title.
function memberTitle(page, headTitle) {
  const title = titleOf(page);
  return title && title !== headTitle ? [element("span", { className: "row-title" }, titleElement(title))] : [];
}

// Return a title that is cut and has its own text direction, so that it cannot disturb its line.
function titleElement(title) {
  return element("bdi", {}, visible(cut(title)));
}

// Return the title of a representative, and how many pages of the cluster share it. One title for many
// URLs may belong to an error page.
function headTitle(cluster, head) {
  const title = titleOf(head);
  if (!title) return [];
  const members = nearDuplicatesOf(choice.groups, cluster);
  let sameTitle = 1, withText = 1;
  for (const page of members) {
    withText += pages.text[page] >= 0;
    sameTitle += titleOf(page) === title;
  }
  const haveAllTexts = withText > members.length;
  const all = counted(withText, "page") + (haveAllTexts ? "" : " with a text here");
  const part = sameTitle === withText && haveAllTexts ? `all ${all}` : `${numbers.format(sameTitle)} of ${all}`;
  return [element("span", { className: "row-title" }, titleElement(title), element("span", {}, `\u00b7 ${part}`))];
}

// Return a mark with the number of near-duplicates that match the search, which are hidden until the row
// is opened.
function matchMarks(cluster, head) {
  const { searchCounts, searched } = choice;
  const found = searchCounts ? searchCounts[cluster] - Number(lowerCaseNames()[head].includes(searched)) : 0;
  return found > 0 ? [element("span", { className: "mark found" }, `found in ${counted(found, "near-duplicate")}`)] : [];
}

function clusterBody(cluster, rows) {
  const { groups, searched } = choice, head = groups.heads[cluster];
  const opener = element("button", {
    type: "button", className: "open", "aria-expanded": "false",
    "aria-label": `Pages of the cluster of ${visible(cut(pages.key[head])) || "(no name)"}`,
  });
  const row = element("tr", { className: "cluster" },
    element("td", { className: "opener" }, opener),
    element("th", { scope: "row" }, nameOf(pages.key[head], { searched }),
      ...matchMarks(cluster, head), ...headTitle(cluster, head)),
    element("td", { className: "number" }, numbers.format(groups.counts[cluster]), ...fullSize(cluster)),
    element("td", { className: "number" }, distanceRange(groups.minDistance[cluster], groups.maxDistance[cluster])),
    element("td", { className: "number" }, similarityRange(groups.minSimilarity[cluster], groups.maxSimilarity[cluster])),
    element("td", { className: "number" }, moment(groups.seen[cluster])),
  );
  const body = element("tbody", {}, row);
  body.dataset.cluster = cluster;
  if (choice.opened.has(head)) open(body, true, rows);
  return body;
}

// Return the number of all near-duplicates of a cluster, if the file has only a part of them.
function fullSize(cluster) {
  const size = choice.groups.sizes[cluster];
  return size > choice.groups.counts[cluster] ? [element("small", {}, ` of ${numbers.format(size)}`)] : [];
}

// Open a cluster with its first rows of members, or close it.
function open(body, isOpen, rows = MEMBERS_AT_ONCE) {
  const cluster = Number(body.dataset.cluster), head = choice.groups.heads[cluster];
  body.querySelector("button.open").setAttribute("aria-expanded", String(isOpen));
  body.classList.toggle("opened", isOpen);
  for (const row of body.querySelectorAll("tr:not(.cluster)")) row.remove();
  if (isOpen) {
    const members = membersInOrder(choice.groups, cluster, choice.memberOrder);
    body.append(...memberRows(cluster, members.subarray(0, rows)), ...furtherRow(members, rows));
    choice.opened.add(head);
  } else {
    choice.opened.delete(head);
  }
}

// Return the clusters on this page of the table, without the row that says that there are none.
function clusterBodies() {
  return [...byId("cluster-table").tBodies].filter((body) => body.dataset.cluster);
}

function openAll(isOpen) {
  const bodies = clusterBodies();
  for (const body of bodies) open(body, isOpen, rowsOfEach(bodies.length));
  showOpenAll();
}

function rowsOfEach(clusterCount) {
  return Math.min(Math.max(Math.floor(ROWS_AT_ONCE / clusterCount), 1), MEMBERS_AT_ONCE);
}

function areAllOpen() {
  const bodies = clusterBodies();
  return bodies.length > 0 && bodies.every((body) => body.classList.contains("opened"));
}

function showOpenAll() {
  byId("open-all").textContent = areAllOpen() ? "Close all" : "Open all";
  byId("open-all").disabled = !choice.shown.length;
}

function memberRows(cluster, members) {
  const { groups, searched } = choice, head = groups.heads[cluster];
  return Array.from(members, (page) => {
    const name = nameOf(pages.key[page], { searched, beside: pages.key[head] });
    const compare = element("button", {
      type: "button", className: "compare",
      "aria-label": `Compare with ${visible(cut(pages.key[page])) || "(no name)"}`,
    }, "Compare");
    compare.dataset.page = page;
    return element("tr", { className: "member" },
      element("td", { className: "opener" }),
      element("th", { scope: "row" }, name, ...memberTitle(page, titleOf(head))),
      element("td", { className: "number" }, compare),
      element("td", { className: "number" }, String(groups.distance[page])),
      element("td", { className: "number" }, similarityRange(similarityTo(page, head))),
      element("td", { className: "number" }, moment(pages.seen[page])),
    );
  });
}

function furtherRow(members, shown) {
  const left = members.length - shown;
  if (left <= 0) return [];
  const text = `Show ${numbers.format(Math.min(left, MEMBERS_AT_ONCE))} more of ${numbers.format(left)}`;
  const button = element("button", { type: "button", className: "further-members" }, text);
  button.dataset.shown = shown;
  return [element("tr", { className: "member" }, element("td", { className: "opener" }),
    element("td", { colSpan: 5 }, button))];
}

function showMore(body, shown) {
  const cluster = Number(body.dataset.cluster);
  const members = membersInOrder(choice.groups, cluster, choice.memberOrder);
  const next = memberRows(cluster, members.subarray(shown, shown + MEMBERS_AT_ONCE));
  body.lastElementChild.remove();
  body.append(...next, ...furtherRow(members, shown + MEMBERS_AT_ONCE));
  next[0].querySelector("button").focus();
}

function showClusters() {
  const table = byId("cluster-table");
  const from = choice.page * CLUSTERS_PER_PAGE;
  const clusters = choice.shown.subarray(from, from + CLUSTERS_PER_PAGE);
  const openCount = clusters.filter((cluster) => choice.opened.has(choice.groups.heads[cluster])).length;
  const bodies = Array.from(clusters, (cluster) => clusterBody(cluster, rowsOfEach(openCount)));
  if (!bodies.length) {
    const text = choice.groups.count ? "No cluster matches the filters." : "There are no near-duplicates.";
    bodies.push(element("tbody", {}, element("tr", {}, element("td", { colSpan: 6, className: "none" }, text))));
  }
  for (const body of [...table.tBodies]) body.remove();
  table.append(...bodies);
  for (const head of table.tHead.querySelectorAll("[data-sorts]")) {
    if (head.dataset.sorts === choice.sort) {
      head.setAttribute("aria-sort", choice.ascending ? "ascending" : "descending");
    } else {
      head.removeAttribute("aria-sort");
    }
  }
  showPager();
  showOpenAll();
}

function showPager() {
  const count = tablePageCount(), { page } = choice;
  byId("page").value = page + 1;
  byId("page").max = count;
  byId("pages").textContent = `of ${numbers.format(count)}`;
  for (const id of ["first", "previous"]) byId(id).disabled = page === 0;
  for (const id of ["next", "last"]) byId(id).disabled = page === count - 1;
  byId("clear").disabled = !isFiltered();
  showPattern();
  const { groups, shown } = choice;
  const near = counted(choice.nearDuplicates, "near-duplicate");
  const leftOut = data.left_out.near_duplicates;
  const notListed = leftOut ? ` (${numbers.format(leftOut)} more are not listed)` : "";
  const from = page * CLUSTERS_PER_PAGE;
  const part = count > 1
    ? `; shown here: ${numbers.format(from + 1)} to ${numbers.format(Math.min(from + CLUSTERS_PER_PAGE, shown.length))}`
    : "";
  const only = choice.pattern === null ? "" : ` with pages like ${nameOfPattern()}`;
  const text = isFiltered()
    ? `${numbers.format(shown.length)} of ${counted(groups.count, "cluster")}${only}, with ${near}${part}`
    : `${counted(groups.count, "cluster")} with ${near}${notListed}${part}`;
  // Screen readers read each change aloud, so write only changes.
  if (byId("shown").textContent !== text) byId("shown").textContent = text;
}

// Show the filter by a pattern as a button that leads back to it.
function showPattern() {
  const button = byId("only-back");
  button.parentElement.hidden = choice.pattern === null;
  if (choice.pattern !== null) button.textContent = `Only with pages like ${nameOfPattern()}: back`;
}

function turnTo(page) {
  choice.page = Math.min(Math.max(page, 0), tablePageCount() - 1);
  showClusters();
}

// Open the shown clusters for printing, because nobody can click on paper.
const openedForPrint = [];
function openForPrint() {
  const bodies = clusterBodies();
  for (const body of bodies) {
    if (body.classList.contains("opened")) continue;
    open(body, true, rowsOfEach(bodies.length));
    openedForPrint.push(body);
  }
}

function closeAfterPrint() {
  for (const body of openedForPrint.splice(0)) if (body.isConnected) open(body, false);
}
