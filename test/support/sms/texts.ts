// Random texts of the kinds that customers send, from a seeded chance.

import { alphabetNamed, type AlphabetName } from "../../../src/modules/sms/encoding/gsm-alphabet.ts";
import { type Coding, decodeSeptets, decodeUcs2 } from "../../../src/modules/sms/encoding/encoding.ts";
import type { SplitText } from "../../../src/modules/sms/encoding/segment.ts";

export const PLAIN: Coding = { segmentation: "udh8", shiftTables: "off", defaultCharset: "gsm7" };

const characters = (name: AlphabetName) => [...alphabetNamed(name).codes.keys()].filter((each) => each !== "\f");

/** Sequences that are one sign to a reader among them, and pieces that make some by chance. */
const EMOJI = [..."😀😂🎉📦🚚💳🔥🏠👍🏽🏿", "👍🏽", "👨‍👩‍👧‍👦", "🇲🇿", "❤️", "👩‍💻", "☎️"];
const PORTUGUESE = [..."a sua encomenda está pronta; não há débito. Código ção é à ü Ú ª º “ ” … – €"];
/** No Indic conjuncts: the calculator knows Unicode 10, which did not keep them whole. */
const BEYOND = [..."áãçêíóôõúмосква你好世界مرحبا\u00a0—•ﬁ", "e\u0323", "a\u0303", "o\u0302", "c\u0327"];

const KINDS: readonly (readonly string[])[] = [
  characters("gsm"),
  [..."€[]{}\\~^|", "a", " "],
  [...BEYOND, ..."abc €[]"],
  [...EMOJI, ..."abc "],
  PORTUGUESE,
  characters("pt-both"),
  [...characters("gsm"), ...BEYOND, ...EMOJI, "\r\n"],
];

/** A text of `length` pieces of one kind, or mostly plain ones with one of a kind among them. */
export function randomText(chance: () => number, length: number): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)] as T;
  const kind = pick(KINDS);
  const isRare = chance() < 0.3;
  const pieces = Array.from({ length }, () => pick(isRare ? (KINDS[0] as readonly string[]) : kind));
  if (isRare && length > 0) pieces[Math.floor(chance() * length)] = pick(kind);
  return pieces.join("");
}

/** Lengths near the limits as often as others. */
export function randomLength(chance: () => number): number {
  const near = [0, 1, 66, 67, 70, 71, 80, 134, 135, 153, 155, 160, 161, 201, 306, 307];
  if (chance() < 0.5) return near[Math.floor(chance() * near.length)] as number;
  return Math.floor(chance() ** 2 * 1_600);
}

/** What the configuration may have. */
export const METHODS = ["udh8", "udh16", "sar", "payload"] as const;
export const SHIFT_TABLES = ["off", "pt-single", "pt-locking"] as const;

/** The text of all parts. */
export function joinParts({ encoding, alphabet, parts }: Pick<SplitText, "encoding" | "alphabet" | "parts">): string {
  const bytes = Buffer.concat(parts);
  return encoding === "gsm7" ? decodeSeptets(bytes, alphabet) : (decodeUcs2(bytes) ?? "");
}
