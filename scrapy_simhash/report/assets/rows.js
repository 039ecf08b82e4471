// Lay out two texts side by side, paragraph by paragraph.

// Number of equal words that stay visible before and after a difference if only those are shown.
const SHOWN_WORDS = 12;
// After this many rows, line ends no longer end a row.
const MAX_LINES = 5_000;
// A row ends after this many characters, even within a line.
const MAX_ROW_CHARACTERS = 2_000;
// Rows with more letters on each side get the style "high": browsers estimate heights out of sight.
const HIGH_FROM_LETTERS = 300;

// Return the rows; a row ends where a paragraph ends on both sides.
function rowsOf(left, right, runs) {
  const rows = [];
  let sides = [[], []], isChanged = false, length = 0;
  const endsAtLines = () => rows.length < MAX_LINES;
  const end = () => {
    if (sides[0].length || sides[1].length) rows.push(rowOf(...sides, isChanged));
    sides = [[], []];
    isChanged = false;
    length = 0;
  };
  for (const run of runs) {
    if (run.same) {
      const shift = run.otherFrom - run.from;
      const endsBothLines = (at) => endsLine(left[at]) && endsLine(right[at + shift]);
      for (const [from, to] of rowRanges(left, run.from, run.to, endsAtLines() && endsBothLines)) {
        sides[0].push(...equalWords(left, from, to));
        sides[1].push(...equalWords(right, from + shift, to + shift));
        length += left.slice(from, to).join("").length;
        if ((endsAtLines() && endsBothLines(to - 1)) || length >= MAX_ROW_CHARACTERS) end();
      }
    } else {
      const lines = [[left, run.from, run.to], [right, run.otherFrom, run.otherTo]].map(
        ([words, from, to]) => rowRanges(words, from, to, endsAtLines() && ((at) => endsLine(words[at])))
          .map((range) => words.slice(...range).join("")),
      );
      const marks = [];
      for (let line = 0; line < Math.max(lines[0].length, lines[1].length); line += 1) {
        if (line > 0) end();
        isChanged = true;
        ["del", "ins"].forEach((name, side) => {
          const text = lines[side][line];
          if (text === undefined) return;
          sides[side].push(...markedAs(name, text, marks));
          length += text.length;
        });
      }
      comparison.differences.push(marks);
      const last = [left[run.to - 1], right[run.otherTo - 1]];
      if (length >= MAX_ROW_CHARACTERS || (endsAtLines() && last.every((word) => word === undefined || endsLine(word)))) end();
    }
  }
  end();
  return rows;
}

// Return a text in a mark, which is added to the marks of its difference.
function markedAs(name, text, marks) {
  const bare = text.trimEnd(), mark = element(name, {}, bare);
  marks.push(mark);
  return [mark, text.slice(bare.length)];
}

function endsLine(word) {
  return word !== undefined && word.includes("\n");
}

// Split a range of words into ranges that fit into a row, also where `isEnd` is true.
function rowRanges(words, begin, to, isEnd) {
  const ranges = [];
  let from = begin, length = 0;
  for (let at = begin; at < to; at += 1) {
    length += words[at].length;
    if (at < to - 1 && length < MAX_ROW_CHARACTERS && !(isEnd && ranges.length < MAX_LINES && isEnd(at))) continue;
    ranges.push([from, at + 1]);
    from = at + 1;
    length = 0;
  }
  return ranges;
}

// Return equal words; the middle of a long range can be hidden.
function equalWords(words, from, to) {
  if (to - from <= 3 * SHOWN_WORDS) return [words.slice(from, to).join("")];
  return [
    words.slice(from, from + SHOWN_WORDS).join(""),
    element("span", { className: "middle" }, words.slice(from + SHOWN_WORDS, to - SHOWN_WORDS).join("")),
    element("span", { className: "fold" }, "[…] "),
    words.slice(to - SHOWN_WORDS, to).join(""),
  ];
}

function rowOf(left, right, isChanged) {
  const row = element("div", { className: isChanged ? "pair" : "pair equal" },
    element("p", { dir: "auto" }, ...left), element("p", { dir: "auto" }, ...right));
  row.classList.toggle("high", row.textContent.length > 2 * HIGH_FROM_LETTERS);
  return row;
}

// Return the text of one page without a comparison, as the content of rows.
function plainRows(words) {
  if (!words) return [[element("em", { className: "none" }, "The text of this page is not in the report.")]];
  return rowRanges(words, 0, words.length).map((range) => [words.slice(...range).join("")]);
}
