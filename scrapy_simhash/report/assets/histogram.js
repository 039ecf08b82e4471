// Draw the histogram of distances above the slider; each position of the slider has a column.
const PLOT_HEIGHT = 150;
// Width of the slider's thumb: its middle cannot reach the ends of the slider.
const THUMB = 18;
const LABEL_ROOM = 16;

function showHistogram() {
  const plot = byId("histogram"), { groups } = choice, most = data.max_distance;
  const width = Math.max(plot.parentElement.clientWidth, 240);
  const asCrawledCounts = data.distances, now = groups.k === most ? asCrawledCounts : groups.distances;
  const highest = Math.max(1, ...asCrawledCounts, ...now);
  const room = most ? (width - THUMB) / most : width - THUMB;
  const thickness = Math.max(Math.min(room * 0.78, 40, THUMB), 1);
  const bottom = PLOT_HEIGHT - 1;
  const scale = (bottom - LABEL_ROOM) / highest;
  const columns = [];
  for (let distance = 0; distance <= most; distance += 1) {
    const x = THUMB / 2 + distance * room - thickness / 2;
    const before = asCrawledCounts[distance] || 0, count = now[distance] || 0;
    const title = `${counted(count, "near-duplicate")} at distance ${distance}`;
    const column = drawn("g", {}, drawn("title", {}, title));
    column.append(drawn("rect", { class: "room", x: x - 1, y: 0, width: thickness + 2, height: PLOT_HEIGHT }));
    column.append(bar("before", x, before), bar("near", x, count));
    columns.push(column);
  }
  function bar(kind, x, count) {
    // Any count above 0 gets a visible bar.
    const height = count ? Math.max(count * scale, 1.5) : 0;
    return drawn("rect", { class: kind, x, y: bottom - height, width: thickness, height });
  }
  const highestAt = now.indexOf(Math.max(...now));
  const label = drawn("text", {
    x: Math.min(Math.max(THUMB / 2 + highestAt * room, 30), width - 30),
    y: bottom - now[highestAt] * scale - 4, "text-anchor": "middle",
  }, now[highestAt] ? numbers.format(now[highestAt]) : "");
  const edge = drawn("path", { class: "axis", d: `M0 ${bottom}H${width}` });
  const title = byId("histogram-title");
  title.textContent = `Near-duplicates by distance, 0 to ${most}; the table below has the same figures`;
  plot.setAttribute("viewBox", `0 0 ${width} ${PLOT_HEIGHT}`);
  plot.replaceChildren(title, ...columns, edge, label);
  showDistanceTable(asCrawledCounts, now);
}

function showDistanceTable(before, now) {
  const rows = before.map((count, distance) => element("tr", {},
    element("th", { scope: "row" }, String(distance)),
    element("td", {}, numbers.format(count)),
    element("td", {}, numbers.format(now[distance] || 0))));
  byId("distance-table").tBodies[0].replaceChildren(...rows);
}

// Show the progress of a long wait, in few steps because screen readers read each one aloud.
const FIRST_TOLD_MS = 300;
const TOLD_EACH_MS = 3_000;
function teller() {
  let next = performance.now() + FIRST_TOLD_MS;
  return (part) => {
    if (performance.now() < next) return;
    next = performance.now() + TOLD_EACH_MS;
    byId("regrouped").textContent = `Grouping pages: ${Math.floor(100 * part)}${NO_BREAK}%.`;
  };
}

const kept = new Map();
let wanted = 0;
async function slideTo(k) {
  wanted = k;
  byId("k-now").textContent = `k = ${k}`;
  byId("k").setAttribute("aria-valuetext", `k = ${k}`);
  byId("k-reset").disabled = k === data.max_distance;
  let groups = kept.get(k);
  if (!groups) {
    byId("k").setAttribute("aria-busy", "true");
    await breath();
    if (wanted === k) groups = await regrouped(k, { isStale: () => wanted !== k, tell: teller() });
    if (!groups || wanted !== k) return;
    // The arrays are large, so only the last few groupings are cached.
    if (kept.size > 4) kept.delete([...kept.keys()].find((old) => old !== data.max_distance));
    kept.set(k, groups);
  }
  byId("k").removeAttribute("aria-busy");
  use(groups);
}

function use(groups) {
  choice.groups = groups;
  filter();
  showClusters();
  showHistogram();
  const before = kept.get(data.max_distance);
  const sums = `${counted(groups.count, "cluster")} with ${counted(groups.nearDuplicates, "near-duplicate")}`;
  const left = data.left_out.near_duplicates;
  const text = groups.k === data.max_distance
    ? `${sums}, as the crawls found them${left ? `; ${numbers.format(left)} more are not listed` : ""}.`
    : `${sums} at this k; as crawled: ${numbers.format(before.count)} with ${numbers.format(before.nearDuplicates)}.${groups.k === 0 ? " Fingerprints are equal." : ""}`;
  byId("regrouped").textContent = text;
}
