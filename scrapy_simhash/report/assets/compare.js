// Two pages of a cluster side by side, with what differs marked.
const OPTIONS_AROUND = 250;
// Of equal words, so many are left at each end where only differences are shown.
const WORDS_LEFT = 12;
// Rows end with lines, so many times at most, and where they are this long.
const MOST_LINES = 5_000;
const LONGEST_ROW = 2_000;
// Rows that are out of sight are not laid out; the style says how high they are taken to be.
const HIGH_FROM_LETTERS = 300;
const comparison = { members: [], left: 0, right: 0, turn: 0, differences: [], at: -1 };

function compare(cluster, page) {
  const { groups } = choice;
  comparison.members = [groups.heads[cluster], ...membersInOrder(groups, cluster, choice.memberOrder)];
  comparison.left = 0;
  comparison.right = Math.max(comparison.members.indexOf(page, 1), 1);
  byId("comparison").showModal();
  showComparison();
}

function showChooser(side) {
  const { members } = comparison, chosen = comparison[side];
  const from = Math.max(chosen - OPTIONS_AROUND, 1), to = Math.min(chosen + OPTIONS_AROUND, members.length);
  const numbered = [0];
  for (let number = from; number < to; number += 1) numbered.push(number);
  const options = numbered.map((number) => element("option", { value: number, selected: number === chosen },
    `${number === 0 ? "Representative" : number}: ${visible(cut(members[number] >= 0 ? pages.key[members[number]] : ""))}`));
  const select = byId(`choose-${side}`);
  select.replaceChildren(...options);
  select.value = String(chosen);
  byId(`before-${side}`).disabled = chosen === 0;
  byId(`after-${side}`).disabled = chosen === members.length - 1;
  const other = comparison[side === "left" ? "right" : "left"];
  const page = members[chosen];
  const weak = pages.weak[page] ? [element("span", { className: "mark weak" }, "weak")] : [];
  byId(`name-${side}`).replaceChildren(nameOf(pages.key[page], { beside: pages.key[members[other]] }), ...weak);
}

async function showComparison() {
  comparison.turn += 1;
  const { turn, members } = comparison;
  showChooser("left");
  showChooser("right");
  const chosen = [members[comparison.left], members[comparison.right]];
  let texts, prints;
  try {
    texts = await Promise.all(chosen.map(textOf));
  } catch {
    texts = [null, null];
  }
  try {
    prints = await fingerprints();
  } catch {
    prints = null;
  }
  if (turn !== comparison.turn) return;
  showTitles(texts);
  const words = texts.map((text) => (text ? wordsOf(visibleText(text.text)) : null));
  const cutShort = words.some((some) => some && some.length === MOST_WORDS);
  const apart = prints ? distanceBetween(prints, ...chosen, data.bits) : null;
  const said = apart === null ? [] : [`Distance ${apart}, similarity ${similarity(apart)}${NO_BREAK}%.`];
  comparison.differences = [];
  comparison.at = -1;
  byId("at-difference").textContent = "";
  if (words[0] && words[1]) {
    const { partner, isWhole } = aligned(...words);
    const runs = runsOf(...words, partner);
    byId("texts-compared").replaceChildren(...pairsOf(...words, runs));
    said.push(sumOf(runs));
    if (cutShort) said.push(`Only the first ${numbers.format(MOST_WORDS)} words are compared.`);
    if (!isWhole) said.push("To compare all of them would take too long: parts that may have more in common are shown as different.");
  } else {
    const sides = words.map(oneSide);
    const rows = Array.from(sides[0].length > sides[1].length ? sides[0] : sides[1],
      (_, row) => pairOf(sides[0][row] || [], sides[1][row] || [], false));
    byId("texts-compared").replaceChildren(...rows);
    said.push("Texts are kept by crawls with SIMHASH_KEEP_TEXT = True; without both there is nothing to compare.");
  }
  byId("compared").textContent = said.join(" ");
  byId("texts-compared").scrollTop = 0;
  const none = comparison.differences.length === 0;
  for (const id of ["difference-before", "difference-after", "only"]) byId(id).disabled = none;
}

function showTitles(texts) {
  ["left", "right"].forEach((side, number) => {
    byId(`title-${side}`).textContent = texts[number] ? visible(cut(texts[number].title)) : "";
  });
}

function sumOf(runs) {
  const sums = { same: 0, left: 0, right: 0 };
  for (const run of runs) {
    if (run.same) sums.same += run.to - run.from;
    else {
      sums.left += run.to - run.from;
      sums.right += run.otherTo - run.otherFrom;
    }
  }
  if (!sums.left && !sums.right) return `The texts are equal: ${counted(sums.same, "word")}.`;
  return `${counted(sums.same, "word")} in both; ${numbers.format(sums.left)} only left, ${numbers.format(sums.right)} only right.`;
}

// Rows of the two texts: a paragraph on each side, cut where both have one's end.
function pairsOf(left, right, runs) {
  const rows = [];
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
          const text = marked[side][line], bare = text.trimEnd();
          const mark = element(name, {}, bare);
          first.push(mark);
          sides[side].push(mark, text.slice(bare.length));
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

function endsLine(word) {
  return word !== undefined && word.includes("\n");
}

function lengthOf(words, from, to) {
  let length = 0;
  for (let at = from; at < to; at += 1) length += words[at].length;
  return length;
}

// Of words from one number to another: parts for which there is room in a row.
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

// The text of one page alone.
function oneSide(words) {
  if (!words) return [[element("em", { className: "none" }, "The text of this page is not in the report.")]];
  return parts(words, 0, words.length).map((part) => [words.slice(...part).join("")]);
}

function goToDifference(step) {
  const { differences } = comparison;
  if (!differences.length) return;
  for (const mark of byId("texts-compared").querySelectorAll(".current")) mark.classList.remove("current");
  comparison.at = (Math.max(comparison.at, step > 0 ? -1 : 0) + step + differences.length) % differences.length;
  for (const mark of differences[comparison.at]) mark.classList.add("current");
  differences[comparison.at][0].scrollIntoView({ block: "center" });
  byId("at-difference").textContent = `${comparison.at + 1} of ${differences.length}`;
}

function choose(side, number) {
  comparison[side] = Math.min(Math.max(number, 0), comparison.members.length - 1);
  showComparison();
}
