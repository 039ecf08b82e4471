// Write the clusters, as grouped and filtered, as CSV for spreadsheets (RFC 4180).

// A spreadsheet takes a cell that begins with one of these signs for a formula, so an apostrophe is put
// before it; also after a semicolon or tab, where some spreadsheets split cells even inside quotation
// marks. Elsewhere these signs stay unchanged, because they are common in URLs.
const FORMULA = /(?=[=+\-@\uff1d\uff0b\uff0d\uff20])(?<=(?:^|[;\t\r\n])[\s"\p{Cc}\p{Cf}]*)/gu;
function cell(value) {
  let text = String(value);
  if (typeof value === "string") text = text.replace(FORMULA, "'").replace(/^(?=[\t\r\n])/, "'");
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function* csvOfClusters() {
  const { groups } = choice;
  yield ["representative", "near_duplicates", "smallest_distance", "largest_distance",
    "smallest_similarity_percent", "first_seen"];
  for (const cluster of choice.shown) {
    yield [pages.key[groups.heads[cluster]], groups.counts[cluster], groups.minDistance[cluster],
      groups.maxDistance[cluster], percentOrNothing(groups.minSimilarity[cluster]),
      iso(groups.seen[cluster])];
  }
}

function* csvOfPages() {
  const { groups } = choice;
  yield ["cluster", "url", "representative", "distance", "similarity_percent", "seen"];
  let number = 0;
  for (const cluster of choice.shown) {
    number += 1;
    const head = groups.heads[cluster], name = pages.key[head];
    yield [number, name, name, 0, 100, iso(pages.seen[head])];
    for (const page of membersInOrder(groups, cluster, choice.memberOrder)) {
      const distance = groups.distance[page];
      yield [number, pages.key[page], name, distance, percentOrNothing(similarityTo(page, head)),
        iso(pages.seen[page])];
    }
  }
}

function percentOrNothing(percent) {
  return percent < 0 ? "" : percent;
}

function iso(seconds) {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString().replace(".000", "");
}

function download(name, rows) {
  // Excel needs the byte order mark to recognize UTF-8.
  const lines = ["\ufeff"];
  for (const row of rows) lines.push(`${row.map(cell).join(",")}\r\n`);
  const address = URL.createObjectURL(new Blob(lines, { type: "text/csv;charset=utf-8" }));
  const { k } = choice.groups;
  const link = element("a", { href: address, download: `near-duplicates-${name}-k${k}.csv` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
