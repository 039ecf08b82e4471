// What is shown: the pages in groups, the clusters that pass the filters, and their order.
const choice = {
  groups: null,
  shown: new Int32Array(0),
  nearDuplicates: 0,
  searched: "",
  host: "",
  // What a button of the table of hosts is for: this host and no other. "" are keys without one.
  onlyHost: null,
  weak: "any",
  flood: "any",
  least: 1,
  sort: "size",
  ascending: false,
  page: 0,
  memberOrder: "farthest",
  opened: new Set(),
};
const CLUSTERS_PER_PAGE = 100;

// What a search found is looked through when more letters are typed.
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

// The clusters that have one of the pages: 1 at their numbers.
function clustersOf(groups, some) {
  const { clusterOf } = groups, having = new Uint8Array(groups.count);
  for (const page of some) if (clusterOf[page] >= 0) having[clusterOf[page]] = 1;
  return having;
}

function clustersOnHosts(groups) {
  const { names, hostnames, of } = hosts(), { clusterOf } = groups;
  const { onlyHost, host } = choice;
  const matches = (name, number) => (
    onlyHost === null ? name.includes(host) : shownAs(hostnames[number]) === onlyHost);
  const matching = Uint8Array.from(names, (name, number) => (matches(name, number) ? 1 : 0));
  const having = new Uint8Array(groups.count);
  for (let page = 0; page < pages.count; page += 1) {
    if (clusterOf[page] >= 0 && matching[of[page]]) having[clusterOf[page]] = 1;
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
  const byKey = choice.searched ? clustersOf(groups, pagesWith(choice.searched)) : null;
  const byHost = isOnHost() ? clustersOnHosts(groups) : null;
  const weak = PASSES[choice.weak], flood = PASSES[choice.flood];
  const shown = new Int32Array(groups.count);
  let count = 0, nearDuplicates = 0;
  for (let cluster = 0; cluster < groups.count; cluster += 1) {
    if (groups.counts[cluster] < choice.least) continue;
    if (byKey && !byKey[cluster]) continue;
    if (byHost && !byHost[cluster]) continue;
    if (!weak(groups.weak[cluster]) || !flood(groups.isFlood(cluster))) continue;
    shown[count] = cluster;
    count += 1;
    nearDuplicates += groups.counts[cluster];
  }
  choice.shown = shown.subarray(0, count);
  choice.nearDuplicates = nearDuplicates;
  choice.page = 0;
  sort();
}

// Clusters that are equal in it stay in the order in which their representatives were met.
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

function isOnHost() {
  return Boolean(choice.host || choice.onlyHost !== null);
}

function isFiltered() {
  return Boolean(choice.searched || isOnHost() || choice.weak !== "any" || choice.flood !== "any"
    || choice.least > 1);
}
