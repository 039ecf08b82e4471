// Load the pages as columns: arrays with one value for each page. Other data is decoded on demand.
const data = JSON.parse(byId("data").textContent);
const pages = {
  count: data.pages.key.length,
  key: data.pages.key,
  seen: Float64Array.from(data.pages.seen_at_s),
  distance: Uint16Array.from(data.pages.distance),
  // To the representative as crawled, in per cent; -1 if unknown.
  similarity: Int8Array.from(data.pages.similarity),
  representative: Int32Array.from(data.pages.representative),
  text: Int32Array.from(data.pages.text),
  title: Int32Array.from(data.pages.title),
  // Positions in `data.patterns`; -1 for a pattern that is not listed.
  pattern: Int32Array.from(data.pages.pattern),
};
data.pages = null;

// Return the title of a page; empty if it has none.
function titleOf(page) {
  return data.titles[pages.title[page]] ?? "";
}

let lowerNames = null;
// Return the key and title of each page in lower case, for the search.
function lowerCaseNames() {
  if (!lowerNames) lowerNames = pages.key.map((key, page) => `${key}\n${titleOf(page)}`.toLowerCase());
  return lowerNames;
}

let keyRanks = null;
// Return, for each page, its rank in the order of keys.
function ranksOfKeys() {
  if (keyRanks) return keyRanks;
  const order = Array.from(pages.key.keys());
  order.sort((one, other) => (pages.key[one] < pages.key[other] ? -1 : 1));
  keyRanks = new Int32Array(pages.count);
  order.forEach((page, rank) => { keyRanks[page] = rank; });
  return keyRanks;
}

// Wait for the whole file: the script runs before the texts have loaded.
function wholeFile() {
  if (document.readyState !== "loading") return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener("DOMContentLoaded", resolve, { once: true });
  });
}

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const binary = atob(base64), bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

let compressedTexts = null;
const readTexts = new Map();
// Return the title and text of a page, or null if the file has no text. 50 texts are cached.
async function textOf(page) {
  const number = pages.text[page];
  if (number < 0) return null;
  if (!readTexts.has(number)) {
    await wholeFile();
    compressedTexts = compressedTexts || JSON.parse(byId("texts").textContent);
    readTexts.set(number, inflated(bytesOf(compressedTexts[number])));
    if (readTexts.size > 50) readTexts.delete(readTexts.keys().next().value);
  }
  return readTexts.get(number);
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const text = new TextDecoder().decode(await new Response(stream).arrayBuffer());
  const { title, text: body } = JSON.parse(text);
  return { title: String(title ?? ""), text: String(body ?? "") };
}
