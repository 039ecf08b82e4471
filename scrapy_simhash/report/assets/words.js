// Format values and create elements. Texts are always inserted as text, never as markup.
const NO_BREAK = "\u00a0";
const LONGEST_SHOWN = 400;
const SHOWN_AT_EACH_END = 190;
const numbers = new Intl.NumberFormat("en-US");

// Invisible characters, and those that change the direction of text.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\ufffe\uffff]/gu;
// Texts keep line breaks, and joiners, which some languages and emoji need.
const UNSEEN_IN_TEXTS = /(?![\n\t\u200c\u200d\ufe0f])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\ufffe\uffff]/gu;
// No language stacks so many accents or skin tones, and a browser takes minutes to lay out thousands.
const HEAPED = /([\p{M}\p{EMod}]{16})([\p{M}\p{EMod}]+)/gu;
const WEB_ADDRESS = /^https?:\/\/[^\s\p{Cc}\p{Cs}]+$/iu;

function escaped(character) {
  const code = character.codePointAt(0);
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, "0")}`;
  return `\\U${code.toString(16).padStart(8, "0")}`;
}

function flat(text) {
  return text.replace(HEAPED, (_, some, others) => some + Array.from(others, escaped).join(""));
}

function visible(text) {
  return flat(text.replace(UNSEEN, escaped));
}

// Marks where a word may or must not break; fingerprints ignore them, too.
const WITHOUT_WIDTH = /[\u00ad\u200b\u2060\ufeff]/g;
function visibleText(text) {
  return flat(text.replace(WITHOUT_WIDTH, "").replace(/\r\n?/g, "\n").replace(UNSEEN_IN_TEXTS, escaped));
}

function cut(text) {
  if (text.length <= LONGEST_SHOWN) return text;
  return `${text.slice(0, SHOWN_AT_EACH_END)}…${text.slice(-SHOWN_AT_EACH_END)}`;
}

function isAddress(text) {
  return WEB_ADDRESS.test(text);
}

function element(name, properties, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (key in made && key !== "role") made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";
function drawn(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
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
  if (!isAddress(key)) return name;
  return element("a", { href: key, rel: "noreferrer noopener", target: "_blank" }, name);
}

function sameBeginning(one, other) {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  if (at === one.length) return 0;
  const parts = "/?&=#.-_";
  while (at > 0 && !parts.includes(one[at - 1]) && !parts.includes(one[at])) at -= 1;
  return at;
}

function counted(number, one, more = `${one}s`) {
  return `${numbers.format(number)} ${number === 1 ? one : more}`;
}

// Return a range in per cent; negative values are unknown.
function similarityShown(least, most = least) {
  if (least < 0) return "–";
  return `${least === most ? least : `${least}–${most}`}${NO_BREAK}%`;
}

function distanceRange(least, most) {
  return least === most ? `${least}` : `${least}–${most}`;
}

function moment(seconds) {
  const date = new Date(seconds * 1000);
  if (!(seconds > 0) || Number.isNaN(date.getTime())) return "–";
  return date.toISOString().slice(0, 16).replace("T", NO_BREAK);
}

function byId(id) {
  return document.getElementById(id);
}

// Let the page handle input, and paint.
function breath() {
  if (globalThis.scheduler && scheduler.yield) return scheduler.yield();
  return new Promise((resolve) => setTimeout(resolve));
}
