// Show two pages of a cluster side by side, with marked differences.
const OPTIONS_AROUND = 250; // in the lists of pages, before and after the chosen page
// `left` and `right` are positions in `members`, `at` is the position of the current difference or -1.
const comparison = { cluster: -1, members: [], left: 0, right: 0, calls: 0, differences: [], at: -1 };

function compare(cluster, page) {
  const { groups } = choice;
  comparison.cluster = cluster;
  comparison.members = [groups.heads[cluster], ...membersInOrder(groups, cluster, choice.memberOrder)];
  comparison.left = 0;
  comparison.right = Math.max(comparison.members.indexOf(page, 1), 1);
  showPosition();
  if (!byId("comparison").open) byId("comparison").showModal();
  showComparison();
}

// Show the position of the cluster among the shown clusters.
function showPosition() {
  const position = choice.shown.indexOf(comparison.cluster), count = choice.shown.length;
  byId("comparison-place").textContent = `cluster ${numbers.format(position + 1)} of ${numbers.format(count)}`;
  byId("cluster-before").disabled = position <= 0;
  byId("cluster-after").disabled = position === count - 1;
}

function goToCluster(step) {
  const cluster = choice.shown[choice.shown.indexOf(comparison.cluster) + step];
  if (cluster !== undefined) compare(cluster, -1);
}

function showChooser(side) {
  const { members } = comparison, chosen = comparison[side];
  const from = Math.max(chosen - OPTIONS_AROUND, 1), to = Math.min(chosen + OPTIONS_AROUND, members.length);
  const numbered = [0];
  for (let number = from; number < to; number += 1) numbered.push(number);
  const options = numbered.map((number) => element("option", { value: number, selected: number === chosen },
    `${number === 0 ? "Representative" : number}: ${visible(cut(pages.key[members[number]]))}`));
  const select = byId(`choose-${side}`);
  select.replaceChildren(...options);
  select.value = String(chosen);
  byId(`before-${side}`).disabled = chosen === 0;
  byId(`after-${side}`).disabled = chosen === members.length - 1;
  const other = comparison[side === "left" ? "right" : "left"];
  const page = members[chosen];
  byId(`name-${side}`).replaceChildren(nameOf(pages.key[page], { beside: pages.key[members[other]] }));
}

async function showComparison() {
  comparison.calls += 1;
  const { calls, members } = comparison;
  showChooser("left");
  showChooser("right");
  const chosen = [members[comparison.left], members[comparison.right]];
  const texts = await Promise.all(chosen.map(textOf)).catch(() => [null, null]);
  if (calls !== comparison.calls) return;  // a later call is under way
  showTitles(texts);
  const words = texts.map((text) => (text ? wordsOf(visibleText(text.text)) : null));
  const isTextCutOff = texts.some((text) => text && isCutOff(text.text));
  const areWordsCutOff = words.some((list) => list && list.length === MAX_WORDS);
  const distance = crawledDistance(...chosen);
  const sentences = distance === null ? [] : [`Distance ${distance}.`];
  comparison.differences = [];
  comparison.at = -1;
  byId("at-difference").textContent = "";
  if (words[0] && words[1]) {
    sentences.push(`Similarity ${Math.floor(100 * resemblance(texts[0].text, texts[1].text) + 1e-9)}${NO_BREAK}%.`);
    const { partner, isComplete } = aligned(...words, { stepsLeft: MAX_WORK });
    const runs = runsOf(...words, partner);
    byId("texts-compared").replaceChildren(...rowsOf(...words, runs));
    sentences.push(summaryOf(runs, isTextCutOff ? "The stored parts are" : "The texts are"));
    if (isTextCutOff) sentences.push(`Only the first ${numbers.format(data.text_characters)} characters of a text are stored.`);
    if (areWordsCutOff) sentences.push(`Only the first ${numbers.format(MAX_WORDS)} words are compared.`);
    if (!isComplete) sentences.push("The comparison stopped early because it would take too long: some equal words are marked as different.");
  } else {
    const sides = words.map(plainRows);
    const rows = Array.from(sides[0].length > sides[1].length ? sides[0] : sides[1],
      (_, row) => rowOf(sides[0][row] || [], sides[1][row] || [], false));
    byId("texts-compared").replaceChildren(...rows);
    sentences.push("The report does not have both texts. Crawls store texts if SIMHASH_KEEP_TEXT = True; a report has 20 MB of them at most.");
  }
  byId("compared").textContent = sentences.join(" ");
  byId("texts-compared").scrollTop = 0;
  const none = comparison.differences.length === 0;
  for (const id of ["difference-before", "difference-after", "only"]) byId(id).disabled = none;
  // The filter would hide all rows of texts without differences.
  byId("texts-compared").classList.toggle("only", byId("only").checked && !none);
}

// Return the distance of two pages if a crawl has compared them, else null.
function crawledDistance(one, other) {
  if (pages.representative[other] === one) return pages.distance[other];
  return pages.representative[one] === other ? pages.distance[one] : null;
}

// Return true if a text is as long as a stored text can be, so that its rest may be missing.
function isCutOff(text) {
  return text.length >= data.text_characters && Array.from(text).length >= data.text_characters;
}

function showTitles(texts) {
  ["left", "right"].forEach((side, number) => {
    byId(`title-${side}`).textContent = texts[number] ? visible(cut(texts[number].title)) : "";
  });
}

// Return a sentence with the numbers of equal and differing words.
function summaryOf(runs, theTexts) {
  const sums = { same: 0, left: 0, right: 0 };
  for (const run of runs) {
    if (run.same) sums.same += run.to - run.from;
    else {
      sums.left += run.to - run.from;
      sums.right += run.otherTo - run.otherFrom;
    }
  }
  const both = counted(sums.same, "word");
  if (!sums.left && !sums.right) return `${theTexts} equal: ${both}.`;
  return `${both} in both; ${numbers.format(sums.left)} only left, ${numbers.format(sums.right)} only right.`;
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
