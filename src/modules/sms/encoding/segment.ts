// Splits a text into the parts that phones join again, and gives each part its wire form. Pure.
// A segment carries 140 octets, less its header: 160 septets or 70 units of UTF-16 by itself; beside a reference of 8 bits 153
// or 67, of 16 bits 152 or 66; with national tables less again. Nothing is ever left out. Cuts fall between characters:
// never inside a surrogate pair or behind an ESC, and not inside what is one letter or emoji to a reader, unless that
// is longer than a part by itself.

import { alphabetNamed, type AlphabetName, ESC } from "./gsm-alphabet.ts";
import {
  type Coding,
  type Dcs0Charset,
  decodeSeptets,
  type EncodedText,
  encodeCharset,
  encodeText,
  encodeUcs2,
  type Encoding,
  type Method,
} from "./encoding.ts";
import { type Place, writeHeader } from "./user-data-header.ts";

/** Octets of user data in one SMS, header included (TS 23.040 §9.2.3.24). */
const SEGMENT_OCTETS = 140;
/** What a header can number. A body of 1,600 code points stays far below it. */
const MAX_SEGMENTS = 255;

/** A text as it is stored: split once, sent and sent again from these bytes. */
export interface SplitText {
  encoding: Encoding;
  alphabet: AlphabetName;
  /** User data without header, in order: a septet an octet, or UTF-16BE. */
  parts: Uint8Array[];
  /** Septets, or units of UTF-16, of all parts. */
  unitsUsed: number;
  /** How many more the last part could take. */
  unitsLeft: number;
}

/** Splits a text in its normal form. Throws RangeError as encodeText does, and over 255 segments. */
export function splitText(text: string, coding: Coding): SplitText {
  return splitEncoded(text, encodeText(text, coding), coding.segmentation);
}

/** The same as UTF-16, whatever characters it has: for an SMSC that refuses the other coding. */
export function splitAsUcs2(text: string, method: Method): SplitText {
  return splitEncoded(text, { encoding: "ucs2", alphabet: "gsm", bytes: encodeUcs2(text) }, method);
}

function splitEncoded(text: string, { encoding, alphabet, bytes }: EncodedText, method: Method): SplitText {
  const octetsPerUnit = encoding === "gsm7" ? 1 : 2;
  const unitsUsed = bytes.length / octetsPerUnit;
  const { single, part } = capacities(encoding, alphabet, method);
  const whole = { encoding, alphabet, unitsUsed };
  if (unitsUsed <= single) return { ...whole, parts: [bytes], unitsLeft: single - unitsUsed };
  const cut = encoding === "gsm7" ? cutSeptets(bytes, part) : cutUnits(text, part);
  if (cut.length > MAX_SEGMENTS) throw new RangeError(`a text of ${cut.length} segments cannot be numbered`);
  const starts = [0, ...cut.slice(0, -1)];
  const parts = starts.map((start, index) => bytes.slice(start * octetsPerUnit, (cut[index] ?? 0) * octetsPerUnit));
  return { ...whole, parts, unitsLeft: part - (unitsUsed - (starts.at(-1) ?? 0)) };
}

/** How many units fit into a segment that is alone, and into one of several. */
export function capacities(
  encoding: Encoding,
  alphabet: AlphabetName,
  method: Method,
): { single: number; part: number } {
  const tables = alphabetNamed(alphabet).elements.length;
  // SAR and payload are split like the header of 8 bits, so that a route may stand in for another.
  const concatenation = method === "udh16" ? 6 : 5;
  return { single: unitsBeside(tables, encoding), part: unitsBeside(tables + concatenation, encoding) };
}

/** Units beside so many octets of information elements: septets begin at a multiple of seven bits (TS 23.040 §9.2.3.24). */
function unitsBeside(elementOctets: number, encoding: Encoding): number {
  const octets = SEGMENT_OCTETS - (elementOctets === 0 ? 0 : 1 + elementOctets);
  return encoding === "gsm7" ? Math.floor((octets * 8) / 7) : Math.floor(octets / 2);
}

/** Where each part ends, in septets. */
function cutSeptets(septets: Uint8Array, capacity: number): number[] {
  const ends: number[] = [];
  for (let start = 0; start < septets.length; start = ends.at(-1) ?? septets.length) {
    const end = Math.min(start + capacity, septets.length);
    ends.push(end < septets.length && isInsidePair(septets, start, end) ? end - 1 : end);
  }
  return ends;
}

/** Whether a cut before `end` leaves an ESC behind that begins a pair: of several in a row every other one does. */
function isInsidePair(septets: Uint8Array, start: number, end: number): boolean {
  let run = 0;
  while (end - run > start && septets[end - run - 1] === ESC) run += 1;
  return run % 2 === 1;
}

/** Made for the first text that needs it: it takes a millisecond. */
let segmenter: Intl.Segmenter | null = null;

/** Where each part ends, in units of UTF-16. */
function cutUnits(text: string, capacity: number): number[] {
  segmenter ??= new Intl.Segmenter("und", { granularity: "grapheme" });
  const clusters = segmenter.segment(text);
  const ends: number[] = [];
  for (let start = 0; start < text.length; start = ends.at(-1) ?? text.length) {
    const end = start + capacity;
    ends.push(end >= text.length ? text.length : cutBefore(text, { start, end, cluster: clusters.containing(end) }));
  }
  return ends;
}

/** The last place up to `end` where a part may end, or `end` itself where that would leave it empty. */
function cutBefore(text: string, near: { start: number; end: number; cluster: Intl.SegmentData | undefined }): number {
  const { start, end, cluster } = near;
  const cut = cluster === undefined ? end : cluster.index + looseEnd(cluster.segment, end - cluster.index);
  if (cut > start) return cut;
  return isLowSurrogate(text.charCodeAt(end)) ? end - 1 : end;
}

/**
 * How much of a cluster may stay before a cut at `offset` (units). Clusters of two signs are CR and LF,
 * and a skin tone behind what has none, which phones show as a sign of its own.
 */
function looseEnd(cluster: string, offset: number): number {
  let [at, loose, before] = [0, 0, ""];
  for (const character of cluster) {
    const isTone = /\p{Emoji_Modifier}/u.test(character) && !/\p{Emoji_Modifier_Base}/u.test(before);
    if (at > 0 && at <= offset && (isTone || character === "\n")) loose = at;
    if (!/[\p{M}\u200d]/u.test(character)) before = character;
    at += character.length;
  }
  return loose;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** How parts are put on the wire of one route. */
export interface WireForm extends Pick<Coding, "segmentation" | "defaultCharset"> {
  /** Of this text to this destination: 8 bits are taken of it, or 16 for `udh16` and `sar`. */
  reference: number;
}

export interface Submission {
  /** The part it begins with, from 1, and how many parts it carries: all of them with `payload`, else one. */
  seq: number;
  partCount: number;
  /** SMPP 3.4 §5.2.19: 0 the SMSC's default alphabet, 8 UCS-2. */
  dataCoding: 0 | 8;
  /** esm_class 0x40: the message begins with a header. */
  hasHeader: boolean;
  /** Header and text; empty where `messagePayload` has it. */
  shortMessage: Uint8Array;
  /** TLV 0x0424. */
  messagePayload: Uint8Array | null;
  /** TLVs 0x020C, 0x020E, 0x020F. */
  sar: Place | null;
}

/** The wire forms of a text's parts, in order. Throws RangeError where the route's charset lacks a character. */
export function toSubmissions(split: Pick<SplitText, "encoding" | "alphabet" | "parts">, wire: WireForm): Submission[] {
  const { encoding, alphabet } = split;
  const total = split.parts.length;
  const dataCoding = encoding === "gsm7" ? 0 : 8;
  const written = (part: Uint8Array) => translate(part, split, wire.defaultCharset);
  if (total > 1 && wire.segmentation === "payload") {
    const messagePayload = written(Buffer.concat(split.parts));
    const none = { hasHeader: false, shortMessage: new Uint8Array(), sar: null };
    return [{ seq: 1, partCount: total, dataCoding, messagePayload, ...none }];
  }
  return split.parts.map((part, index) => {
    const seq = index + 1;
    const place = total === 1 ? null : { reference: wire.reference, total, seq };
    const isSar = wire.segmentation === "sar";
    const bits = wire.segmentation === "udh16" ? 16 : 8;
    const header = writeHeader(place === null || isSar ? null : { ...place, bits }, alphabet);
    return {
      seq,
      partCount: 1,
      dataCoding,
      hasHeader: header.length > 0,
      shortMessage: new Uint8Array(Buffer.concat([header, written(part)])),
      messagePayload: null,
      sar: isSar && place !== null ? { ...place, reference: place.reference & 0xffff } : null,
    };
  });
}

function translate(
  bytes: Uint8Array,
  { encoding, alphabet }: Pick<SplitText, "encoding" | "alphabet">,
  charset: Dcs0Charset,
): Uint8Array {
  if (encoding === "ucs2" || charset === "gsm7") return bytes;
  return encodeCharset(decodeSeptets(bytes, alphabet), charset);
}
