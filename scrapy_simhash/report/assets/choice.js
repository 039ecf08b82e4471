// The state of the table: the grouping, the clusters that pass the filters, and their order.
const choice = {
  groups: null,
  shown: new Int32Array(0),
  nearDuplicates: 0,
  searched: "",
  // Number of pages in each cluster that match the search.
  matching: null,
  // Number of pages in each cluster that match the button of the overview.
  having: null,
  host: "",
  // The button of the overview that was clicked: its kind (host, pattern or pair of patterns) and
  // its number.
  only: null,
  flood: "any",
  least: 1,
  sort: "size",
  ascending: false,
  page: 0,
  memberOrder: "farthest",
  opened: new Set(),
};
const CLUSTERS_PER_PAGE = 100;

// A longer search term is looked up only in the results of the shorter one.
const found = { text: "", pages: null };
function pagesWith(searched) {
  const keys = lowered();
  const among = found.text && searched.includes(found.text) ? found.pages : keys.keys();
  const matching = [];
  for (const page of among) if (keys[page].includes(searched)) matching.push(page);
  found.text = searched;
  found.pages = matching;
  return matching;
}

// Count the given pages by cluster.
function countsIn(groups, some) {
  const { clusterOf } = groups, having = new Int32Array(groups.count);
  for (const page of some) if (clusterOf[page] >= 0) having[clusterOf[page]] += 1;
  return having;
}

function pagesWhere(column, isWanted) {
  const matching = [];
  for (let page = 0; page < pages.count; page += 1) if (isWanted(column[page])) matching.push(page);
  return matching;
}

function clustersOnHosts(groups) {
  const matching = data.names.hosts.map((name) => name.includes(choice.host));
  return countsIn(groups, pagesWhere(pages.host, (host) => matching[host]));
}

function clustersOfOnly(groups) {
  const { kind, number } = choice.only;
  if (kind === "pair") return clustersOfPair(groups, data.pairs[number]);
  return countsIn(groups, pagesWhere(pages[kind], (other) => other === number));
}

// Count, in clusters with both patterns, the pages of the rarer one. For a pattern paired with itself,
// count all its pages except one.
function clustersOfPair(groups, [one, other]) {
  const { pattern } = pages, having = new Int32Array(groups.count);
  for (let cluster = 0; cluster < groups.count; cluster += 1) {
    let ones = 0, others = 0;
    for (const page of [groups.heads[cluster], ...nearDuplicatesOf(groups, cluster)]) {
      ones += pattern[page] === one;
      others += pattern[page] === other;
    }
    having[cluster] = one === other ? Math.max(ones - 1, 0) : Math.min(ones, others);
  }
  return having;
}

const PASSES = {
  any: () => true,
  some: (value) => Boolean(value),
  none: (value) => !value,
};

function filter() {
  const { groups } = choice;
  const byKey = choice.searched ? countsIn(groups, pagesWith(choice.searched)) : null;
  const byHost = choice.host ? clustersOnHosts(groups) : null;
  const byButton = choice.only ? clustersOfOnly(groups) : null;
  const flood = PASSES[choice.flood];
  const shown = new Int32Array(groups.count);
  let count = 0, nearDuplicates = 0;
  for (let cluster = 0; cluster < groups.count; cluster += 1) {
    if (groups.counts[cluster] < choice.least) continue;
    if (byKey && !byKey[cluster]) continue;
    if (byHost && !byHost[cluster]) continue;
    if (byButton && !byButton[cluster]) continue;
    if (!flood(groups.isFlood(cluster))) continue;
    shown[count] = cluster;
    count += 1;
    nearDuplicates += groups.counts[cluster];
  }
  choice.matching = byKey;
  choice.having = byButton;
  choice.shown = shown.subarray(0, count);
  choice.nearDuplicates = nearDuplicates;
  choice.page = 0;
  sort();
}

// The sort is stable: equal clusters stay in crawl order of their representatives.
function sort() {
  const { groups, sort: by } = choice, direction = choice.ascending ? 1 : -1;
  const rank = by === "key" ? ranks() : null;
  const value = {
    key: (cluster) => rank[groups.heads[cluster]],
    size: (cluster) => groups.counts[cluster],
    distance: (cluster) => groups.most[cluster],
    seen: (cluster) => groups.seen[cluster],
  }[by];
  const values = Float64Array.from({ length: groups.count }, (_, cluster) => value(cluster));
  choice.shown.sort((one, other) => direction * (values[one] - values[other]) || one - other);
}

function pageCount() {
  return Math.max(1, Math.ceil(choice.shown.length / CLUSTERS_PER_PAGE));
}

function isFiltered() {
  return Boolean(choice.searched || choice.host || choice.only || choice.flood !== "any"
    || choice.least > 1);
}
