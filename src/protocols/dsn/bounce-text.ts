/**
 * The part of a bounce for people: its first text part, without the copy of the message that came back
 * and without the sentences that every such text has. Many reports have no other part (qmail, old
 * Exim and Exchange, carriers), and in those that have one the text tells what their fields leave
 * out: at which command the server refused. Pure.
 */
import { plain } from "./charset.ts";
import { lines, findValue } from "./fields.ts";
import { type Message, type Part, decodePart } from "./message.ts";

const MAX_NOTICE_LINES = 400;
const MAX_LINE_CHARACTERS = 1_000;
const MAX_PARAGRAPH_CHARACTERS = 4_000;
const MAX_WHOLE_CHARACTERS = 16 * 1024;
const MAX_HTML_CHARACTERS = 128 * 1024;

/** Parts that are the message that came back. */
const RETURNED_TYPES = new Set([
  "message/rfc822",
  "message/global",
  "text/rfc822-headers",
  "text/rfc822",
  "message/global-headers",
  "message/partial",
]);
const NO_TEXT = /^(?:message\/|image\/|application\/|audio\/|video\/|multipart\/)/;

/** From such a line on the text is a copy of the message that came back. On plain text, without the characters that draw lines. */
const COPY_BEGINS = new RegExp(
  `^(?:${[
    /below (?:this line )?is a copy of|(?:this|here|following|attached) is (?:a |the )?(?:copy|original)|copy of (?:the|your) (?:original )?message/,
    /(?:the )?(?:original|returned|unsent|undelivered|rejected|failed) (?:message|mail|e-mail)(?: (?:headers?|text|follows|is|below|content).{0,30})?$/,
    /(?:the )?(?:original )?message (?:headers?|text)(?: follows?)?$|unsent message follows|(?:start|beginning) of (?:the )?(?:original|returned|undelivered)/,
    /(?:the )?(?:header|headers|text|body|first \d{1,5} (?:lines|bytes)) (?:and body )?of (?:the|your) (?:original )?(?:message|mail)/,
    /mensagem original|mensaje original|message d'origine|message original|ursprungliche nachricht|nachricht im original|messaggio originale|cabecalhos? da mensagem/,
  ]
    .map(({ source }) => source)
    .join("|")})`,
);
/** A line that only a header has; reports that quote the message's fields indent them. */
const HEADER_LINE =
  /^(?:received: (?:from|by)|return-path: ?<|dkim-signature: |message-id: ?<|mime-version: 1|x-[a-z-]+: )/i;
/** The copy in a report that has lost its delimiters: nothing else there has such fields. */
const FIELD_LINE = /^(?:subject|from|to|date|message-id|received|return-path):/i;
const RULE_CHARACTERS = /^[\s\-_=*#+~.>|]+|[\s\-_=*#+~:|]+$/g;

/** Sentences that say nothing of why. */
const EMPTY_WORDS =
  /^(?:hi[.!]|hello|dear |this is (?:the|an automat|a mime|a multi)|(?:i'm|we are|we're) (?:sorry|afraid)|for further (?:assistance|information)|for more information|if you (?:do so|have|need|continue|think|would)|delete your own text|(?:this|a) (?:message|mail|notice|notification|e-mail) (?:was|is|has been) (?:created|generated|sent) automatically|a message that you sent|(?:its )?recipients\.? this is a permanent error|your (?:mail )?message(?:$| to(?:$|:))|the original message was received|the mail system|from (?:\S+@|\S+ \[|localhost)|from ?:|to ?: |(?:the )?(?:original )?(?:message )?subject(?: was)? ?: |sent ?: |date ?: |message-id ?: |cc ?: |thank|regards|reporting-mta|arrival-date|please (?:do not|check|verify|contact|visit)|sorry it didn't work|giving up on )/;

export interface Notice {
  /** All of the text but the copy of the message, plain (charset.ts): for what kind of report it is. */
  whole: string;
  /** The sentences that give a reason, as they were written: lines that go on are joined, since reporters wrap replies. */
  paragraphs: string[];
}

/** The notice of a message; without a text part it has no lines. */
export function readNotice(message: Message): Notice {
  const found: string[] = [];
  for (const part of noticeParts(message)) {
    for (const line of noticeLines(part)) {
      if (found.length === MAX_NOTICE_LINES) break;
      found.push(line);
    }
  }
  const told = found.filter((line) => line.trim() === "" || !EMPTY_WORDS.test(plain(line)));
  return { whole: plain(found.join("\n")).slice(0, MAX_WHOLE_CHARACTERS), paragraphs: upTo(splitParagraphs(told)) };
}

/** The first of them, as far as a report of any use goes: each is read for every recipient. */
function upTo(paragraphs: string[]): string[] {
  let characters = 0;
  const end = paragraphs.findIndex((paragraph) => (characters += paragraph.length) > MAX_WHOLE_CHARACTERS);
  return end < 0 ? paragraphs : paragraphs.slice(0, Math.max(end, 1));
}

/** A multipart that is a leaf has lost its delimiters: it is one text, and the only part there is. */
function isText({ type }: Part, _at: number, { length }: Part[]): boolean {
  return !NO_TEXT.test(type) || (type.startsWith("multipart/") && length === 1);
}

/** The text before the first part that came back: plain text if there is any, else what html has. */
function noticeParts(message: Message): Part[] {
  const end = message.parts.findIndex(({ type }) => RETURNED_TYPES.has(type));
  const before = (end === -1 ? message.parts : message.parts.slice(0, end)).filter(isText);
  // X1 gives the returned message's header as the header of a text part.
  const own = before.filter(
    (part, at) => at === 0 || (findValue(part.fields, "from") ?? findValue(part.fields, "return-path")) === null,
  );
  const texts = own.filter(({ type, body }) => type !== "text/html" && body.trim() !== "");
  return texts.length > 0 ? texts : own;
}

function* noticeLines(part: Part): Generator<string> {
  const isWhole = part.type.startsWith("multipart/");
  const text = part.type === "text/html" ? stripTags(decodePart(part)) : decodePart(part);
  for (const line of lines(text)) {
    const cut = line.slice(0, MAX_LINE_CHARACTERS);
    const words = plain(cut);
    if (COPY_BEGINS.test(words.replace(RULE_CHARACTERS, "")) || HEADER_LINE.test(cut)) return;
    if (isWhole && FIELD_LINE.test(cut)) return;
    yield cut;
  }
}

/** A tag stripper for notices of which nobody sees the looks. */
function stripTags(html: string): string {
  return (
    html
      .slice(0, MAX_HTML_CHARACTERS)
      // Styles are full of words and numbers.
      .replace(/<style[^]*?(?=<\/style|$)/gi, "")
      .replace(/<(?:br|p|div|tr|h\d|li|table)\b[^<>]{0,2000}>/gi, "\n")
      .replace(/<\/?[a-z!][^<>]{0,2000}>/gi, " ")
      .replace(/&(lt|gt|amp|quot|nbsp|#39);/gi, (_entity, name: string) => ENTITIES[name.toLowerCase()] ?? " ")
  );
}

const ENTITIES: Record<string, string> = { lt: "<", gt: ">", amp: "&", quot: '"', nbsp: " ", "#39": "'" };

/** A line that begins what is said of another address: `<a@b>: …`, `a@b`, `550 <a@b>… `. */
const ABOUT_AN_ADDRESS =
  /^(?:[45]\d\d[ -](?:[45]\.\d{1,3}\.\d{1,3} )?)?(?:[<"][^<>@\s"]{1,64}@[^<>@\s"]{1,255}[>"]|[^<>@\s:;,"()]{1,64}@[a-z0-9.-]{1,255}(?:$|[:;\s([,]))/;

const OF_A_SESSION = /^(?:>>>|<<<|[45]\d\d )/;
const SESSION = /^(?:\.\.\. )?while talking to/;

/** Whether a line begins another statement. In Sendmail's transcripts the session comes before the address that it was about. */
function begins(line: string, open: string): boolean {
  return (
    ABOUT_AN_ADDRESS.test(line) || SESSION.test(line) || (OF_A_SESSION.test(line) && /^[45]\d\d .{0,20}</.test(open))
  );
}

/** Lines up to an empty one, or to one that names another address, belong together. */
function splitParagraphs(told: string[]): string[] {
  const paragraphs: string[] = [];
  let open = "";
  for (const line of told) {
    const words = plain(line);
    if (open !== "" && (words === "" || begins(words, open))) {
      paragraphs.push(open);
      open = "";
    }
    if (words !== "") open = `${open} ${line.replace(/\s+/g, " ").trim()}`.trim().slice(0, MAX_PARAGRAPH_CHARACTERS);
  }
  if (open !== "") paragraphs.push(open);
  return paragraphs;
}
