// Group pages into clusters, as the crawls found them.

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

// Return the similarity in per cent; -1 if no crawl has compared the pair, or it is unknown.
function similarityTo(page, representative) {
  return pages.representative[page] === representative ? pages.similarity[page] : -1;
}

// Return the clusters, numbered in crawl order of their representatives. `clusterOf` (-1 for no cluster)
// is by page. Other arrays are by cluster: `heads` has representatives, `counts` the numbers of near-duplicates in this file, `sizes` those of all
// near-duplicates. `sortByGroup` describes `order` and `starts`.
function makeGroups({ representative, distance }) {
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
  }
  const { order, starts } = sortByGroup(cluster, counts);
  const sizes = heads.map((head, of) => data.sizes[head] || counts[of]);
  return {
    heads: Int32Array.from(heads), count: heads.length, nearDuplicates, counts, minDistance, maxDistance,
    minSimilarity, maxSimilarity, seen, distance, clusterOf, order, starts, sizes,
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
