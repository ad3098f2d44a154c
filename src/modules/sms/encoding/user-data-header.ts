// The user data header before a text (3GPP TS 23.040 §9.2.3.24): which part it is, and its national tables. Pure.
// It is its length, then information elements, each a number, a length and that many octets. Elements that we do not write
// are stepped over.

import { alphabetNamed, type AlphabetName, findAlphabet, LOCKING_SHIFT, SINGLE_SHIFT } from "./gsm-alphabet.ts";

/** Concatenation with a reference of 8 and of 16 bits (TS 23.040 §9.2.3.24.1, §9.2.3.24.8). */
const CONCATENATED_8 = 0x00;
const CONCATENATED_16 = 0x08;

/** Which part of which text: `seq` from 1 to `total`, at most 255. */
export interface Place {
  reference: number;
  total: number;
  seq: number;
}

export interface Header {
  /** Null: the text is whole. */
  place: (Place & { bits: 8 | 16 }) | null;
  alphabet: AlphabetName;
  /** Octets of the whole header, its length included: where the text begins. */
  length: number;
}

/** The header of one part, empty when there is nothing to say. `place` null: the text is whole. */
export function writeHeader(place: (Place & { bits: 8 | 16 }) | null, alphabet: AlphabetName): Uint8Array {
  const elements = [...(place === null ? [] : concatenation(place)), ...alphabetNamed(alphabet).elements];
  return Uint8Array.from(elements.length === 0 ? [] : [elements.length, ...elements]);
}

function concatenation({ reference, total, seq, bits }: Place & { bits: 8 | 16 }): number[] {
  return bits === 8
    ? [CONCATENATED_8, 3, reference & 0xff, total, seq]
    : [CONCATENATED_16, 4, (reference >> 8) & 0xff, reference & 0xff, total, seq];
}

/**
 * Reads the header that a message announces (esm_class 0x40). Null: it is longer than the message. An
 * element that breaks its own rules is stepped over, as TS 23.040 says; of two of a kind the last counts.
 */
export function readHeader(message: Uint8Array): Header | null {
  const length = 1 + (message[0] ?? 0);
  if (message.length < length) return null;
  let place: Header["place"] = null;
  let [single, locking]: [number | null, number | null] = [null, null];
  for (let at = 1; at + 2 <= length;) {
    const [element, size = 0] = [message[at], message[at + 1]];
    const value = message.subarray(at + 2, Math.min(at + 2 + size, length));
    at += 2 + size;
    if (value.length < size) break;
    if (element === CONCATENATED_8 || element === CONCATENATED_16) place = readPlace(element, value) ?? place;
    else if (element === SINGLE_SHIFT) single = value[0] ?? single;
    else if (element === LOCKING_SHIFT) locking = value[0] ?? locking;
  }
  return { place, alphabet: findAlphabet({ single, locking }), length };
}

function readPlace(element: number, value: Uint8Array): Header["place"] {
  const bits = element === CONCATENATED_8 ? 8 : 16;
  if (value.length !== (bits === 8 ? 3 : 4)) return null;
  const [total = 0, seq = 0] = value.subarray(-2);
  const [high = 0, low = 0] = value;
  const place = { reference: bits === 8 ? high : (high << 8) | low, total, seq, bits } as const;
  return isPlace(place) ? place : null;
}

/** Part 0 and part 4 of 3 do not exist (TS 23.040 §9.2.3.24.1). */
export function isPlace({ total, seq }: Place): boolean {
  return seq >= 1 && seq <= total && total <= 255;
}
