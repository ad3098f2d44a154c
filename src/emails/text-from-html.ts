import { compile } from "html-to-text";

// The text part of an email that came with html alone. html-to-text reads layout, links and lists
// well, but its defaults are a hole: 20,000 nested elements overflow the stack and a megabyte of
// paragraphs stops the loop for a quarter of a second; 150 quotes in one another, each writing its
// mark before every line, make megabytes of 20 KB. So it gets limits, and what is beyond them is
// stripped plainly, in one pass.

/** Longer html is stripped plainly. */
const MAX_CONVERTED = 200_000;
const MAX_DEPTH = 200;
const MAX_CHILD_NODES = 20_000;
/** Elements open at once, those never closed included: its parser is quadratic in them. */
const MAX_OPEN = 1_000;
/** Quotes and lists in one another: each indents every line in it. */
const MAX_INDENTED = 20;
/** The interface's limit on a text part holds for a made one too. */
const MAX_TEXT = 100_000;

/** Made at its first use: a start has the thread for it, and rarely this one. */
let converter: ((html: string) => string) | null = null;

function convert(html: string): string {
  converter ??= compile({
    wordwrap: 78,
    limits: { maxDepth: MAX_DEPTH, maxChildNodes: MAX_CHILD_NODES, maxInputLength: MAX_CONVERTED },
    selectors: [
      { selector: "img", format: "skip" },
      { selector: "a", options: { hideLinkHrefIfSameAsText: true, ignoreHref: false } },
    ],
  });
  return converter(html);
}

/** A plain-text rendering of `html`, at most 100,000 code points; may be empty. */
export function textFromHtml(html: string): string {
  return cut(html.length > MAX_CONVERTED || isTooDeep(html) ? strip(html) : convertOrStrip(html));
}

const TAG = /<(\/?)([a-z][a-z\d]*)/gi;
const VOID = new Set([
  "area",
  "base",
  "br",
  "col",
  "embed",
  "hr",
  "img",
  "input",
  "link",
  "meta",
  "param",
  "source",
  "track",
  "wbr",
]);
const INDENTING = new Set(["blockquote", "ul", "ol"]);

/** Counts tags without reading what they mean: a text of an email that errs here is stripped plainly, which reads well too. */
function isTooDeep(html: string): boolean {
  let open = 0;
  let indented = 0;
  for (const [, slash, written = ""] of html.matchAll(TAG)) {
    const name = written.toLowerCase();
    if (VOID.has(name)) continue;
    const step = slash === "/" ? -1 : 1;
    open = Math.max(0, open + step);
    if (INDENTING.has(name)) indented = Math.max(0, indented + step);
    if (open > MAX_OPEN || indented > MAX_INDENTED) return true;
  }
  return false;
}

function convertOrStrip(html: string): string {
  try {
    return convert(html);
  } catch {
    // Nesting that its parser cannot stand.
    return strip(html);
  }
}

/** Not the head as a whole: it may end without a tag, where the body begins. */
const SKIPPED = /<(script|style|title|template)\b[^>]*>/iy;
const BREAKING = /^\/?(?:p|div|br|tr|li|ul|ol|table|h[1-6]|section|article|header|footer|blockquote|hr|pre)\b/i;
const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** Tags out, block ends to line ends, the common entities decoded: linear in the input. */
function strip(html: string): string {
  const kept: string[] = [];
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    if (open < 0) break;
    kept.push(html.slice(at, open));
    // HTML §13.2.5.6: what follows makes it a tag; else it is a character of the text, as in "a < b".
    const isTag = /[a-z/!?]/i.test(html.charAt(open + 1));
    if (!isTag) kept.push("<");
    at = isTag ? endOfTag(html, open, kept) : open + 1;
  }
  kept.push(html.slice(at));
  return kept
    .join("")
    .replaceAll(/&(#\d{1,7}|#x[\da-f]{1,6}|[a-z]{2,6});/gi, (whole, name: string) => decodeEntity(name) ?? whole)
    .replaceAll(/[ \t\r\f]+/g, " ")
    .replaceAll(/ ?\n ?/g, "\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}

/** Where reading goes on after the tag at `open`. */
function endOfTag(html: string, open: number, kept: string[]): number {
  if (html.startsWith("<!--", open)) {
    const end = html.indexOf("-->", open + 4);
    return end < 0 ? html.length : end + 3;
  }
  SKIPPED.lastIndex = open;
  const skipped = SKIPPED.exec(html);
  if (skipped !== null) {
    const ending = new RegExp(`</${skipped[1] ?? ""}`, "gi");
    ending.lastIndex = SKIPPED.lastIndex;
    const end = ending.exec(html);
    if (end === null) return html.length;
    open = end.index;
  }
  const close = html.indexOf(">", open);
  if (close < 0) return html.length;
  if (BREAKING.test(html.slice(open + 1, Math.min(close, open + 16)))) kept.push("\n");
  return close + 1;
}

function decodeEntity(name: string): string | null {
  if (!name.startsWith("#")) return ENTITIES[name.toLowerCase()] ?? null;
  const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  const isCharacter = code >= 0x20 && code <= 0x10_ff_ff && !(code >= 0xd8_00 && code <= 0xdf_ff);
  return isCharacter ? String.fromCodePoint(code) : null;
}

function cut(text: string): string {
  const shown = text.replaceAll("\0", "");
  if (shown.length <= MAX_TEXT) return shown;
  const short = shown.slice(0, MAX_TEXT);
  return short.isWellFormed() ? short : short.slice(0, -1);
}
