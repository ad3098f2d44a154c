/**
 * Removes from a server's reply what it repeats of the message: addresses, a subject, a
 * name. The sender has chosen these words, and could have a server say through them that
 * our address is blocked. So they are cut out before any rule looks, in whatever form they come back:
 * quoted or not, the local part or the domain only, encoded, in another case. The rest is the
 * server's own. Pure.
 */
import { domainToUnicode } from "node:url";
import type { Stage } from "./stage.ts";
import { enhancedIn, type Reply } from "./reply.ts";

/** An answer as it may be classified. */
export interface OwnReply {
  code: number;
  /** Null too where what looks like a code was the message's. */
  enhanced: string | null;
  /** Lower case, ASCII, one space between words, addresses as the word `address`, ≤ 1 KB. */
  words: string;
  /** It repeats something of the message. */
  isEcho: boolean;
}

/** The parts of a message that its server may repeat. */
export interface SentMessage {
  /** Envelope addresses, as on the wire. */
  from: string;
  to: string;
  header: { addresses: readonly string[]; texts: readonly string[] };
}

/** Longest part of a reply that is looked at. */
const MAX_HEARD = 1_024;
/** A line of so many characters may have been cut off: by us at 512, by a server at RFC 5321's 512 octets or soon before. */
const MAYBE_CUT = 480;
/** Words of one text of the header that are looked for: a field of 998 characters has no more. */
const MAX_WORDS = 500;
/** Characters of a header that are looked for. Of one with more nothing in the reply is certain to be the server's own. */
const MAX_TOLD = 2_048;
/** A reply that repeats this many consecutive words of a header quotes it. */
const TELLING_WORDS = 6;
/** A shorter word by itself says nothing to any rule. */
const SHORTEST_ALONE = 3;

/** A run of letters and digits. Quotes, brackets, backslashes and what is beyond ASCII only part them. */
interface Word {
  word: string;
  start: number;
  end: number;
  /** The characters between it and the word before; empty for the first. */
  gap: string;
  isBlankBefore: boolean;
  /** The last one before a line was cut off, in the middle of it maybe. */
  isCut: boolean;
}

/** Something that was told, in one of its forms. */
interface Echo {
  words: Word[];
  /** Where each word stands among them. */
  places: Map<string, number[]>;
  /** For each of them, where the next word with a letter stands, itself included. */
  letterAt: number[];
  /** Words before the @; 0: it is no address. */
  localCount: number;
  /** So many of its words in a row are it. */
  least: number;
  /** Words that are it by themselves. */
  alone: Set<string>;
}

interface Span {
  start: number;
  end: number;
  by: string;
}

/** The reply without what it repeats of the message it answers. Before MAIL the server has heard nothing of it, after DATA the header too. */
export function removeEcho(reply: Reply, stage: Stage, told: SentMessage): OwnReply {
  if (isHeaderTold(stage) && isTooLong(told)) return { code: reply.code, enhanced: null, words: "", isEcho: true };
  return toOwnReply(reply, echoesAt(stage, told));
}

function isHeaderTold(stage: Stage): boolean {
  return stage === "block" || stage === "dot";
}

function isTooLong({ header: { addresses, texts } }: SentMessage): boolean {
  return [...addresses, ...texts].reduce((sum, { length }) => sum + length, 0) > MAX_TOLD;
}

/** A reply that answers no message of ours. */
export function readWhole(reply: Reply): OwnReply {
  return toOwnReply(reply, []);
}

function toOwnReply(reply: Reply, echoes: Echo[]): OwnReply {
  const text = reply.lines.join(" ").slice(0, MAX_HEARD);
  const spans = echoes.length === 0 ? [] : findSpans(text, echoes, findCuts(reply));
  const enhanced = spans.length === 0 ? reply.enhanced : ownEnhanced(reply, spans);
  return { code: reply.code, enhanced, words: normalizeWords(cut(text, spans), enhanced), isEcho: spans.length > 0 };
}

/** Where text that was there may be missing. */
function findCuts({ lines }: Reply): number[] {
  const cuts: number[] = [];
  let end = -1;
  for (const { length } of lines) {
    end += 1 + length;
    if (length >= MAYBE_CUT) cuts.push(end);
  }
  return end > MAX_HEARD ? [...cuts, MAX_HEARD] : cuts;
}

function echoesAt(stage: Stage, { from, to, header }: SentMessage): Echo[] {
  switch (stage) {
    case "mail":
      return addressEchoes(from);
    case "rcpt":
    case "data":
      return [from, to].flatMap(addressEchoes);
    case "block":
    case "dot":
      return [...[from, to, ...header.addresses].flatMap(addressEchoes), ...header.texts.flatMap(textEchoes)];
    default:
      return [];
  }
}

function addressEchoes(address: string): Echo[] {
  const at = address.lastIndexOf("@");
  const [local, domain] = [address.slice(0, at), address.slice(at + 1)];
  return listForms(local).flatMap((form) => {
    const localCount = readWords(form).length;
    // RFC 5233: a server may show either side of the sub-address's separator.
    const parts = [form, ...form.split("+")].map(readWords).filter((words) => words.length === 1);
    const names = [...new Set([domain, domainToUnicode(domain)])];
    return names.map((name) => buildEcho(`${form}@${name}`, { localCount, least: 2, alone: parts.flat() }));
  });
}

function textEchoes(text: string): Echo[] {
  return listForms(text).map((form) => {
    const words = readWords(form);
    const least = Math.min(TELLING_WORDS, Math.max(2, words.length));
    return buildEcho(form, { localCount: 0, least, alone: words.length === 1 ? words : [] });
  });
}

/** How servers write what they cannot or will not write as it is. */
function listForms(text: string): string[] {
  const bare = text.replace(/["\\]/g, "");
  const ascii = [bare.replace(/[^\0-\x7f]+/g, ""), bare.normalize("NFKD").replace(/\p{M}/gu, "")];
  return [...new Set([text, bare, ...ascii])];
}

function buildEcho(text: string, how: { localCount: number; least: number; alone: Word[] }): Echo {
  const words = readWords(text).slice(0, MAX_WORDS);
  const places = new Map<string, number[]>();
  for (const [place, { word }] of words.entries()) places.set(word, [...(places.get(word) ?? []), place]);
  const letterAt: number[] = [];
  for (const [place, word] of [...words.entries()].toReversed())
    letterAt[place] = hasLetter(word) ? place : (letterAt[place + 1] ?? Infinity);
  return { ...how, words, places, letterAt, alone: new Set(how.alone.map(({ word }) => word)) };
}

function readWords(text: string): Word[] {
  const found: Word[] = [];
  for (const match of text.matchAll(/[A-Za-z0-9]+/g)) {
    const start = match.index;
    const gap = text.slice(found.at(-1)?.end ?? start, start);
    const word = match[0].toLowerCase();
    found.push({ word, start, end: start + word.length, gap, isBlankBefore: /\s/.test(gap), isCut: false });
  }
  return found;
}

/** The words of a reply; `at`: where a character of this text stood in it. */
function readReply(text: string, cuts: number[], at: (index: number) => number): Word[] {
  const words = readWords(text);
  return words.map((word, index) => {
    const [end, next] = [at(word.end), words[index + 1]];
    return { ...word, isCut: cuts.some((place) => end <= place && (next === undefined || at(next.start) >= place)) };
  });
}

/** Where the text repeats something, as it is written or with its encodings undone. */
function findSpans(text: string, echoes: Echo[], cuts: number[]): Span[] {
  const decoded = decode(text);
  const spans = spansIn(
    readReply(text, cuts, (index) => index),
    echoes,
  );
  if (decoded.text !== text) {
    const at = (index: number) => decoded.places[index] ?? text.length;
    const undone = spansIn(readReply(decoded.text, cuts, at), echoes);
    spans.push(...undone.map(({ start, end, by }) => ({ start: at(start), end: at(end), by })));
  }
  return spans.toSorted((a, b) => a.start - b.start || b.end - a.end);
}

/** Words in a row that are an echo, or so much of one that it tells; `by`: the word in their place. */
interface Run {
  length: number;
  by: string;
}

function spansIn(words: Word[], echoes: Echo[]): Span[] {
  /** The longest that begins at each word. */
  const runs: (Run | undefined)[] = [];
  for (const echo of echoes) findRuns(words, echo, runs);
  const spans: Span[] = [];
  for (let from = 0; from < words.length;) {
    const { length, by } = runs[from] ?? { length: 0, by: "" };
    const [first, last] = [words[from], words[from + length - 1]];
    if (length > 0 && first !== undefined && last !== undefined) spans.push({ start: first.start, end: last.end, by });
    from += Math.max(1, length);
  }
  return spans;
}

/**
 * From the last word to the first, so that no run is walked twice: whoever has the server answer chooses both sides.
 * Blanks of the echo may have become anything, other marks no blanks.
 */
function findRuns(words: Word[], echo: Echo, runs: (Run | undefined)[]): void {
  /** How many words in a row are the echo's from each of its places on: from the word after, and from this one. */
  let [after, lengths] = [new Uint16Array(echo.words.length + 1), new Uint16Array(echo.words.length + 1)];
  for (const [from, word] of [...words.entries()].toReversed()) {
    // The end of a code, `1` of `5.1.1`, begins nothing.
    const mayBegin = word.gap !== "." || hasLetter(word);
    const isBlank = words[from + 1]?.isBlankBefore === true;
    lengths.fill(0);
    for (const place of findPlaces(word, echo)) {
      const goesOn = !word.isCut && !(isBlank && echo.words[place + 1]?.isBlankBefore === false);
      const length = 1 + (goesOn ? (after[place + 1] ?? 0) : 0);
      lengths[place] = length;
      // Nobody knows the rest of a word that was cut off.
      const isEnough = length >= echo.least || words[from + length - 1]?.isCut === true;
      const isTelling = isEnough && (echo.letterAt[place] ?? Infinity) < place + length;
      // Its local part, or part of it, stands for the address; of the rest no rule is to think anything.
      if (mayBegin && isTelling && length > (runs[from]?.length ?? 0))
        runs[from] = { length, by: place < echo.localCount ? "@" : "it" };
    }
    if (mayBegin && echo.alone.has(word.word) && standsAlone(words, from))
      runs[from] ??= { length: 1, by: echo.localCount > 0 ? "@" : "it" };
    [after, lengths] = [lengths, after];
  }
}

function findPlaces({ word, isCut }: Word, { words, places }: Echo): number[] {
  return isCut ? [...words.keys()].filter((place) => words[place]?.word.startsWith(word)) : (places.get(word) ?? []);
}

/** No part of a longer name, and long enough to say something. */
function standsAlone(words: Word[], at: number): boolean {
  const here = words[at];
  const isPart = [here?.gap, words[at + 1]?.gap].some((gap) => gap === "-" || gap === "." || gap === "_");
  return here !== undefined && !isPart && here.word.length >= SHORTEST_ALONE && hasLetter(here);
}

function hasLetter({ word }: Word): boolean {
  return /[a-z]/.test(word);
}

/** Percent-encoding, quoted-printable, xtext (RFC 3461 §4), backslashes, and references of HTML. */
const ENCODED =
  /[%=+]([0-9a-f]{2})|\\[xu]\{?([0-9a-f]{2,6})\}?|&#x([0-9a-f]{1,6});|\\([0-7]{3})|&#(\d{1,7});|&(?:lt|gt|amp|quot|apos|nbsp);/gi;

/** Encodings undone; `places`: where each character stood, and the end. */
function decode(text: string): { text: string; places: number[] } {
  const places: number[] = [];
  let plain = "";
  let from = 0;
  const keep = (end: number) => {
    for (let at = from; at < end; at++) places.push(at);
    plain += text.slice(from, end);
  };
  for (const match of text.matchAll(ENCODED)) {
    keep(match.index);
    const [whole, two, hex, reference, octal, decimal] = match;
    const hexadecimal = two ?? hex ?? reference;
    const code =
      hexadecimal !== undefined
        ? Number.parseInt(hexadecimal, 16)
        : octal !== undefined
          ? Number.parseInt(octal, 8)
          : Number(decimal ?? 0);
    // Any other character only parts words.
    plain += code > 0x20 && code < 0x7f ? String.fromCharCode(code) : code === 0x20 || code === 0xa0 ? " " : "\ufffd";
    places.push(match.index);
    from = match.index + whole.length;
  }
  keep(text.length);
  places.push(text.length);
  return { text: plain, places };
}

function cut(text: string, spans: Span[]): string {
  let left = "";
  let from = 0;
  for (const { start, end, by } of spans) {
    if (start >= from) left += text.slice(from, start) + by;
    from = Math.max(from, end);
  }
  return left + text.slice(from);
}

/** The first code at the head of a line that is not the message's. */
function ownEnhanced(reply: Reply, spans: Span[]): string | null {
  let start = 0;
  for (const line of reply.lines) {
    const code = enhancedIn(line);
    const [from, to] = [start, start + (code?.length ?? 0)];
    if (code !== null && !spans.some((span) => span.start < to && span.end > from)) return code;
    start += line.length + 1;
  }
  return null;
}

/**
 * As the rules look at it: `spam@` in an address or `/policy/` in a link says nothing about the reason,
 * `www.spamhaus.org` does. Enhanced codes go too, they have their turn.
 */
function normalizeWords(text: string, enhanced: string | null): string {
  return text
    .replace(/[^\x20-\x7e]+/g, "")
    .toLowerCase()
    .split(/ +/)
    .filter((word) => word !== "" && word !== enhanced)
    .map((word) => (word.includes("://") ? (word.split("/")[2] ?? "") : word.includes("@") ? "address" : word))
    .join(" ");
}
