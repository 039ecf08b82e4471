// Draw the histogram of distances above the slider; each position of the slider has a column.
const PLOT_HEIGHT = 150;
// The middle of the slider's thumb stays half of this width away from both ends of the slider.
const THUMB_WIDTH = 18;
const LABEL_HEIGHT = 16;

function showHistogram() {
  const plot = byId("histogram"), { groups } = choice, maxDistance = data.max_distance;
  const width = Math.max(plot.parentElement.clientWidth, 240);
  const crawled = data.distances, now = groups.k === maxDistance ? crawled : groups.distances;
  const highest = Math.max(1, ...crawled, ...now);
  const step = maxDistance ? (width - THUMB_WIDTH) / maxDistance : width - THUMB_WIDTH;
  const thickness = Math.max(Math.min(step * 0.78, 40, THUMB_WIDTH), 1);
  const bottom = PLOT_HEIGHT - 1;
  const scale = (bottom - LABEL_HEIGHT) / highest;
  const columns = [];
  for (let distance = 0; distance <= maxDistance; distance += 1) {
    const x = THUMB_WIDTH / 2 + distance * step - thickness / 2;
    const before = crawled[distance] || 0, count = now[distance] || 0;
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
    x: Math.min(Math.max(THUMB_WIDTH / 2 + highestAt * step, 30), width - 30),
    y: bottom - now[highestAt] * scale - 4, "text-anchor": "middle",
  }, now[highestAt] ? numbers.format(now[highestAt]) : "");
  const edge = drawn("path", { class: "axis", d: `M0 ${bottom}H${width}` });
  const title = byId("histogram-title");
  title.textContent = `Near-duplicates by distance, 0 to ${maxDistance}; the table below has the same figures`;
  plot.setAttribute("viewBox", `0 0 ${width} ${PLOT_HEIGHT}`);
  plot.replaceChildren(title, ...columns, edge, label);
  showDistanceTable(crawled, now);
}

function showDistanceTable(crawled, now) {
  const rows = crawled.map((count, distance) => element("tr", {},
    element("th", { scope: "row" }, String(distance)),
    element("td", {}, numbers.format(count)),
    element("td", {}, numbers.format(now[distance] || 0))));
  byId("distance-table").tBodies[0].replaceChildren(...rows);
}

// Return a function that shows progress, in few steps because screen readers read each one aloud.
const FIRST_REPORT_MS = 300;
const REPORT_EACH_MS = 3_000;
function progressReporter() {
  let nextAt = performance.now() + FIRST_REPORT_MS;
  return (progress) => {
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + REPORT_EACH_MS;
    byId("regrouped").textContent = `Grouping pages: ${Math.floor(100 * progress)}${NO_BREAK}%.`;
  };
}

const groupsByK = new Map();
let chosenK = 0;
async function slideTo(k) {
  chosenK = k;
  byId("k-now").textContent = `k = ${k}`;
  byId("k").setAttribute("aria-valuetext", `k = ${k}`);
  byId("k-reset").disabled = k === data.max_distance;
  let groups = groupsByK.get(k);
  if (!groups) {
    byId("k").setAttribute("aria-busy", "true");
    await yieldToBrowser();
    if (chosenK === k) groups = await regrouped(k, { isStale: () => chosenK !== k, reportProgress: progressReporter() });
    if (!groups || chosenK !== k) return;
    // The arrays are large, so only the last few groupings are cached.
    if (groupsByK.size > 4) groupsByK.delete([...groupsByK.keys()].find((old) => old !== data.max_distance));
    groupsByK.set(k, groups);
  }
  byId("k").removeAttribute("aria-busy");
  use(groups);
}

function use(groups) {
  choice.groups = groups;
  filter();
  showClusters();
  showHistogram();
  const crawled = groupsByK.get(data.max_distance);
  const sums = `${counted(groups.count, "cluster")} with ${counted(groups.nearDuplicates, "near-duplicate")}`;
  const notListed = data.left_out.near_duplicates;
  const text = groups.k === data.max_distance
    ? `${sums}, as the crawls found them${notListed ? `; ${numbers.format(notListed)} more are not listed` : ""}.`
    : `${sums} at this k; as crawled: ${numbers.format(crawled.count)} with ${numbers.format(crawled.nearDuplicates)}.${groups.k === 0 ? " Fingerprints are equal." : ""}`;
  byId("regrouped").textContent = text;
}
