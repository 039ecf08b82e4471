// Format values and create elements. Texts are always inserted as text, never as markup.
const NO_BREAK = "\u00a0";
const MAX_SHOWN = 400;
const SHOWN_AT_EACH_END = 190;
const numbers = new Intl.NumberFormat("en-US");

// Control, format and private characters, which are invisible or change the direction of text.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\ufffe\uffff]/gu;
// Texts keep line breaks, and joiners, which some languages and emoji need.
const INVISIBLE_IN_TEXTS = /(?![\n\t\u200c\u200d\ufe0f])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\ufffe\uffff]/gu;
// No language stacks so many accents or skin tones, and a browser takes minutes to lay out thousands.
const STACKED_MARKS = /([\p{M}\p{EMod}]{16})([\p{M}\p{EMod}]+)/gu;
const WEB_ADDRESS = /^https?:\/\/[^\s\p{Cc}\p{Cs}]+$/iu;

function escaped(character) {
  const code = character.codePointAt(0);
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, "0")}`;
  return `\\U${code.toString(16).padStart(8, "0")}`;
}

function unstacked(text) {
  return text.replace(STACKED_MARKS, (_, kept, others) => kept + Array.from(others, escaped).join(""));
}

function visible(text) {
  return unstacked(text.replace(INVISIBLE, escaped));
}

// Invisible marks where a word may or must not break. They are dropped, as for fingerprints.
const WITHOUT_WIDTH = /[\u00ad\u200b\u2060\ufeff]/g;
function visibleText(text) {
  return unstacked(text.replace(WITHOUT_WIDTH, "").replace(/\r\n?/g, "\n").replace(INVISIBLE_IN_TEXTS, escaped));
}

function cut(text) {
  if (text.length <= MAX_SHOWN) return text;
  return `${text.slice(0, SHOWN_AT_EACH_END)}…${text.slice(-SHOWN_AT_EACH_END)}`;
}

function element(name, properties, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (key in node && key !== "role") node[key] = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

// Return a page's name with the search term marked. If another name is given, their common beginning
// is shown in a quieter colour instead.
function nameOf(key, { searched = "", beside = "" } = {}) {
  const shown = visible(cut(key)) || "(no name)";
  const name = element("bdi", { dir: "ltr" });
  const at = searched ? shown.toLowerCase().indexOf(searched) : -1;
  const same = at < 0 && beside ? sameBeginning(shown, visible(cut(beside))) : 0;
  if (at >= 0) {
    const found = element("mark", {}, shown.slice(at, at + searched.length));
    name.append(shown.slice(0, at), found, shown.slice(at + searched.length));
  } else if (same) {
    name.append(element("span", { className: "same" }, shown.slice(0, same)), shown.slice(same));
  } else {
    name.append(shown);
  }
  if (!WEB_ADDRESS.test(key)) return name;
  return element("a", { href: key, rel: "noreferrer noopener", target: "_blank" }, name);
}

// Return the length of the common beginning, without a part of a word; 0 if `one` ends there.
function sameBeginning(one, other) {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  if (at === one.length) return 0;
  const parts = "/?&=#.-_";
  while (at > 0 && !parts.includes(one[at - 1]) && !parts.includes(one[at])) at -= 1;
  return at;
}

function counted(number, noun) {
  return `${numbers.format(number)} ${noun}${number === 1 ? "" : "s"}`;
}

// Return a range in per cent; a dash if it is unknown (negative).
function similarityRange(lowest, highest = lowest) {
  return lowest < 0 ? "–" : `${distanceRange(lowest, highest)}${NO_BREAK}%`;
}

function distanceRange(lowest, highest) {
  return lowest === highest ? `${lowest}` : `${lowest}–${highest}`;
}

function moment(seconds) {
  const date = new Date(seconds * 1000);
  if (!(seconds > 0) || Number.isNaN(date.getTime())) return "–";
  return date.toISOString().slice(0, 16).replace("T", NO_BREAK);
}

function byId(id) {
  return document.getElementById(id);
}
