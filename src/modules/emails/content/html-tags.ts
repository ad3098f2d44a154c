/**
 * Html as a row of tags and texts, in one pass, without a tree: linear in its length, with no stack
 * that it could overflow, whatever a stranger wrote (HTML §13.2.5, as far as the text of an email
 * needs it).
 */

export interface HtmlReader {
  /** As it stands: references are not decoded. */
  text(raw: string): void;
  /** `attributes`: all that stands between the name and the end of the tag. */
  open(name: string, attributes: string): void;
  close(name: string): void;
  /** Nothing more is read for it. */
  isFull(): boolean;
}

/** The character after `<` makes it a tag, an end tag, or a comment and the like; else it is a character, as in "a < b". */
const TAG = /<(?:(\/?)([a-z][^\s/>]{0,99})|[!?/])/iy;
/** Their content is no markup, and nobody reads it. */
const RAW = new Set(["script", "style", "title", "iframe", "noembed", "noframes", "xmp"]);

export function readTags(html: string, reader: HtmlReader): void {
  let textFrom = 0;
  let at = html.indexOf("<");
  while (at >= 0 && !reader.isFull()) {
    TAG.lastIndex = at;
    const match = TAG.exec(html);
    if (match === null) {
      at = html.indexOf("<", at + 1);
      continue;
    }
    if (at > textFrom) reader.text(html.slice(textFrom, at));
    textFrom = match[2] === undefined ? endOfComment(html, at) : readTag(html, match, reader);
    at = html.indexOf("<", textFrom);
  }
  if (!reader.isFull()) reader.text(html.slice(textFrom));
}

/** Where reading goes on after the tag. One that does not end is none, and swallows the rest. */
function readTag(html: string, match: RegExpExecArray, reader: HtmlReader): number {
  const [opening, slash = "", written = ""] = match;
  const from = match.index + opening.length;
  const end = endOfTag(html, from);
  if (end < 0) return html.length;
  const name = written.toLowerCase();
  if (slash === "/") reader.close(name);
  else if (RAW.has(name)) return endOfRaw(html, end + 1, name);
  else reader.open(name, html.slice(from, end));
  return end + 1;
}

const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const EQUALS = 0x3d;
const GREATER = 0x3e;
const SPACE = 0x20;

/** The `>` of a tag: one within a quoted value is none. -1: it does not end. */
function endOfTag(html: string, from: number): number {
  let isValue = false;
  for (let at = from; at < html.length; at++) {
    const code = html.charCodeAt(at);
    if (code === GREATER) return at;
    if (isValue && (code === QUOTE || code === APOSTROPHE)) {
      at = html.indexOf(code === QUOTE ? '"' : "'", at + 1);
      if (at < 0) return -1;
      isValue = false;
    } else if (code === EQUALS) isValue = true;
    else if (code > SPACE) isValue = false;
  }
  return -1;
}

function endOfRaw(html: string, from: number, name: string): number {
  const ending = new RegExp(`</${name}`, "gi");
  ending.lastIndex = from;
  // The end tag is read as any other is, and closes nothing.
  return ending.exec(html)?.index ?? html.length;
}

/** Comments, which hide what is for Outlook only, and declarations. */
function endOfComment(html: string, at: number): number {
  if (!html.startsWith("<!--", at)) {
    const end = html.indexOf(">", at);
    return end < 0 ? html.length : end + 1;
  }
  // HTML §13.2.5.43: `<!-->` and `<!--->` are whole comments.
  const end = html.indexOf("-->", at + 2);
  return end < 0 ? html.length : end + 3;
}

/** The value of an attribute as it stands, or null. */
export function findAttribute(attributes: string, pattern: RegExp): string | null {
  const match = pattern.exec(attributes);
  return match === null ? null : (match[1] ?? match[2] ?? match[3] ?? "");
}

export function attribute(name: string): RegExp {
  return new RegExp(`(?:^|[\\s"'/])${name}\\s{0,9}=\\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, "i");
}
