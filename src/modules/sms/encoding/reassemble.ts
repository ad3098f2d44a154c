// Joins the parts of a subscriber's message, in whatever order they come. Pure.
// Each part is stored as it comes, and with every one the stored parts of its message are looked at again. One that stays
// incomplete is made of what there is after a while, and says so.

import type { AlphabetName } from "./gsm-alphabet.ts";
import { type Dcs0Charset, decodeSeptets, decodeUcs2 } from "./encoding.ts";
import { isPlace, type Place, readHeader } from "./user-data-header.ts";

/** A deliver_sm from a subscriber, as far as it counts here. */
export interface InboundPdu {
  esmClass: number;
  dataCoding: number;
  /** The short message, or message_payload where that is empty. */
  message: Uint8Array;
  /** TLVs 0x020C, 0x020E, 0x020F where all three are there. */
  sar: Place | null;
}

/** What is stored of one PDU. */
export interface InboundPart {
  /** Null: the whole text. `scheme` keeps references of different kinds apart. */
  place: (Place & { scheme: "udh8" | "udh16" | "sar" }) | null;
  dataCoding: number;
  alphabet: AlphabetName;
  /** Without header. */
  userData: Uint8Array;
}

const HEADER = 0x40;

/** Reads a PDU. A place that cannot be (part 4 of 3, part 1 of 1) counts as none. */
export function readPart({ esmClass, dataCoding, message, sar }: InboundPdu): InboundPart {
  const header = (esmClass & HEADER) === 0 ? null : readHeader(message);
  const userData = message.subarray(header?.length ?? 0);
  const part = { dataCoding, alphabet: header?.alphabet ?? "gsm", userData } as const;
  const inHeader = header?.place ?? null;
  if (inHeader !== null && inHeader.total > 1) {
    const { bits, ...place } = inHeader;
    return { ...part, place: { ...place, scheme: bits === 8 ? "udh8" : "udh16" } };
  }
  return { ...part, place: sar !== null && isPlace(sar) && sar.total > 1 ? { ...sar, scheme: "sar" } : null };
}

/** Distinguishes the parts of one message from those of others that the same subscriber sent to the same number. */
export function textKey({ scheme, reference, total }: NonNullable<InboundPart["place"]>): string {
  return `${scheme}:${reference}:${total}`;
}

export interface InboundText {
  /** Null: in no coding that we read; the bytes are kept. */
  text: string | null;
  /** Numbers of the parts that did not come. In the text `[…]` stands for each gap. */
  missing: number[];
}

/**
 * The text of the stored parts of one `textKey`. Null: parts are missing, and `isOver` does not say yet
 * that they will not come any more. Of a part that came twice the first counts.
 */
export function reassemble(parts: readonly InboundPart[], isOver: boolean, charset: Dcs0Charset): InboundText | null {
  const bySeq = new Map<number, InboundPart>();
  for (const part of parts) if (!bySeq.has(part.place?.seq ?? 1)) bySeq.set(part.place?.seq ?? 1, part);
  const total = parts[0]?.place?.total ?? 1;
  const places = Array.from({ length: total }, (_, index) => bySeq.get(index + 1));
  const missing = places.flatMap((part, index) => (part === undefined ? [index + 1] : []));
  if (missing.length === total || (missing.length > 0 && !isOver)) return null;
  const texts = joinRuns(places).map((run) => (run === null ? "[…]" : decodeUserData(run, charset)));
  return { text: texts.includes(null) ? null : texts.join(""), missing };
}

/** Neighbours of one coding are decoded as one: phones cut surrogate pairs, and ESC from what it shifts. Null: a gap. */
function joinRuns(places: (InboundPart | undefined)[]): (InboundPart | null)[] {
  const runs: (InboundPart | null)[] = [];
  for (const part of places) {
    const last = runs.at(-1);
    if (part === undefined) {
      if (last !== null) runs.push(null);
    } else if (last?.dataCoding === part.dataCoding && last.alphabet === part.alphabet) {
      runs.splice(-1, 1, { ...part, userData: Buffer.concat([last.userData, part.userData]) });
    } else runs.push(part);
  }
  return runs;
}

/**
 * The text of user data by its data coding (SMPP 3.4 §5.2.19, and the groups of 3GPP TS 23.038 §4 that
 * SMSCs hand through). Null: binary, or a coding that we have no table for.
 */
function decodeUserData({ dataCoding, alphabet, userData }: InboundPart, charset: Dcs0Charset): string | null {
  switch (findCoding(dataCoding)) {
    case "default":
      // Octets of eight bits are no septets: the SMSC sent Latin-1, whatever the route says.
      if (charset === "gsm7" && userData.every((octet) => octet <= 0x7f)) return decodeSeptets(userData, alphabet);
      return decodeLatin1(userData);
    case "latin1":
      return decodeLatin1(userData);
    case "ucs2":
      return decodeUcs2(userData);
    case null:
      return null;
  }
}

/** ASCII is a part of it. */
function decodeLatin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

function findCoding(dataCoding: number): "default" | "latin1" | "ucs2" | null {
  if (dataCoding === 0) return "default";
  if (dataCoding === 1 || dataCoding === 3) return "latin1";
  if (dataCoding === 8) return "ucs2";
  // 00x1xxxx: bits 3 and 2 name the alphabet, beside a message class. 1111xxxx: bit 2 does.
  if (dataCoding >= 0x10 && dataCoding < 0x40)
    return (["default", null, "ucs2", null] as const)[(dataCoding >> 2) & 3] ?? null;
  if (dataCoding >= 0xf0) return (dataCoding & 4) === 0 ? "default" : null;
  return null;
}
