// Compute the resemblance of two texts, from 0 to 1, as scrapy_simhash.resemblance does: the share of
// their runs of 5 words (shingles) that both have. Each kana, ideograph or Hangul syllable is a word; if
// the two texts consist mostly of these, runs have 8 words. A shorter text is one run.
const SINGLE = "\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uac00-\\ud7af\\uf900-\\ufaff\\u{20000}-\\u{3ffff}";
const SHINGLE_TOKEN = new RegExp(`[${SINGLE}]|(?:(?![${SINGLE}])[\\p{L}\\p{N}])+`, "gu");
const IS_SINGLE = new RegExp(`^[${SINGLE}]`, "u");

// NFKC takes quadratic time for a run of combining marks, so a run is cut at 30.
function nfkc(text) {
  return text.replace(/([\p{M}\uff9e\uff9f]{30})(?=[\p{M}\uff9e\uff9f])/gu, "$1\u034f").normalize("NFKC");
}

function resemblance(one, other) {
  const both = [one, other].map((text) => nfkc(text).toLowerCase().match(SHINGLE_TOKEN) || []);
  let letters = 0, single = 0;
  for (const token of both.flat()) {
    letters += [...token].length;
    single += IS_SINGLE.test(token);
  }
  const [shingles, otherShingles] = both.map((tokens) => shinglesOf(tokens, 2 * single > letters ? 8 : 5));
  let common = 0;
  for (const shingle of shingles) common += otherShingles.has(shingle);
  const union = shingles.size + otherShingles.size - common;
  return union ? common / union : 0;
}

function shinglesOf(tokens, length) {
  const shingles = new Set();
  for (let at = 0; at + length <= tokens.length; at += 1) shingles.add(tokens.slice(at, at + length).join(" "));
  if (tokens.length && tokens.length < length) shingles.add(tokens.join(" "));
  return shingles;
}
