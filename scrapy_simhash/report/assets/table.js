// Show the table of clusters, one page of it at a time. Each cluster is a table body with its pages.
const MEMBERS_AT_ONCE = 100;
// Limit for the rows of all open clusters: a browser takes seconds to lay out ten thousand.
const ROWS_AT_ONCE = 2_000;
const ONLY = { host: "on the host", pattern: "with pages like", pair: "with pages like" };

function nameOfOnly({ kind, number }) {
  const name = (of) => visible(cut(of)) || "(none)";
  if (kind === "host") return visible(cut(data.names.hosts[number])) || "(no host)";
  const { patterns } = data.names;
  if (kind === "pattern") return name(patterns[number]);
  const [one, other] = data.pairs[number];
  return one === other ? `${name(patterns[one])}, several` : `${name(patterns[one])} and ${name(patterns[other])}`;
}

function marks(cluster) {
  const { groups } = choice, shown = [];
  if (groups.isFlood(cluster)) shown.push(element("span", { className: "mark flood" }, "flood"));
  return shown;
}

// Return the title of a near-duplicate, unless it is `known` from its representative.
function titled(page, known = "") {
  const title = titleOf(page);
  return title && title !== known ? [element("span", { className: "row-title" }, titleShown(title))] : [];
}

// Isolate the direction of the title, and cut it, so that it cannot disturb the rest of the line.
function titleShown(title) {
  return element("bdi", {}, visible(cut(title)));
}

// Return the title of a representative, and how many pages share it. A title of many URLs may belong
// to an error page.
function titledHead(cluster, head) {
  const title = titleOf(head);
  if (!title) return [];
  const members = nearDuplicatesOf(choice.groups, cluster);
  let count = 1, known = 1;
  for (const page of members) {
    known += pages.text[page] >= 0;
    count += titleOf(page) === title;
  }
  const of = counted(known, "page") + (known > members.length ? "" : " with a text here");
  const part = count === known && known > members.length ? `all ${of}` : `${numbers.format(count)} of ${of}`;
  return [element("span", { className: "row-title" }, titleShown(title), element("span", {}, `\u00b7 ${part}`))];
}

// Show how many near-duplicates match the search: they are hidden until the row is opened.
function matchesWithin(cluster, head) {
  const { matching, having, searched, groups } = choice, shown = [];
  const within = matching ? matching[cluster] - Number(lowered()[head].includes(searched)) : 0;
  if (within > 0) shown.push(element("span", { className: "mark found" }, `found in ${counted(within, "near-duplicate")}`));
  // Pages that match the button of the overview, unless all do; they sum up to the number in a pair's row.
  if (having && having[cluster] <= groups.counts[cluster]) shown.push(element("span", { className: "mark" }, `${numbers.format(having[cluster])} such`));
  return shown;
}

function clusterBody(cluster, rows) {
  const { groups } = choice, head = groups.heads[cluster], { searched } = choice;
  const least = groups.least[cluster], most = groups.most[cluster];
  const opener = element("button", {
    type: "button", className: "open", "aria-expanded": "false",
    "aria-label": `Pages of the cluster of ${visible(cut(pages.key[head])) || "(no name)"}`,
  });
  const row = element("tr", { className: "cluster" },
    element("td", { className: "opener" }, opener),
    element("th", { scope: "row" }, nameOf(pages.key[head], { searched }), ...marks(cluster),
      ...matchesWithin(cluster, head), ...titledHead(cluster, head)),
    element("td", { className: "number" }, numbers.format(groups.counts[cluster]), ...notListed(cluster)),
    element("td", { className: "number" }, distanceRange(least, most)),
    element("td", { className: "number" }, similarityShown(groups.leastAlike[cluster], groups.mostAlike[cluster])),
    element("td", { className: "number" }, moment(groups.seen[cluster])),
  );
  const body = element("tbody", {}, row);
  body.dataset.cluster = cluster;
  if (choice.opened.has(head)) open(body, true, rows);
  return body;
}

// Return the full size of a cluster that is shortened in this file.
function notListed(cluster) {
  const size = choice.groups.sizes[cluster];
  return size > choice.groups.counts[cluster] ? [element("small", {}, ` of ${numbers.format(size)}`)] : [];
}

function open(body, opened, most = MEMBERS_AT_ONCE) {
  const cluster = Number(body.dataset.cluster), head = choice.groups.heads[cluster];
  body.querySelector("button.open").setAttribute("aria-expanded", String(opened));
  body.classList.toggle("opened", opened);
  for (const row of body.querySelectorAll("tr:not(.cluster)")) row.remove();
  if (opened) {
    const members = membersInOrder(choice.groups, cluster, choice.memberOrder);
    body.append(...memberRows(cluster, members.subarray(0, most)), ...furtherRow(members, most));
    choice.opened.add(head);
  } else {
    choice.opened.delete(head);
  }
}

// Check the clusters on this page of the table.
function openAll(opened) {
  const bodies = [...byId("cluster-table").tBodies].filter((body) => body.dataset.cluster);
  for (const body of bodies) open(body, opened, rowsOfEach(bodies.length));
  showOpenAll();
}

function rowsOfEach(count) {
  return Math.min(Math.max(Math.floor(ROWS_AT_ONCE / count), 1), MEMBERS_AT_ONCE);
}

function areAllOpen() {
  const bodies = [...byId("cluster-table").tBodies].filter((body) => body.dataset.cluster);
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
    const apart = groups.distance[page];
    return element("tr", { className: "member" },
      element("td", { className: "opener" }),
      element("th", { scope: "row" }, name, ...titled(page, titleOf(head))),
      element("td", { className: "number" }, compare),
      element("td", { className: "number" }, String(apart)),
      element("td", { className: "number" }, similarityShown(similarityTo(page, head))),
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
  const some = choice.shown.subarray(from, from + CLUSTERS_PER_PAGE);
  const opened = some.filter((cluster) => choice.opened.has(choice.groups.heads[cluster])).length;
  const bodies = Array.from(some, (cluster) => clusterBody(cluster, rowsOfEach(opened)));
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
  const count = pageCount(), { page } = choice;
  byId("page").value = page + 1;
  byId("page").max = count;
  byId("pages").textContent = `of ${numbers.format(count)}`;
  for (const id of ["first", "previous"]) byId(id).disabled = page === 0;
  for (const id of ["next", "last"]) byId(id).disabled = page === count - 1;
  byId("clear").disabled = !isFiltered();
  showOnly();
  const { groups, shown } = choice;
  const near = counted(choice.nearDuplicates, "near-duplicate");
  const from = page * CLUSTERS_PER_PAGE;
  const part = count > 1
    ? `; shown here: ${numbers.format(from + 1)} to ${numbers.format(Math.min(from + CLUSTERS_PER_PAGE, shown.length))}`
    : "";
  const only = choice.only ? ` ${ONLY[choice.only.kind]} ${nameOfOnly(choice.only)}` : "";
  const text = isFiltered()
    ? `${numbers.format(shown.length)} of ${counted(groups.count, "cluster")}${only}, with ${near}${part}`
    : `${counted(groups.count, "cluster")} with ${near}${part}`;
  // Screen readers read each change aloud, so write only changes.
  if (byId("shown").textContent !== text) byId("shown").textContent = text;
}

// Show the filter of the overview as a button that leads back there.
function showOnly() {
  const button = byId("only-back"), { only } = choice;
  button.parentElement.hidden = !only;
  if (only) button.textContent = `Only ${ONLY[only.kind]} ${nameOfOnly(only)}: back`;
}

function turnTo(page) {
  choice.page = Math.min(Math.max(page, 0), pageCount() - 1);
  showClusters();
}

// Open the shown clusters for printing, because nobody can click on paper.
const closedForPrint = [];
function openForPrint() {
  const bodies = [...byId("cluster-table").tBodies].filter((body) => body.dataset.cluster);
  for (const body of bodies) {
    if (body.classList.contains("opened")) continue;
    open(body, true, rowsOfEach(bodies.length));
    closedForPrint.push(body);
  }
}

function closeAfterPrint() {
  for (const body of closedForPrint.splice(0)) if (body.isConnected) open(body, false);
}
