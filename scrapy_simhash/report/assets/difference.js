// Align two texts by words; in scripts without spaces, by letters.
const MAX_WORDS = 60_000;
// If a range needs more edits, it is split at words that occur once on each side.
const MAX_EDITS = 1_000;
// Limit for the steps of a comparison, which take up to a second. Few texts need a tenth of it.
const MAX_WORK = 100_000_000;
// In place of a position: the word does not occur, or occurs more than once.
const NOWHERE = -1, OFTEN = -2;
const UNSPACED = "[\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Thai}\\p{sc=Laoo}\\p{sc=Khmr}\\p{sc=Mymr}]";
// A longer word is cut into parts, which count as words.
const MAX_WORD_CHARACTERS = 200;
const WORD = new RegExp(`(?:${UNSPACED}\\p{M}{0,${MAX_WORD_CHARACTERS}}|(?:(?!${UNSPACED})[\\p{L}\\p{N}\\p{M}_]|(?<=\\p{N})[.,](?=\\p{N})|(?<=[\\p{L}\\p{M}])['\u2019\u200c\u200d](?=\\p{L})){1,${MAX_WORD_CHARACTERS}}|\\S)\\s*`, "gu");

// Return the first words of a text, each with the white space after it. Comparisons ignore that space.
function wordsOf(text) {
  const words = text.trimStart().match(WORD) || [];
  return words.length > MAX_WORDS ? words.slice(0, MAX_WORDS) : words;
}

// Align two lists of words. Return the position of each left word's partner on the right, or -1, and
// true if the alignment is complete. `work` is the budget of steps, which hostile texts exhaust.
function aligned(left, right, work) {
  const wordNumbers = new Map();
  const numbered = (words) => Int32Array.from(words, (word) => {
    const bare = word.trimEnd();
    let number = wordNumbers.get(bare);
    if (number === undefined) wordNumbers.set(bare, number = wordNumbers.size);
    return number;
  });
  const one = numbered(left), other = numbered(right);
  const partner = new Int32Array(one.length).fill(-1);
  const places = [left, right].map(() => new Int32Array(wordNumbers.size).fill(NOWHERE));
  // The last number is the size of the range that was split; Infinity for the first range.
  const ranges = [[0, one.length, 0, other.length, Infinity]];
  while (ranges.length && work.stepsLeft > 0) {
    let [from, to, otherFrom, otherTo, splitSize] = ranges.pop();
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
    // If a range has too many edits, its larger part usually has too many as well: split it at once.
    const isLargerPart = size > splitSize / 2;
    if (!isLargerPart && byEdits(one, other, range, partner, work)) continue;
    const anchors = anchorsIn(one, other, range, places, work);
    if (!anchors.length) {
      if (isLargerPart) byEdits(one, other, range, partner, work);
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
  return { partner, isComplete: work.stepsLeft > 0 };
}

// Pair words by the fewest insertions and deletions (Myers 1986, greedy). Return false if these are
// too many, or no steps are left.
function byEdits(one, other, [from, to, otherFrom, otherTo], partner, work) {
  const length = to - from, otherLength = otherTo - otherFrom;
  const maxEdits = Math.min(MAX_EDITS, length + otherLength);
  const furthest = new Int32Array(2 * maxEdits + 3), steps = [];
  const middle = maxEdits + 1;
  for (let edits = 0; edits <= maxEdits && work.stepsLeft > 0; edits += 1) {
    work.stepsLeft -= 2 * edits + 1;
    steps.push(furthest.slice(middle - edits, middle + edits + 1));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const at = middle + diagonal;
      let x = diagonal === -edits || (diagonal !== edits && furthest[at - 1] < furthest[at + 1])
        ? furthest[at + 1] : furthest[at - 1] + 1;
      while (x < length && x - diagonal < otherLength
        && one[from + x] === other[otherFrom + x - diagonal]) {
        x += 1;
        work.stepsLeft -= 1;
      }
      furthest[at] = x;
      if (x >= length && x - diagonal >= otherLength) {
        tracePairs(steps, edits, length, otherLength, (x_, y) => { partner[from + x_] = otherFrom + y; });
        return true;
      }
    }
  }
  return false;
}

// Follow the steps of `byEdits` back, and call `pair` with the positions of equal words.
function tracePairs(steps, edits, length, otherLength, pair) {
  let x = length, y = otherLength;
  for (let step = edits; step >= 0; step -= 1) {
    const before = (diagonal) => steps[step][diagonal + step] ?? -1;
    const diagonal = x - y;
    const isInsertion = diagonal === -step || (diagonal !== step && before(diagonal - 1) < before(diagonal + 1));
    const beforeX = step === 0 ? 0 : isInsertion ? before(diagonal + 1) : before(diagonal - 1) + 1;
    const beforeY = step === 0 ? 0 : beforeX - diagonal;
    while (x > beforeX && y > beforeY) {
      x -= 1;
      y -= 1;
      pair(x, y);
    }
    if (step > 0) {
      x = isInsertion ? beforeX : beforeX - 1;
      y = x - (isInsertion ? diagonal + 1 : diagonal - 1);
    }
  }
}

// Return the longest sequence of words that occur once on each side and are in the same order, as
// positions [left, right]. `places` are two work arrays by word number, which are cleared again.
function anchorsIn(one, other, [from, to, otherFrom, otherTo], places, work) {
  work.stepsLeft -= 2 * (to - from + otherTo - otherFrom);
  const [leftPlaces, rightPlaces] = places;
  for (let at = from; at < to; at += 1) leftPlaces[one[at]] = leftPlaces[one[at]] === NOWHERE ? at : OFTEN;
  for (let at = otherFrom; at < otherTo; at += 1) {
    rightPlaces[other[at]] = rightPlaces[other[at]] === NOWHERE ? at : OFTEN;
  }
  const both = [];
  for (let at = from; at < to; at += 1) {
    const otherAt = rightPlaces[one[at]];
    if (leftPlaces[one[at]] === at && otherAt >= 0) both.push([at, otherAt]);
  }
  for (let at = from; at < to; at += 1) leftPlaces[one[at]] = NOWHERE;
  for (let at = otherFrom; at < otherTo; at += 1) rightPlaces[other[at]] = NOWHERE;
  // The longest ascending subsequence. For each length, `ends` has the last element of the best one.
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
