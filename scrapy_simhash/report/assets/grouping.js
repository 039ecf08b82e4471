// Which page is whose near-duplicate: as the crawls found it, or anew for a smaller k.
const SLICE_MS = 12;

function asCrawled() {
  const representative = pages.representative.slice();
  for (let page = 0; page < pages.count; page += 1) {
    const of = representative[page];
    if (!(of >= 0 && of < pages.count)) representative[page] = page;
  }
  return grouped(data.max_distance, representative, pages.distance);
}

// Leader clustering: in the order of the pages, each is a near-duplicate of the nearest earlier
// representative within k, of the oldest of equally near ones, or becomes one. A page's leader is
// in its component. Equal fingerprints are common, and need only be compared with representatives
// that came since the last of them. Null if `isStale` says that nobody waits for it any more;
// `tell` is called with the part that is done, between 0 and 1.
async function regrouped(k, { isStale, tell }) {
  const prints = await fingerprints();
  await breath();
  const representative = new Int32Array(pages.count), apart = new Uint16Array(pages.count);
  const { order, starts } = components();
  await breath();
  const first = firstEqual(prints);
  await breath();
  if (k === 0) return grouped(k, first, apart);
  // Of each first of equal ones: the nearest of so many leaders.
  const compared = new Int32Array(pages.count);
  const nearest = new Int32Array(pages.count).fill(-1), nearestApart = new Uint16Array(pages.count);
  const leaders = new Int32Array(pages.count);
  let pause = performance.now() + SLICE_MS, work = 0, done = 0;
  const sizes = Array.from({ length: starts.length - 1 }, (_, number) => starts[number + 1] - starts[number]);
  const all = sizes.reduce((sum, size) => sum + mostWork(size), 0);
  for (let component = 0; component + 1 < starts.length; component += 1) {
    let leaderCount = 0;
    for (let at = starts[component]; at < starts[component + 1]; at += 1) {
      const page = order[at], equal = first[page];
      let leader = nearest[equal], best = leader < 0 ? k + 1 : nearestApart[equal];
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
      nearestApart[equal] = apart[page] = best;
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
  return grouped(k, representative, apart);
}

// If each of so many pages becomes a representative; for it is then that a person waits.
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

// Numbers of pages by what they belong to, in their order; and where each of those begins.
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
    // Of one component, in case others were told apart by something else than distance.
    const key = `${pages.component[page]} ${part}`;
    const first = known.get(key);
    if (first === undefined) known.set(key, page);
    equalPages[page] = first === undefined ? page : first;
  }
  return equalPages;
}

// In per cent; known only of the pairs that a crawl found.
function similarityTo(page, representative) {
  return pages.representative[page] === representative ? pages.similarity[page] : -1;
}

// Clusters are numbered in the order of their representatives; pages of none have none.
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
    const of = number[representative[page]], apart = distance[page];
    cluster[page] = of;
    // A representative that is a near-duplicate itself is found in its own cluster.
    if (clusterOf[page] < 0) clusterOf[page] = of;
    counts[of] += 1;
    nearDuplicates += 1;
    const alike = similarityTo(page, representative[page]);
    if (alike >= 0 && (leastAlike[of] < 0 || alike < leastAlike[of])) leastAlike[of] = alike;
    if (alike > mostAlike[of]) mostAlike[of] = alike;
    if (apart < least[of]) least[of] = apart;
    if (apart > most[of]) most[of] = apart;
    if (pages.seen[page] < seen[of]) seen[of] = pages.seen[page];
    if (apart < distances.length) distances[apart] += 1;
  }
  const { order, starts } = inOrder(cluster, counts);
  // As crawled, some may not be listed whole; what a smaller k makes of these nobody knows.
  const sizes = heads.map((head, of) => (k === data.max_distance && data.sizes[head]) || counts[of]);
  return {
    k, heads: Int32Array.from(heads), count: heads.length, nearDuplicates, counts, least,
    most, leastAlike, mostAlike, representative, seen, distances, distance, clusterOf, order, starts, sizes,
    isFlood: (of) => data.cluster_limit > 0 && sizes[of] > data.cluster_limit,
  };
}

// The near-duplicates of a cluster, in the order in which they were met.
function nearDuplicatesOf(groups, cluster) {
  return groups.order.subarray(groups.starts[cluster], groups.starts[cluster + 1]);
}

function membersInOrder(groups, cluster, by) {
  const members = nearDuplicatesOf(groups, cluster).slice();
  const apart = groups.distance;
  if (by === "farthest") members.sort((one, other) => apart[other] - apart[one] || one - other);
  if (by === "nearest") members.sort((one, other) => apart[one] - apart[other] || one - other);
  return members;
}
