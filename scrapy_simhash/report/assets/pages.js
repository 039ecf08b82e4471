// Load the pages as columns of numbers. Large or rarely used data is decoded on demand.
const data = JSON.parse(byId("data").textContent);
const pages = {
  count: data.pages.key.length,
  key: data.pages.key,
  seen: Float64Array.from(data.pages.seen_at_s),
  distance: Uint16Array.from(data.pages.distance),
  // In per cent, to the representative as crawled; -1 if unknown.
  similarity: Int8Array.from(data.pages.similarity),
  representative: Int32Array.from(data.pages.representative),
  component: Int32Array.from(data.pages.component),
  text: Int32Array.from(data.pages.text),
  // Numbers of names; -1 for a pattern that no table lists.
  host: Int32Array.from(data.pages.host),
  pattern: Int32Array.from(data.pages.pattern),
};
data.pages = null;

// Return the title of a page; empty unless its text is in the file.
function titleOf(page) {
  return pages.text[page] < 0 ? "" : data.titles[pages.text[page]];
}

let lowerKeys = null;
function lowered() {
  if (!lowerKeys) lowerKeys = pages.key.map((key, page) => `${key}\n${titleOf(page)}`.toLowerCase());
  return lowerKeys;
}

// Return the hosts, those with the most pages first.
function hostsBySize() {
  const { hosts } = data.names, sizes = new Int32Array(hosts.length);
  for (const host of pages.host) sizes[host] += 1;
  return Array.from(hosts.keys()).sort((one, other) => sizes[other] - sizes[one]).map((host) => hosts[host]);
}

let keyRanks = null;
function ranks() {
  if (keyRanks) return keyRanks;
  const order = Array.from(pages.key.keys());
  order.sort((one, other) => (pages.key[one] < pages.key[other] ? -1 : 1));
  keyRanks = new Int32Array(pages.count);
  order.forEach((page, rank) => { keyRanks[page] = rank; });
  return keyRanks;
}

// Wait for the whole file: the script runs before the fingerprints and texts have loaded.
function whole() {
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

// Check the length of the JSON string, quotation marks included, because decoding takes time.
function hasFingerprints() {
  const bytes = (data.bits / 8) * pages.count;
  return byId("fingerprints").textContent.length === 4 * Math.ceil(bytes / 3) + 2;
}

// 32-bit words, the same number for each page; null if the fingerprints are incomplete.
let fingerprintWords = null;
async function fingerprints() {
  await whole();
  if (fingerprintWords || !hasFingerprints()) return fingerprintWords;
  const bytes = bytesOf(JSON.parse(byId("fingerprints").textContent));
  const each = data.bits / 8, perPage = Math.ceil(each / 4);
  const words = new Int32Array(perPage * pages.count);
  for (let page = 0, from = 0; page < pages.count; page += 1) {
    for (let byte = 0; byte < each; byte += 1, from += 1) {
      words[page * perPage + (byte >> 2)] |= bytes[from] << (8 * (3 - (byte & 3)));
    }
  }
  fingerprintWords = { words, perPage };
  return fingerprintWords;
}

function bitsSet(word) {
  word -= (word >>> 1) & 0x55555555;
  word = (word & 0x33333333) + ((word >>> 2) & 0x33333333);
  return Math.imul((word + (word >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

// Return the distance, or any larger number than `most` if it exceeds `most`.
function distanceBetween({ words, perPage }, one, other, most) {
  let apart = 0, left = one * perPage, right = other * perPage;
  for (const end = left + perPage; left < end && apart <= most; left += 1, right += 1) {
    apart += bitsSet(words[left] ^ words[right]);
  }
  return apart;
}

let compressedTexts = null;
const readTexts = new Map();
async function textOf(page) {
  const number = pages.text[page];
  if (number < 0) return null;
  if (!readTexts.has(number)) {
    await whole();
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
