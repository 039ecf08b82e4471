// Find paragraphs that two texts have in a different order. An alignment keeps the order of both
// texts, so it would mark moved paragraphs as different.

// Shorter paragraphs occur in many places by chance.
const FEWEST_MOVED_WORDS = 5;
// Moved paragraphs may be edited: they match if they share half of the longer one's runs of N words.
const RUN_OF_WORDS = 4;
// Paragraphs beyond this number are shown as different.
const MOST_MOVED = 1_000;

// Align two lists of words as `aligned` does, without the moved paragraphs. For the words of each
// side, `moved` is the number of their moved paragraph, or -1; `edited` is 1 for words that the other
// version of the paragraph does not have.
function alignedWithMoved(left, right) {
  const work = { left: MOST_WORK };
  const all = movedPairs(linesOf(left), linesOf(right)), pairs = all.slice(0, MOST_MOVED);
  const moved = [new Int32Array(left.length).fill(-1), new Int32Array(right.length).fill(-1)];
  const edited = [new Uint8Array(left.length), new Uint8Array(right.length)];
  let isWhole = all.length === pairs.length;
  pairs.forEach((pair, number) => {
    pair.forEach(({ from, to }, side) => moved[side].fill(number, from, to));
    const [one, other] = pair;
    if (one.text === other.text) return;
    const within = aligned(left.slice(one.from, one.to), right.slice(other.from, other.to), work);
    isWhole = isWhole && within.isWhole;
    edited[0].fill(1, one.from, one.to);
    edited[1].fill(1, other.from, other.to);
    within.partner.forEach((otherAt, at) => {
      if (otherAt >= 0) edited[0][one.from + at] = edited[1][other.from + otherAt] = 0;
    });
  });
  const [kept, otherKept] = moved.map((of) => Array.from(of.keys()).filter((at) => of[at] < 0));
  const rest = aligned(kept.map((at) => left[at]), otherKept.map((at) => right[at]), work);
  const partner = new Int32Array(left.length).fill(-1);
  rest.partner.forEach((other, number) => {
    if (other >= 0) partner[kept[number]] = otherKept[other];
  });
  return { partner, isWhole: isWhole && rest.isWhole, moved, edited, count: pairs.length };
}

// Return the moved paragraphs as pairs. Those that keep the most words in order count as unmoved.
function movedPairs(lines, otherLines) {
  const pairs = matchParagraphs(lines, otherLines);
  const weights = pairs.map(([line, other]) => [other.number, line.to - line.from]);
  const staying = heaviestAscending(weights, otherLines.length);
  return pairs.filter((_, number) => !staying[number]);
}

// Pair paragraphs: equal ones that occur once on each side, then those that share the most runs.
function matchParagraphs(lines, otherLines) {
  const others = new Map(uniqueLines(otherLines).map((line) => [line.text, line]));
  const found = new Map(uniqueLines(lines).filter(({ text }) => others.has(text)).map((line) => [line, others.get(line.text)]));
  const taken = new Set(found.values());
  const runs = new Map();
  for (const line of otherLines) {
    if (taken.has(line)) continue;
    for (const run of runsIn(line)) runs.set(run, runs.has(run) && runs.get(run) !== line ? null : line);
  }
  for (const line of lines) {
    if (found.has(line)) continue;
    const mine = runsIn(line), votes = new Map();
    for (const run of mine) {
      const other = runs.get(run);
      if (other && !taken.has(other)) votes.set(other, (votes.get(other) || 0) + 1);
    }
    const [match, count] = [...votes].reduce((best, one) => (one[1] > best[1] ? one : best), [null, 0]);
    if (!match || 2 * count < Math.max(mine.size, runsIn(match).size)) continue;
    found.set(line, match);
    taken.add(match);
  }
  return lines.filter((line) => found.has(line)).map((line) => [line, found.get(line)]);
}

function linesOf(words) {
  const lines = [];
  let from = 0;
  for (let at = 0; at < words.length; at += 1) {
    if (!endsLine(words[at]) && at < words.length - 1) continue;
    const bare = words.slice(from, at + 1).map((word) => word.trimEnd());
    if (bare.length >= FEWEST_MOVED_WORDS) lines.push({ number: lines.length, from, to: at + 1, bare, text: bare.join(" ") });
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
  for (let at = 0; at + RUN_OF_WORDS <= bare.length; at += 1) line.runs.add(bare.slice(at, at + RUN_OF_WORDS).join(" "));
  return line.runs;
}

// Mark the elements [place, weight] of the heaviest subsequence with ascending places. The Fenwick
// tree (1994) has the best subsequence that ends at or before each place.
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
  const staying = new Uint8Array(weighted.length);
  for (let number = best; number >= 0; number = before[number]) staying[number] = 1;
  return staying;
}
