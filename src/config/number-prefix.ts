// The entries of `[sms] prefixes`: the first digits of numbers, with x for any digit. Pure.
// Without x a number may have any length that E.164 allows; those of Mozambique have 12 digits.

/** Mobile numbers of Mozambique: +258 8, a digit from 2 to 7, and seven digits. */
export const DEFAULT_SMS_PREFIXES = ["25882", "25883", "25884", "25885", "25886", "25887"];
/** Digits after the + (E.164); no mobile number is shorter. */
const SHORTEST = 8;
const LONGEST = 15;
export const MOZAMBIQUE = "258";
const MOZAMBICAN_DIGITS = 12;

/** Reads `+25884`; the result has no +. Null: it is no prefix. */
export function parsePrefix(text: string): string | null {
  return text.includes("x") ? null : parsePattern(text);
}

/** Reads `+3519`, or `+3519xxxxxxxx` with an x for each further digit; the result has no +. Null: it is neither. */
export function parsePattern(text: string): string | null {
  const isMozambican = /^\+?258/.test(text);
  // Without + the first digits of another country's numbers look like those of national numbers.
  const [, pattern] = (isMozambican ? /^\+?(2588[\dx]*)$/ : /^\+([1-9][\dx]*)$/).exec(text) ?? [];
  if (pattern === undefined) return null;
  const [shortest, longest] = isMozambican ? [MOZAMBICAN_DIGITS, MOZAMBICAN_DIGITS] : [SHORTEST, LONGEST];
  if (pattern.length > longest || (pattern.includes("x") && pattern.length < shortest)) return null;
  return pattern;
}

/** The number of digits, country code included, of the numbers that match. */
export function findDigitRange(pattern: string): { min: number; max: number } {
  if (pattern.startsWith(MOZAMBIQUE)) return { min: MOZAMBICAN_DIGITS, max: MOZAMBICAN_DIGITS };
  if (pattern.includes("x")) return { min: pattern.length, max: pattern.length };
  return { min: Math.max(SHORTEST, pattern.length), max: LONGEST };
}

/** The source of a regular expression for the numbers that match, without +. */
export function buildPatternSource(pattern: string): string {
  const { min, max } = findDigitRange(pattern);
  const [fewest, most] = [min - pattern.length, max - pattern.length];
  const rest = pattern.includes("x") ? "" : String.raw`\d{${fewest === most ? most : `${fewest},${most}`}}`;
  return pattern.replace(/x+/g, (run) => String.raw`\d{${run.length}}`) + rest;
}

/** Whether a number can begin with both. */
export function canBothBegin(a: string, b: string): boolean {
  return [...a].slice(0, b.length).every((digit, at) => digit === b[at] || digit === "x" || b[at] === "x");
}

/** Whether each number of `narrow` is one of `wide` too. */
export function isCovered(narrow: string, wide: string): boolean {
  const [inner, outer] = [findDigitRange(narrow), findDigitRange(wide)];
  const isLengthCovered = inner.min >= outer.min && inner.max <= outer.max;
  return isLengthCovered && [...wide].every((digit, at) => digit === "x" || digit === narrow[at]);
}
