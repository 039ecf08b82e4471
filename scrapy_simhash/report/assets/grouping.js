// Group pages into clusters: as the crawls found them, or for a smaller k.
const SLICE_MS = 12;

// Return the leader clustering for k, or null as soon as `isStale()` is true. In crawl order, each page
// is a near-duplicate of the nearest earlier representative within k (the oldest of equally near ones),
// or becomes a representative (leader). Only pages of one component are compared. Equal fingerprints are
// common, so a page goes on from the result of the last page with an equal fingerprint.
// `reportProgress` gets the progress, from 0 to 1.
async function regrouped(k, { isStale, reportProgress }) {
  const prints = await fingerprints();
  await yieldToBrowser();
  const representative = new Int32Array(pages.count), distances = new Uint16Array(pages.count);
  const { order, starts } = components();
  await yieldToBrowser();
  const first = firstEqual(prints);
  await yieldToBrowser();
  if (k === 0) return makeGroups(k, first, distances);
  // By first page with a fingerprint: the number of compared leaders, and the nearest of these.
  const compared = new Int32Array(pages.count);
  const nearest = new Int32Array(pages.count).fill(-1), nearestDistance = new Uint16Array(pages.count);
  const leaders = new Int32Array(pages.count);
  let pauseAt = performance.now() + SLICE_MS, work = 0, doneWork = 0;
  const sizes = Array.from({ length: starts.length - 1 }, (_, number) => starts[number + 1] - starts[number]);
  const allWork = sizes.reduce((sum, size) => sum + maxWork(size), 0);
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
        if (performance.now() > pauseAt) {
          await yieldToBrowser();
          if (isStale()) return null;
          reportProgress((doneWork + maxWork(at + 1 - starts[component])) / allWork);
          pauseAt = performance.now() + SLICE_MS;
        }
      }
    }
    doneWork += maxWork(sizes[component]);
  }
  return makeGroups(k, representative, distances);
}

// Return the work if all of `count` pages become representatives: the slowest case, for the progress.
function maxWork(count) {
  return count * (count / 2 + 10);
}

let sortedComponents = null;
// Return the pages sorted by component; see `sortByGroup`.
function components() {
  if (sortedComponents) return sortedComponents;
  const numbers = new Map(), numberOf = new Int32Array(pages.count), sizes = [];
  for (let page = 0; page < pages.count; page += 1) {
    let number = numbers.get(pages.component[page]);
    if (number === undefined) {
      number = sizes.push(0) - 1;
      numbers.set(pages.component[page], number);
    }
    sizes[number] += 1;
    numberOf[page] = number;
  }
  sortedComponents = sortByGroup(numberOf, sizes);
  return sortedComponents;
}

// Return the pages sorted by group, without those of group -1, and the position where each group begins.
function sortByGroup(groupOf, sizes) {
  const starts = new Int32Array(sizes.length + 1), order = new Int32Array(groupOf.length);
  for (let group = 0; group < sizes.length; group += 1) starts[group + 1] = starts[group] + sizes[group];
  const next = starts.slice();
  for (let page = 0; page < groupOf.length; page += 1) {
    if (groupOf[page] < 0) continue;
    order[next[groupOf[page]]] = page;
    next[groupOf[page]] += 1;
  }
  return { order, starts };
}

let equalPages = null;
// Return, for each page, the first page of its component with an equal fingerprint.
function firstEqual({ words, perPage }) {
  if (equalPages) return equalPages;
  const firstPages = new Map();
  equalPages = new Int32Array(pages.count);
  for (let page = 0; page < pages.count; page += 1) {
    const part = String.fromCharCode(
      ...new Uint16Array(words.buffer, 4 * page * perPage, 2 * perPage),
    );
    const key = `${pages.component[page]} ${part}`;
    const first = firstPages.get(key);
    if (first === undefined) firstPages.set(key, page);
    equalPages[page] = first === undefined ? page : first;
  }
  return equalPages;
}

// Return the similarity in per cent; -1 if no crawl has compared the pair, or it is unknown.
function similarityTo(page, representative) {
  return pages.representative[page] === representative ? pages.similarity[page] : -1;
}

// Return the clusters, numbered in crawl order of their representatives. `distance` and `clusterOf` (-1
// for no cluster) are by page, `distances` are counts by distance. Other arrays are by cluster: `heads`
// has representatives, `counts` the numbers of near-duplicates in this file, `sizes` those of all
// near-duplicates. `sortByGroup` describes `order` and `starts`.
function makeGroups(k, representative, distance) {
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
  const minSimilarity = new Int8Array(heads.length).fill(-1), maxSimilarity = minSimilarity.slice();
  const minDistance = new Uint16Array(heads.length).fill(65535), maxDistance = new Uint16Array(heads.length);
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
    const similarity = similarityTo(page, representative[page]);
    if (similarity >= 0 && (minSimilarity[of] < 0 || similarity < minSimilarity[of])) minSimilarity[of] = similarity;
    if (similarity > maxSimilarity[of]) maxSimilarity[of] = similarity;
    if (bits < minDistance[of]) minDistance[of] = bits;
    if (bits > maxDistance[of]) maxDistance[of] = bits;
    if (pages.seen[page] < seen[of]) seen[of] = pages.seen[page];
    if (bits < distances.length) distances[bits] += 1;
  }
  const { order, starts } = sortByGroup(cluster, counts);
  // The file has the full sizes of shortened clusters as crawled, not those for a smaller k.
  const sizes = heads.map((head, of) => (k === data.max_distance && data.sizes[head]) || counts[of]);
  return {
    k, heads: Int32Array.from(heads), count: heads.length, nearDuplicates, counts, minDistance, maxDistance,
    minSimilarity, maxSimilarity, seen, distances, distance, clusterOf, order, starts, sizes,
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
