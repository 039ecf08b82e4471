// Find paragraphs that two texts have in a different order. An alignment keeps the order of both
// texts, so it would mark moved paragraphs as different.

// Shorter paragraphs occur in many places by chance.
const MIN_MOVED_WORDS = 5;
// Edited paragraphs match if they share at least half of their runs of this many words.
const WORDS_IN_RUN = 4;
// Moved paragraphs beyond this number are shown as different.
const MAX_MOVED = 1_000;

// Align two lists of words as `aligned` does, but moved paragraphs separately. For each word of the two
// sides, `moved` is the number of its moved paragraph, or -1, and `edited` is 1 if the paragraph on the
// other side does not have the word. `count` is the number of moved paragraphs.
function alignedWithMoved(left, right) {
  const work = { stepsLeft: MAX_WORK };
  const all = movedPairs(linesOf(left), linesOf(right)), pairs = all.slice(0, MAX_MOVED);
  const moved = [new Int32Array(left.length).fill(-1), new Int32Array(right.length).fill(-1)];
  const edited = [new Uint8Array(left.length), new Uint8Array(right.length)];
  let isComplete = all.length === pairs.length;
  pairs.forEach((pair, number) => {
    pair.forEach(({ from, to }, side) => moved[side].fill(number, from, to));
    const [one, other] = pair;
    if (one.text === other.text) return;
    const within = aligned(left.slice(one.from, one.to), right.slice(other.from, other.to), work);
    isComplete = isComplete && within.isComplete;
    edited[0].fill(1, one.from, one.to);
    edited[1].fill(1, other.from, other.to);
    within.partner.forEach((otherAt, at) => {
      if (otherAt >= 0) edited[0][one.from + at] = edited[1][other.from + otherAt] = 0;
    });
  });
  const [unmoved, otherUnmoved] = moved.map((of) => Array.from(of.keys()).filter((at) => of[at] < 0));
  const rest = aligned(unmoved.map((at) => left[at]), otherUnmoved.map((at) => right[at]), work);
  const partner = new Int32Array(left.length).fill(-1);
  rest.partner.forEach((other, number) => {
    if (other >= 0) partner[unmoved[number]] = otherUnmoved[other];
  });
  return { partner, isComplete: isComplete && rest.isComplete, moved, edited, count: pairs.length };
}

// Return the pairs of moved paragraphs: all except those with most words that keep their order.
function movedPairs(lines, otherLines) {
  const pairs = matchParagraphs(lines, otherLines);
  const weights = pairs.map(([line, other]) => [other.number, line.to - line.from]);
  const isUnmoved = heaviestAscending(weights, otherLines.length);
  return pairs.filter((_, number) => !isUnmoved[number]);
}

// Return pairs of paragraphs: equal ones that occur once on each side, then those that share most runs.
function matchParagraphs(lines, otherLines) {
  const others = new Map(uniqueLines(otherLines).map((line) => [line.text, line]));
  const matches = new Map(uniqueLines(lines).filter(({ text }) => others.has(text)).map((line) => [line, others.get(line.text)]));
  const taken = new Set(matches.values());
  // The line of each run on the other side; null if several lines have the run.
  const runs = new Map();
  for (const line of otherLines) {
    if (taken.has(line)) continue;
    for (const run of runsIn(line)) runs.set(run, runs.has(run) && runs.get(run) !== line ? null : line);
  }
  for (const line of lines) {
    if (matches.has(line)) continue;
    const ownRuns = runsIn(line), votes = new Map();
    for (const run of ownRuns) {
      const other = runs.get(run);
      if (other && !taken.has(other)) votes.set(other, (votes.get(other) || 0) + 1);
    }
    const [match, count] = [...votes].reduce((best, vote) => (vote[1] > best[1] ? vote : best), [null, 0]);
    if (!match || 2 * count < Math.max(ownRuns.size, runsIn(match).size)) continue;
    matches.set(line, match);
    taken.add(match);
  }
  return lines.filter((line) => matches.has(line)).map((line) => [line, matches.get(line)]);
}

// Return the lines with enough words, which are the paragraphs.
function linesOf(words) {
  const lines = [];
  let from = 0;
  for (let at = 0; at < words.length; at += 1) {
    if (!endsLine(words[at]) && at < words.length - 1) continue;
    const bare = words.slice(from, at + 1).map((word) => word.trimEnd());
    if (bare.length >= MIN_MOVED_WORDS) lines.push({ number: lines.length, from, to: at + 1, bare, text: bare.join(" ") });
    from = at + 1;
  }
  return lines;
}

function uniqueLines(lines) {
  const times = new Map();
  for (const { text } of lines) times.set(text, (times.get(text) || 0) + 1);
  return lines.filter(({ text }) => times.get(text) === 1);
}

// The runs are cached: a long line may be compared with many short ones.
function runsIn(line) {
  if (line.runs) return line.runs;
  const { bare } = line;
  line.runs = new Set();
  for (let at = 0; at + WORDS_IN_RUN <= bare.length; at += 1) line.runs.add(bare.slice(at, at + WORDS_IN_RUN).join(" "));
  return line.runs;
}

// For elements [place, weight], return 1 if the element is in the heaviest subsequence with ascending
// places, else 0. A Fenwick tree (1994) finds the best subsequence that ends before a place.
function heaviestAscending(weighted, places) {
  const tree = new Int32Array(places + 1).fill(-1);
  const sums = new Float64Array(weighted.length), before = new Int32Array(weighted.length);
  let best = -1;
  weighted.forEach(([place, weight], number) => {
    let last = -1;
    for (let at = place; at > 0; at -= at & -at) {
      if (tree[at] >= 0 && (last < 0 || sums[tree[at]] > sums[last])) last = tree[at];
    }
    before[number] = last;
    sums[number] = weight + (last < 0 ? 0 : sums[last]);
    for (let at = place + 1; at <= places; at += at & -at) {
      if (tree[at] < 0 || sums[number] > sums[tree[at]]) tree[at] = number;
    }
    if (best < 0 || sums[number] > sums[best]) best = number;
  });
  const isInBest = new Uint8Array(weighted.length);
  for (let number = best; number >= 0; number = before[number]) isInBest[number] = 1;
  return isInBest;
}
