// The alphabets of seven bits: GSM 03.38 with its extension table, and with the Portuguese national tables. Pure.
// 3GPP TS 23.038 §6.2.1, §6.2.1.1, A.2.3, A.3.3. A character is one septet, or two where it stands in an extension table: ESC
// (1B) and its place there. A text in national tables says so in its header; without that a phone shows other letters.

export const ALPHABETS = ["gsm", "pt-single", "pt-locking", "pt-both"] as const;

/** `gsm`: no national table. `pt-single`: Portuguese after ESC. `pt-locking`: Portuguese in place of the basic table. */
export type AlphabetName = (typeof ALPHABETS)[number];

export interface Alphabet {
  name: AlphabetName;
  /** The header's information elements that say so, empty for `gsm` (TS 23.040 §9.2.3.24.15, §9.2.3.24.16). */
  elements: readonly number[];
  /** By character: its septet, or 1B00 and its septet after ESC. */
  codes: ReadonlyMap<string, number>;
  /** 128 characters by septet. At 1B stands ESC itself. */
  basic: readonly string[];
  /** By septet after ESC. */
  extension: ReadonlyMap<number, string>;
}

export const ESC = 0x1b;

/** TS 23.038 §6.2.1.2.4: the language identifier of Portuguese. */
const PORTUGUESE = 3;
/** Information elements: national language single shift, locking shift. */
export const SINGLE_SHIFT = 0x24;
export const LOCKING_SHIFT = 0x25;

/** TS 23.038 §6.2.1, eight rows of sixteen. */
const GSM_BASIC = [
  ..."@£$¥èéùìòÇ\nØø\rÅå",
  ..."Δ_ΦΓΛΩΠΨΣΘΞ\u001bÆæßÉ",
  ..." !\"#¤%&'()*+,-./",
  ..."0123456789:;<=>?",
  ..."¡ABCDEFGHIJKLMNO",
  ..."PQRSTUVWXYZÄÖÑÜ§",
  ..."¿abcdefghijklmno",
  ..."pqrstuvwxyzäöñüà",
];

/** TS 23.038 A.3.3. */
const PORTUGUESE_LOCKING = [
  ..."@£$¥êéúíóç\nÔô\rÁá",
  ..."Δ_ªÇÀ∞^\\€Ó|\u001bÂâÊÉ",
  ..." !\"#º%&'()*+,-./",
  ..."0123456789:;<=>?",
  ..."ÍABCDEFGHIJKLMNO",
  ..."PQRSTUVWXYZÃÕÚÜ§",
  ..."~abcdefghijklmno",
  ..."pqrstuvwxyzãõ`üà",
];

/** TS 23.038 §6.2.1.1. The national tables hold all of it at the same places. */
const GSM_EXTENSION: readonly (readonly [number, string])[] = [
  [0x0a, "\f"],
  [0x14, "^"],
  [0x28, "{"],
  [0x29, "}"],
  [0x2f, "\\"],
  [0x3c, "["],
  [0x3d, "~"],
  [0x3e, "]"],
  [0x40, "|"],
  [0x65, "€"],
];

/** TS 23.038 A.2.3. */
const PORTUGUESE_SINGLE: readonly (readonly [number, string])[] = [
  ...GSM_EXTENSION,
  [0x05, "ê"],
  [0x09, "ç"],
  [0x0b, "Ô"],
  [0x0c, "ô"],
  [0x0e, "Á"],
  [0x0f, "á"],
  [0x12, "Φ"],
  [0x13, "Γ"],
  [0x15, "Ω"],
  [0x16, "Π"],
  [0x17, "Ψ"],
  [0x18, "Σ"],
  [0x19, "Θ"],
  [0x1f, "Ê"],
  [0x41, "À"],
  [0x49, "Í"],
  [0x4f, "Ó"],
  [0x55, "Ú"],
  [0x5b, "Ã"],
  [0x5c, "Õ"],
  [0x61, "Â"],
  [0x69, "í"],
  [0x6f, "ó"],
  [0x75, "ú"],
  [0x7b, "ã"],
  [0x7c, "õ"],
  [0x7f, "â"],
];

function alphabet(
  name: AlphabetName,
  basic: readonly string[],
  extension: readonly (readonly [number, string])[],
  elements: readonly number[],
): Alphabet {
  const codes = new Map<string, number>();
  for (const [septet, character] of extension) codes.set(character, (ESC << 8) | septet);
  // After the extension: what is in both takes one septet.
  for (const [septet, character] of basic.entries()) if (septet !== ESC) codes.set(character, septet);
  return { name, elements, codes, basic, extension: new Map(extension) };
}

const SINGLE = [SINGLE_SHIFT, 1, PORTUGUESE];
const LOCKING = [LOCKING_SHIFT, 1, PORTUGUESE];

const BY_NAME: Record<AlphabetName, Alphabet> = {
  gsm: alphabet("gsm", GSM_BASIC, GSM_EXTENSION, []),
  "pt-single": alphabet("pt-single", GSM_BASIC, PORTUGUESE_SINGLE, SINGLE),
  "pt-locking": alphabet("pt-locking", PORTUGUESE_LOCKING, GSM_EXTENSION, LOCKING),
  "pt-both": alphabet("pt-both", PORTUGUESE_LOCKING, PORTUGUESE_SINGLE, [...SINGLE, ...LOCKING]),
};

export function alphabetNamed(name: AlphabetName): Alphabet {
  return BY_NAME[name];
}

/** The alphabet that a header names by its language identifiers; null: there is no such element. Languages that we have no table for count as none. */
export function findAlphabet(languages: { single: number | null; locking: number | null }): AlphabetName {
  const [isSingle, isLocking] = [languages.single === PORTUGUESE, languages.locking === PORTUGUESE];
  if (isSingle && isLocking) return "pt-both";
  if (isLocking) return "pt-locking";
  return isSingle ? "pt-single" : "gsm";
}
