/**
 * The text part of an email that came with html only: what its readers see, as lines. Email html
 * is tables: some lay the page out, some are rows of data, and nothing in them tells which. Here a
 * row whose cells are a line each is one line with gaps; other cells stand below one another. Pure,
 * in one pass.
 */
import { decodeHTML } from "entities";
import { attribute, findAttribute, readTags } from "./html-tags.ts";
import { TextPage } from "./text-layout.ts";

/** The interface's limit on a text part holds for a made one too. */
const MAX_TEXT = 100_000;

/** A plain-text rendering of `html`, at most 100,000 code points; may be empty. */
export function textFromHtml(html: string): string {
  // An email may hide all of itself, until styles or scripts show it that are not looked at here.
  return cut(read(html, true) || read(html, false));
}

function read(html: string, isHiddenSkipped: boolean): string {
  const page = new TextPage(MAX_TEXT);
  /** Within such an element nothing is read; how many of its name are open. */
  let skipped = "";
  let depth = 0;
  let preformatted = 0;

  readTags(html, {
    isFull: () => page.isFull,
    text(raw) {
      if (skipped !== "") return;
      const text = raw.includes("&") ? decodeHTML(raw) : raw;
      const seen = UNSEEN.test(text) ? text.replaceAll(ALL_UNSEEN, "") : text;
      if (preformatted > 0) page.preformatted(seen);
      else page.write(seen);
    },
    open(name, attributes) {
      if (skipped === "p" && BLOCKS.has(name)) skipped = "";
      if (skipped !== "") {
        if (name === skipped) depth++;
        return;
      }
      if (NOT_READ.has(name) || (isHiddenSkipped && isHidden(attributes))) {
        if (!isWhole(name, attributes)) [skipped, depth] = [name, 1];
        return;
      }
      if (name === "pre") preformatted++;
      open(page, name, attributes);
    },
    close(name) {
      if (skipped !== "") {
        if (name === skipped && --depth === 0) skipped = "";
        return;
      }
      if (name === "pre") preformatted = Math.max(0, preformatted - 1);
      close(page, name);
    },
  });
  return page.text();
}

/** Characters that only make room, or say where a word may be broken. */
const UNSEEN = /[\0\u00ad\u200b\u2060\ufeff]|\u034f/;
const ALL_UNSEEN = new RegExp(UNSEEN.source, "g");

/** Read by nobody, or no text: of a choice only one is meant. */
const NOT_READ = new Set([
  "template",
  "select",
  "datalist",
  "svg",
  "math",
  "object",
  "audio",
  "video",
  "canvas",
  "textarea",
]);
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
  "source",
  "track",
  "wbr",
]);

/** Whether the element has no end tag. */
function isWhole(name: string, attributes: string): boolean {
  return VOID.has(name) || (FOREIGN.has(name) && attributes.endsWith("/"));
}

const FOREIGN = new Set(["svg", "math"]);

const STYLE = attribute("style");
const HIDDEN = /(?:^|[\s"'])hidden(?=[\s"'/=]|$)/i;
/** Preheaders among it: they are a line for the list of an inbox, and stand in the text, where they are seen, a second time. */
const HIDING =
  /display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}hidden|max-height\s{0,9}:\s{0,9}0(?:px)?\s{0,9}(?:[;!]|$)/i;

function isHidden(attributes: string): boolean {
  if (attributes === "") return false;
  const style = findAttribute(attributes, STYLE);
  if (style !== null && HIDING.test(style)) return true;
  return HIDDEN.test(attributes) && HIDDEN.test(attributes.replaceAll(/"[^"]*"|'[^']*'/g, "x"));
}

/** How far the text in and after such an element stands from that before it: 1 a new line, 2 an empty one between. */
const BLOCKS = new Map<string, 1 | 2>([
  ...["p", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "hr", "blockquote", "dl", "table", "ul", "ol"].map(
    (name): [string, 2] => [name, 2],
  ),
  ...["div", "center", "section", "article", "header", "footer", "main", "nav", "aside", "address", "figure"].map(
    (name): [string, 1] => [name, 1],
  ),
  ...["figcaption", "form", "fieldset", "legend", "caption", "li", "dt", "dd", "body", "tr", "td", "th"].map(
    (name): [string, 1] => [name, 1],
  ),
]);

const HREF = attribute("href");
const ALT = attribute("alt");
const START = attribute("start");

function open(page: TextPage, name: string, attributes: string): void {
  const distance = BLOCKS.get(name);
  if (distance !== undefined) page.block(distance);
  switch (name) {
    case "br":
      return page.lineBreak();
    case "hr":
      return page.rule();
    case "a":
      return page.openLink(findAddress(attributes));
    case "img":
      return page.word(findValue(attributes, ALT));
    case "ul":
      return page.openList(null);
    case "ol":
      return page.openList(findStart(attributes));
    case "li":
      return page.item();
    case "blockquote":
      return page.openQuote();
    case "table":
      return page.openTable();
    case "tr":
      return page.openRow();
    case "td":
    case "th":
      return page.openCell();
  }
}

function close(page: TextPage, name: string): void {
  switch (name) {
    case "a":
      return page.closeLink();
    case "td":
    case "th":
      return page.closeCell();
    case "tr":
      return page.closeRow();
    case "table":
      page.closeTable();
      break;
    case "ul":
    case "ol":
      return page.closeList();
    case "blockquote":
      page.closeQuote();
      break;
  }
  const distance = BLOCKS.get(name);
  if (distance !== undefined) page.block(distance);
}

function findValue(attributes: string, pattern: RegExp): string {
  const value = findAttribute(attributes, pattern) ?? "";
  return (value.includes("&") ? decodeHTML(value) : value).replaceAll(ALL_UNSEEN, "").trim();
}

/** Where a link leads; empty where only a browser could follow it. */
function findAddress(attributes: string): string {
  const href = findValue(attributes, HREF).replaceAll(/\s+/g, "");
  return /^(?:#|javascript:|data:|$)/i.test(href) ? "" : href.replace(/^mailto:([^?]*).*/i, "$1");
}

function findStart(attributes: string): number {
  const start = Number.parseInt(findAttribute(attributes, START) ?? "1", 10);
  return Math.abs(start) < 1_000_000 ? start : 1;
}

function cut(text: string): string {
  if (text.length <= MAX_TEXT) return text.toWellFormed();
  return text
    .slice(0, MAX_TEXT)
    .replace(/[\ud800-\udbff]$/, "")
    .toWellFormed();
}
