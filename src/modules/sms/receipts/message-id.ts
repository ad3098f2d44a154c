// An SMSC's message ids in responses and receipts, which may differ in case, leading zeros and base. Pure.
// A segment's row keeps the key of the response's id; a receipt's id is looked for under each key that it may stand for.

/** How a receipt's id was changed to become the key: what an operator's link turns out to do is learned and tried first. */
export type Conversion = "same" | "hex_to_decimal" | "decimal_to_hex";

export interface CandidateKey {
  key: string;
  conversion: Conversion;
}

/** SMPP 3.4 §4.4.2: a message_id has at most 65 octets, its NUL among them; a longer one is cut. */
export const MAX_ID = 65;
/** Digits that are converted: no SMSC counts further, and an id of letters and digits is no number. */
const MAX_DIGITS = 20;

/** The key under which the id of an answer is kept: lower case, without leading zeros. Null: the SMSC gave no id. */
export function idKey(id: string): string | null {
  const key = id.trim().slice(0, MAX_ID).toLowerCase();
  return key === "" ? null : key.replace(/^0+(?=.)/, "");
}

/** The keys under which a receipt's id may be kept, the likeliest first, each once. */
export function candidateKeys(id: string): CandidateKey[] {
  const same = idKey(id);
  if (same === null) return [];
  const candidates: CandidateKey[] = [{ key: same, conversion: "same" }];
  const digits = same.replace(/^0?x/, "");
  if (digits.length <= MAX_DIGITS) {
    if (/^[0-9a-f]+$/.test(digits))
      candidates.push({ key: String(BigInt(`0x${digits}`)), conversion: "hex_to_decimal" });
    if (/^\d+$/.test(same)) candidates.push({ key: BigInt(same).toString(16), conversion: "decimal_to_hex" });
  }
  return candidates.filter(({ key }, index) => candidates.findIndex((other) => other.key === key) === index);
}
