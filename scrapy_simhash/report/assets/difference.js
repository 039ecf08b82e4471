// Align two texts by words; in scripts without spaces, by letters.
const MOST_WORDS = 60_000;
// A range with more edits is split at words that occur once on each side.
const MOST_EDITS = 1_000;
// Limit for the steps of one comparison: half a second to a second. Few texts need a tenth of it.
const MOST_WORK = 100_000_000;
const NOWHERE = -1, OFTEN = -2;
const UNSPACED = "[\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Thai}\\p{sc=Laoo}\\p{sc=Khmr}\\p{sc=Mymr}]";
// Each part of a longer word counts as a word.
const LONGEST_WORD = 200;
const WORD = new RegExp(`(?:${UNSPACED}\\p{M}{0,${LONGEST_WORD}}|(?:(?!${UNSPACED})[\\p{L}\\p{N}\\p{M}_]|(?<=\\p{N})[.,](?=\\p{N})|(?<=[\\p{L}\\p{M}])['\u2019\u200c\u200d](?=\\p{L})){1,${LONGEST_WORD}}|\\S)\\s*`, "gu");

// Return the words of a text, each with the white space after it, which comparisons ignore.
function wordsOf(text) {
  const words = text.trimStart().match(WORD) || [];
  return words.length > MOST_WORDS ? words.slice(0, MOST_WORDS) : words;
}

// Align two lists of words. Return the right partner of each left word, or -1, and whether the
// alignment is complete. `work` is a budget that limits the time for hostile texts.
function aligned(left, right, work) {
  const known = new Map();
  const numbered = (words) => Int32Array.from(words, (word) => {
    const bare = word.trimEnd();
    let number = known.get(bare);
    if (number === undefined) known.set(bare, number = known.size);
    return number;
  });
  const one = numbered(left), other = numbered(right);
  const partner = new Int32Array(one.length).fill(-1);
  const places = [new Int32Array(known.size).fill(NOWHERE), new Int32Array(known.size).fill(NOWHERE)];
  // The last number is the size of the range that was split; Infinity for the first range.
  const ranges = [[0, one.length, 0, other.length, Infinity]];
  while (ranges.length && work.left > 0) {
    let [from, to, otherFrom, otherTo, whole] = ranges.pop();
    while (from < to && otherFrom < otherTo && one[from] === other[otherFrom]) {
      partner[from] = otherFrom;
      from += 1;
      otherFrom += 1;
    }
    while (from < to && otherFrom < otherTo && one[to - 1] === other[otherTo - 1]) {
      to -= 1;
      otherTo -= 1;
      partner[to] = otherTo;
    }
    if (from === to || otherFrom === otherTo) continue;
    const range = [from, to, otherFrom, otherTo], size = to - from + otherTo - otherFrom;
    // The larger part of a range with too many edits usually has too many, so split it at once.
    const isMost = size > whole / 2;
    if (!isMost && byEdits(one, other, range, partner, work)) continue;
    const anchors = anchorsIn(one, other, range, places, work);
    if (!anchors.length) {
      if (isMost) byEdits(one, other, range, partner, work);
      continue;
    }
    let [before, otherBefore] = [from, otherFrom];
    for (const [at, otherAt] of anchors) {
      partner[at] = otherAt;
      ranges.push([before, at, otherBefore, otherAt, size]);
      [before, otherBefore] = [at + 1, otherAt + 1];
    }
    ranges.push([before, to, otherBefore, otherTo, size]);
  }
  return { partner, isWhole: work.left > 0 };
}

// Pair words by the fewest insertions and deletions (Myers 1986, greedy). Return false if there are
// too many.
function byEdits(one, other, [from, to, otherFrom, otherTo], partner, work) {
  const length = to - from, otherLength = otherTo - otherFrom;
  const most = Math.min(MOST_EDITS, length + otherLength);
  const furthest = new Int32Array(2 * most + 3), steps = [];
  const middle = most + 1;
  for (let edits = 0; edits <= most && work.left > 0; edits += 1) {
    work.left -= 2 * edits + 1;
    steps.push(furthest.slice(middle - edits, middle + edits + 1));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const at = middle + diagonal;
      let x = diagonal === -edits || (diagonal !== edits && furthest[at - 1] < furthest[at + 1])
        ? furthest[at + 1] : furthest[at - 1] + 1;
      while (x < length && x - diagonal < otherLength
        && one[from + x] === other[otherFrom + x - diagonal]) {
        x += 1;
        work.left -= 1;
      }
      furthest[at] = x;
      if (x >= length && x - diagonal >= otherLength) {
        followBack(steps, edits, length, otherLength, (x_, y) => { partner[from + x_] = otherFrom + y; });
        return true;
      }
    }
  }
  return false;
}

function followBack(steps, edits, length, otherLength, pair) {
  let x = length, y = otherLength;
  for (let step = edits; step >= 0; step -= 1) {
    const before = (diagonal) => steps[step][diagonal + step] ?? -1;
    const diagonal = x - y;
    const down = diagonal === -step || (diagonal !== step && before(diagonal - 1) < before(diagonal + 1));
    const beforeX = step === 0 ? 0 : down ? before(diagonal + 1) : before(diagonal - 1) + 1;
    const beforeY = step === 0 ? 0 : beforeX - diagonal;
    while (x > beforeX && y > beforeY) {
      x -= 1;
      y -= 1;
      pair(x, y);
    }
    if (step > 0) {
      x = down ? beforeX : beforeX - 1;
      y = x - (down ? diagonal + 1 : diagonal - 1);
    }
  }
}

// Return the longest sequence of words that occur once in each part and are in the same order.
// `places` is scratch space, indexed by word number; it is cleared again.
function anchorsIn(one, other, [from, to, otherFrom, otherTo], places, work) {
  work.left -= 2 * (to - from + otherTo - otherFrom);
  const [places1, places2] = places;
  for (let at = from; at < to; at += 1) places1[one[at]] = places1[one[at]] === NOWHERE ? at : OFTEN;
  for (let at = otherFrom; at < otherTo; at += 1) {
    places2[other[at]] = places2[other[at]] === NOWHERE ? at : OFTEN;
  }
  const both = [];
  for (let at = from; at < to; at += 1) {
    const otherAt = places2[one[at]];
    if (places1[one[at]] === at && otherAt >= 0) both.push([at, otherAt]);
  }
  for (let at = from; at < to; at += 1) places1[one[at]] = NOWHERE;
  for (let at = otherFrom; at < otherTo; at += 1) places2[other[at]] = NOWHERE;
  // Longest ascending subsequence; `ends` has the last element of the best one of each length.
  const ends = [], previous = new Int32Array(both.length).fill(-1);
  both.forEach(([, otherAt], number) => {
    let low = 0, high = ends.length;
    while (low < high) {
      const half = (low + high) >> 1;
      if (both[ends[half]][1] < otherAt) low = half + 1;
      else high = half;
    }
    if (low > 0) previous[number] = ends[low - 1];
    ends[low] = number;
  });
  const chain = [];
  for (let number = ends.length ? ends[ends.length - 1] : -1; number >= 0; number = previous[number]) {
    chain.push(both[number]);
  }
  return chain.reverse();
}
