// Lay out two texts side by side, paragraph by paragraph.

// Equal words that stay visible on each side of a difference if only differences are shown.
const WORDS_LEFT = 12;
// Rows end at line ends, at most this many times, and always at this number of characters.
const MOST_LINES = 5_000;
const LONGEST_ROW = 2_000;
// The browser skips the layout of rows out of sight; the style estimates the height of long rows.
const HIGH_FROM_LETTERS = 300;

// Return the rows; a row ends where a paragraph ends on both sides.
function pairsOf(left, right, runs, edited) {
  const rows = [], elsewhere = new Map();
  let sides = [[], []], changed = false, length = 0;
  const lines = () => rows.length < MOST_LINES;
  const end = () => {
    if (sides[0].length || sides[1].length) rows.push(pairOf(...sides, changed));
    sides = [[], []];
    changed = false;
    length = 0;
  };
  for (const run of runs) {
    if (run.same) {
      const shift = run.otherFrom - run.from;
      const atEnds = (at) => endsLine(left[at]) && endsLine(right[at + shift]);
      for (const [from, to] of parts(left, run.from, run.to, lines() && atEnds)) {
        sides[0].push(...equalParts(left, from, to));
        sides[1].push(...equalParts(right, from + shift, to + shift));
        length += lengthOf(left, from, to);
        if ((lines() && atEnds(to - 1)) || length >= LONGEST_ROW) end();
      }
    } else if (run.moved >= 0) {
      end();
      rows.push(...movedRows(left, right, run, edited, elsewhere));
    } else {
      const marked = [[left, run.from, run.to], [right, run.otherFrom, run.otherTo]].map(
        ([words, from, to]) => parts(words, from, to, lines() && ((at) => endsLine(words[at])))
          .map((part) => words.slice(...part).join("")),
      );
      const first = [];
      for (let line = 0; line < Math.max(marked[0].length, marked[1].length); line += 1) {
        if (line > 0) end();
        changed = true;
        ["del", "ins"].forEach((name, side) => {
          if (marked[side][line] === undefined) return;
          const text = marked[side][line];
          sides[side].push(...markedAs(name, text, first));
          length += text.length;
        });
      }
      comparison.differences.push(first);
      const last = [left[run.to - 1], right[run.otherTo - 1]];
      if (length >= LONGEST_ROW || (lines() && last.every((word) => word === undefined || endsLine(word)))) end();
    }
  }
  end();
  return rows;
}

function markedAs(name, text, marks, className = "") {
  const bare = text.trimEnd(), mark = element(name, { className }, bare);
  marks.push(mark);
  return [mark, text.slice(bare.length)];
}

// Return the rows of a moved paragraph: its text on one side, and on the other side a button that
// leads to its other place. Both places and the edits within count as one difference.
function movedRows(left, right, run, edited, elsewhere) {
  const isLeft = run.to > run.from, name = isLeft ? "del" : "ins";
  const [words, from, to] = isLeft ? [left, run.from, run.to] : [right, run.otherFrom, run.otherTo];
  const isEdited = edited[isLeft ? 0 : 1];
  const known = elsewhere.get(run.moved), marks = known ? known.marks : [];
  const rows = parts(words, from, to).map(([begin, end]) => {
    const text = [];
    for (let at = begin, next; at < end; at = next) {
      next = at + 1;
      while (next < end && isEdited[next] === isEdited[at]) next += 1;
      text.push(...markedAs(name, words.slice(at, next).join(""), marks, isEdited[at] ? "" : "moved"));
    }
    return pairOf(isLeft ? text : [], isLeft ? [] : text, true);
  });
  const button = element("button", { type: "button", className: "elsewhere" }, known ? "↑ above" : "↓ below");
  button.setAttribute("aria-label", `This paragraph is further ${known ? "up" : "down"}: go there`);
  // The button is not a paragraph of the text.
  rows[0].children[isLeft ? 1 : 0].replaceWith(element("div", {}, button));
  if (known) {
    button.addEventListener("click", () => goTo(known.button));
    known.button.addEventListener("click", () => goTo(button));
  } else {
    elsewhere.set(run.moved, { button, marks });
    comparison.differences.push(marks);
  }
  return rows;
}

function goTo(button) {
  button.scrollIntoView({ block: "center" });
  button.focus({ preventScroll: true });
}

function endsLine(word) {
  return word !== undefined && word.includes("\n");
}

function lengthOf(words, from, to) {
  let length = 0;
  for (let at = from; at < to; at += 1) length += words[at].length;
  return length;
}

// Split a range of words into parts that fit into a row.
function parts(words, begin, to, isEnd) {
  const found = [];
  let from = begin, length = 0;
  for (let at = begin; at < to; at += 1) {
    length += words[at].length;
    if (at < to - 1 && length < LONGEST_ROW && !(isEnd && found.length < MOST_LINES && isEnd(at))) continue;
    found.push([from, at + 1]);
    from = at + 1;
    length = 0;
  }
  return found;
}

function equalParts(words, from, to) {
  if (to - from <= 3 * WORDS_LEFT) return [words.slice(from, to).join("")];
  return [
    words.slice(from, from + WORDS_LEFT).join(""),
    element("span", { className: "middle" }, words.slice(from + WORDS_LEFT, to - WORDS_LEFT).join("")),
    element("span", { className: "fold" }, "[…] "),
    words.slice(to - WORDS_LEFT, to).join(""),
  ];
}

function pairOf(left, right, changed) {
  const row = element("div", { className: changed ? "pair" : "pair equal" },
    element("p", { dir: "auto" }, ...left), element("p", { dir: "auto" }, ...right));
  row.classList.toggle("high", row.textContent.length > 2 * HIGH_FROM_LETTERS);
  return row;
}

// Return the text of one page without a comparison.
function oneSide(words) {
  if (!words) return [[element("em", { className: "none" }, "The text of this page is not in the report.")]];
  return parts(words, 0, words.length).map((part) => [words.slice(...part).join("")]);
}
