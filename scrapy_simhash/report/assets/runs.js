// Return the two texts as runs of words: equal words (`same`), or words that differ. A run is `from` to
// `to` on the left, `otherFrom` to `otherTo` on the right.
function runsOf(left, right, partner) {
  const runs = [];
  let at = 0, otherAt = 0;
  while (at < left.length || otherAt < right.length) {
    const [from, otherFrom] = [at, otherAt], same = partner[at] === otherAt && at < left.length;
    if (same) {
      for (; at < left.length && partner[at] === otherAt; at += 1) otherAt += 1;
    } else {
      while (at < left.length && partner[at] < 0) at += 1;
      otherAt = at < left.length ? partner[at] : right.length;
    }
    runs.push({ same, from, otherFrom, to: at, otherTo: otherAt });
  }
  return withoutCrumbs(runs);
}

// Join two changes around up to three equal words. If both changes are at least twice as long as these,
// the words are equal by chance.
function withoutCrumbs(runs) {
  const size = (run) => Math.max(run.to - run.from, run.otherTo - run.otherFrom);
  const isChange = (run) => run && !run.same;
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
