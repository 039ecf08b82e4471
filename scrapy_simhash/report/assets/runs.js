// Return the two texts as runs of words: equal words (`same`), a moved paragraph (`moved` is its number,
// else -1), or words that differ. A run is `from` to `to` on the left, `otherFrom` to `otherTo` on the right.
function runsOf(left, right, partner, [moved, otherMoved]) {
  const runs = [], otherPartner = new Int32Array(right.length).fill(-1);
  partner.forEach((other, at) => { if (other >= 0) otherPartner[other] = at; });
  let at = 0, otherAt = 0;
  while (at < left.length || otherAt < right.length) {
    const [from, otherFrom] = [at, otherAt], number = moved[at] ?? -1, otherNumber = otherMoved[otherAt] ?? -1;
    const run = { same: false, moved: -1, from, otherFrom };
    if (number >= 0) {
      run.moved = number;
      while (moved[at] === number) at += 1;
    } else if (otherNumber >= 0) {
      run.moved = otherNumber;
      while (otherMoved[otherAt] === otherNumber) otherAt += 1;
    } else if (at < left.length && partner[at] === otherAt) {
      run.same = true;
      while (at < left.length && partner[at] === otherAt) {
        at += 1;
        otherAt += 1;
      }
    } else {
      while (at < left.length && partner[at] < 0 && moved[at] < 0) at += 1;
      while (otherAt < right.length && otherPartner[otherAt] < 0 && otherMoved[otherAt] < 0) otherAt += 1;
    }
    runs.push({ ...run, to: at, otherTo: otherAt });
  }
  return withoutCrumbs(runs);
}

// Join two changes around up to three equal words. If both changes are at least twice as long as these,
// the words are equal by chance.
function withoutCrumbs(runs) {
  const size = (run) => Math.max(run.to - run.from, run.otherTo - run.otherFrom);
  const isChange = (run) => run && !run.same && run.moved < 0;
  const joined = [];
  runs.forEach((run, number) => {
    const next = runs[number + 1], last = joined[joined.length - 1];
    const isCrumb = run.same && isChange(last) && isChange(next) && size(run) <= 3
      && size(last) >= 2 * size(run) && size(next) >= 2 * size(run);
    if (isChange(last) && (isCrumb || isChange(run))) {
      joined[joined.length - 1] = { ...last, to: run.to, otherTo: run.otherTo };
    } else {
      joined.push(run);
    }
  });
  return joined;
}
