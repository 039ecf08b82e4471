// The state of the table: the clusters (see `makeGroups`), the filters, and the clusters that pass.
const choice = {
  groups: null,
  shown: new Int32Array(0), // the clusters that pass, in order
  nearDuplicates: 0, // the number of near-duplicates in the clusters that pass
  searched: "",
  searchCounts: null, // by cluster, the number of pages that match the search; null without one
  pattern: null, // number of the pattern whose button was clicked
  minNearDuplicates: 1,
  sort: "size",
  ascending: false,
  page: 0, // the page of the table
  memberOrder: "farthest",
  opened: new Set(), // representatives of open clusters
};
const CLUSTERS_PER_PAGE = 100;

// If the last search term is part of the new one, only the last results are searched.
const lastSearch = { text: "", pages: null };
function pagesWith(searched) {
  const names = lowerCaseNames();
  const candidates = lastSearch.text && searched.includes(lastSearch.text) ? lastSearch.pages : names.keys();
  const matching = [];
  for (const page of candidates) if (names[page].includes(searched)) matching.push(page);
  lastSearch.text = searched;
  lastSearch.pages = matching;
  return matching;
}

function countByCluster(groups, somePages) {
  const { clusterOf } = groups, counts = new Int32Array(groups.count);
  for (const page of somePages) if (clusterOf[page] >= 0) counts[clusterOf[page]] += 1;
  return counts;
}

function filter() {
  const { groups } = choice;
  const bySearch = choice.searched ? countByCluster(groups, pagesWith(choice.searched)) : null;
  const byPattern = choice.pattern === null ? null
    : countByCluster(groups, [...pages.pattern.keys()].filter((page) => pages.pattern[page] === choice.pattern));
  const shown = new Int32Array(groups.count);
  let count = 0, nearDuplicates = 0;
  for (let cluster = 0; cluster < groups.count; cluster += 1) {
    if (groups.counts[cluster] < choice.minNearDuplicates) continue;
    if (bySearch && !bySearch[cluster]) continue;
    if (byPattern && !byPattern[cluster]) continue;
    shown[count] = cluster;
    count += 1;
    nearDuplicates += groups.counts[cluster];
  }
  choice.searchCounts = bySearch;
  choice.shown = shown.subarray(0, count);
  choice.nearDuplicates = nearDuplicates;
  choice.page = 0;
  sort();
}

// Sort the clusters that pass; equal ones by the crawl order of their representatives.
function sort() {
  const { groups, sort: by } = choice, direction = choice.ascending ? 1 : -1;
  const rank = by === "key" ? ranksOfKeys() : null;
  const value = {
    key: (cluster) => rank[groups.heads[cluster]],
    size: (cluster) => groups.counts[cluster],
    distance: (cluster) => groups.maxDistance[cluster],
    seen: (cluster) => groups.seen[cluster],
  }[by];
  const values = Float64Array.from({ length: groups.count }, (_, cluster) => value(cluster));
  choice.shown.sort((one, other) => direction * (values[one] - values[other]) || one - other);
}

function tablePageCount() {
  return Math.max(1, Math.ceil(choice.shown.length / CLUSTERS_PER_PAGE));
}

function isFiltered() {
  return Boolean(choice.searched || choice.pattern !== null || choice.minNearDuplicates > 1);
}
