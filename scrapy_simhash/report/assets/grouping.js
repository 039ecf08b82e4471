// Group pages into clusters: as the crawls found them, or for a smaller k.
const SLICE_MS = 12;

function asCrawled() {
  const representative = pages.representative.slice();
  for (let page = 0; page < pages.count; page += 1) {
    const of = representative[page];
    if (!(of >= 0 && of < pages.count)) representative[page] = page;
  }
  return grouped(data.max_distance, representative, pages.distance);
}

// Return the leader clustering for k. In crawl order, each page is a near-duplicate of the nearest
// earlier representative within k (the oldest of equally near ones), or becomes a representative.
// A page and its representative are in one component. Equal fingerprints are common: they share the
// comparisons, so only newer representatives are compared. Return null as soon as `isStale` is true.
// `tell` gets the progress, from 0 to 1.
async function regrouped(k, { isStale, tell }) {
  const prints = await fingerprints();
  await breath();
  const representative = new Int32Array(pages.count), distances = new Uint16Array(pages.count);
  const { order, starts } = components();
  await breath();
  const first = firstEqual(prints);
  await breath();
  if (k === 0) return grouped(k, first, distances);
  // By the first page with an equal fingerprint: its nearest leader, and how many it was compared with.
  const compared = new Int32Array(pages.count);
  const nearest = new Int32Array(pages.count).fill(-1), nearestDistance = new Uint16Array(pages.count);
  const leaders = new Int32Array(pages.count);
  let pause = performance.now() + SLICE_MS, work = 0, done = 0;
  const sizes = Array.from({ length: starts.length - 1 }, (_, number) => starts[number + 1] - starts[number]);
  const all = sizes.reduce((sum, size) => sum + mostWork(size), 0);
  for (let component = 0; component + 1 < starts.length; component += 1) {
    let leaderCount = 0;
    for (let at = starts[component]; at < starts[component + 1]; at += 1) {
      const page = order[at], equal = first[page];
      let leader = nearest[equal], best = leader < 0 ? k + 1 : nearestDistance[equal];
      for (let place = compared[equal]; place < leaderCount && best > 0; place += 1) {
        const distance = distanceBetween(prints, page, leaders[place], best - 1);
        if (distance < best) {
          best = distance;
          leader = leaders[place];
        }
      }
      work += leaderCount - compared[equal] + 10;
      if (leader < 0) {
        leader = page;
        best = 0;
        leaders[leaderCount] = page;
        leaderCount += 1;
      }
      compared[equal] = leaderCount;
      nearest[equal] = representative[page] = leader;
      nearestDistance[equal] = distances[page] = best;
      if (work > 50_000) {
        work = 0;
        if (performance.now() > pause) {
          await breath();
          if (isStale()) return null;
          tell((done + mostWork(at + 1 - starts[component])) / all);
          pause = performance.now() + SLICE_MS;
        }
      }
    }
    done += mostWork(sizes[component]);
  }
  return grouped(k, representative, distances);
}

// Return the work for `count` pages that all become representatives: the slowest case, in which the
// progress is shown.
function mostWork(count) {
  return count * (count / 2 + 10);
}

let componentOrder = null;
function components() {
  if (componentOrder) return componentOrder;
  const dense = new Map(), of = new Int32Array(pages.count), sizes = [];
  for (let page = 0; page < pages.count; page += 1) {
    let number = dense.get(pages.component[page]);
    if (number === undefined) {
      number = sizes.push(0) - 1;
      dense.set(pages.component[page], number);
    }
    sizes[number] += 1;
    of[page] = number;
  }
  componentOrder = inOrder(of, sizes);
  return componentOrder;
}

// Return the pages sorted by group, and the position where each group begins.
function inOrder(of, sizes) {
  const starts = new Int32Array(sizes.length + 1), order = new Int32Array(of.length);
  for (let number = 0; number < sizes.length; number += 1) {
    starts[number + 1] = starts[number] + sizes[number];
  }
  const next = starts.slice();
  for (let page = 0; page < of.length; page += 1) {
    if (of[page] < 0) continue;
    order[next[of[page]]] = page;
    next[of[page]] += 1;
  }
  return { order, starts };
}

let equalPages = null;
function firstEqual({ words, perPage }) {
  if (equalPages) return equalPages;
  const known = new Map();
  equalPages = new Int32Array(pages.count);
  for (let page = 0; page < pages.count; page += 1) {
    const part = String.fromCharCode(
      ...new Uint16Array(words.buffer, 4 * page * perPage, 2 * perPage),
    );
    // Pages of different components stay apart, whatever their fingerprints.
    const key = `${pages.component[page]} ${part}`;
    const first = known.get(key);
    if (first === undefined) known.set(key, page);
    equalPages[page] = first === undefined ? page : first;
  }
  return equalPages;
}

// Return the similarity in per cent; -1 for pairs that no crawl has compared.
function similarityTo(page, representative) {
  return pages.representative[page] === representative ? pages.similarity[page] : -1;
}

// Return the clusters, numbered in crawl order of their representatives; -1 means no cluster.
function grouped(k, representative, distance) {
  const size = new Int32Array(pages.count);
  for (let page = 0; page < pages.count; page += 1) {
    if (representative[page] !== page) size[representative[page]] += 1;
  }
  const heads = [], number = new Int32Array(pages.count).fill(-1);
  for (let page = 0; page < pages.count; page += 1) {
    if (size[page]) number[page] = heads.push(page) - 1;
  }
  const cluster = new Int32Array(pages.count).fill(-1);
  const clusterOf = number.slice();
  const counts = new Int32Array(heads.length);
  const leastAlike = new Int8Array(heads.length).fill(-1), mostAlike = leastAlike.slice();
  const least = new Uint16Array(heads.length).fill(65535), most = new Uint16Array(heads.length);
  const seen = Float64Array.from(heads, (head) => pages.seen[head]);
  const distances = new Array(data.max_distance + 1).fill(0);
  let nearDuplicates = 0;
  for (let page = 0; page < pages.count; page += 1) {
    if (representative[page] === page) continue;
    const of = number[representative[page]], bits = distance[page];
    cluster[page] = of;
    // A representative that is itself a near-duplicate belongs to its own cluster.
    if (clusterOf[page] < 0) clusterOf[page] = of;
    counts[of] += 1;
    nearDuplicates += 1;
    const alike = similarityTo(page, representative[page]);
    if (alike >= 0 && (leastAlike[of] < 0 || alike < leastAlike[of])) leastAlike[of] = alike;
    if (alike > mostAlike[of]) mostAlike[of] = alike;
    if (bits < least[of]) least[of] = bits;
    if (bits > most[of]) most[of] = bits;
    if (pages.seen[page] < seen[of]) seen[of] = pages.seen[page];
    if (bits < distances.length) distances[bits] += 1;
  }
  const { order, starts } = inOrder(cluster, counts);
  // The full size of a shortened cluster is known as crawled only, not for a smaller k.
  const sizes = heads.map((head, of) => (k === data.max_distance && data.sizes[head]) || counts[of]);
  return {
    k, heads: Int32Array.from(heads), count: heads.length, nearDuplicates, counts, least,
    most, leastAlike, mostAlike, representative, seen, distances, distance, clusterOf, order, starts, sizes,
    isFlood: (of) => data.cluster_limit > 0 && sizes[of] > data.cluster_limit,
  };
}

// Return the near-duplicates of a cluster in crawl order.
function nearDuplicatesOf(groups, cluster) {
  return groups.order.subarray(groups.starts[cluster], groups.starts[cluster + 1]);
}

function membersInOrder(groups, cluster, by) {
  const members = nearDuplicatesOf(groups, cluster).slice();
  const { distance } = groups;
  if (by === "farthest") members.sort((one, other) => distance[other] - distance[one] || one - other);
  if (by === "nearest") members.sort((one, other) => distance[one] - distance[other] || one - other);
  return members;
}
