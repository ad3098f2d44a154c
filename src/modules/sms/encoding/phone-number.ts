// Phone numbers as SMSCs and people write them. Pure.

import {
  buildPatternSource,
  canBothBegin,
  DEFAULT_SMS_PREFIXES,
  findDigitRange,
  MOZAMBIQUE,
} from "../../../config/number-prefix.ts";

/** National numbers of Mozambique, landlines included. */
const MOZAMBICAN_NATIONAL_DIGITS = 9;
const LONGEST_COUNTRY_CODE = 3;
/** Two ways of writing a number have at least so many digits in common; our own short codes have fewer. */
const COMMON_DIGITS = 7;
/** Digits of an example whose prefix leaves the length open. */
const EXAMPLE_DIGITS = 12;
/** Prefixes that a hint names. */
const MAX_NAMED = 10;

/** The last digits, equal in all forms of one number: an index for isSameNumber(). Null: it has no digits. */
export function numberKey(address: string): string | null {
  const digits = significantDigits(address).slice(-COMMON_DIGITS);
  return digits === "" ? null : digits;
}

/** Whether both are one number, with or without country code, `+`, `00` or the 0 before a national number. */
export function isSameNumber(a: string, b: string): boolean {
  const [short = "", long = ""] = [a, b].map(significantDigits).toSorted((x, y) => x.length - y.length);
  if (short.length < COMMON_DIGITS) return short !== "" && short === long;
  return long.endsWith(short);
}

/** No country code begins with 0. */
function significantDigits(address: string): string {
  return address.replace(/\D/g, "").replace(/^0+/, "");
}

/** The numbers that can be texted, by `[sms] prefixes` (src/config/number-prefix.ts). */
export class NumberingPlan {
  readonly #patterns: { text: string; numbers: RegExp; head: string }[];
  readonly #isMozambican: boolean;
  /** The source of a regular expression for all of them, in E.164. */
  readonly source: string;
  /** One of them, in E.164. */
  readonly example: string;

  constructor(prefixes: readonly string[]) {
    this.#patterns = prefixes.map((text) => {
      return { text, numbers: new RegExp(`^${buildPatternSource(text)}$`), head: text.replace(/x+$/, "") };
    });
    this.#isMozambican = prefixes.every((prefix) => prefix.startsWith(MOZAMBIQUE));
    this.source = buildSource(prefixes);
    this.example = buildExample(prefixes);
  }

  /** Whether a number in E.164 can be texted. */
  allows(number: string): boolean {
    return number.startsWith("+") && this.#isAllowed(number.slice(1));
  }

  /**
   * A subscriber's number in E.164, from an address as SMSCs write it. One without country code gets that of the prefix
   * it fits, if its length is known. An address that is no number, or fits two countries, is returned unchanged.
   */
  toE164(address: string): string {
    if (!/^\+?\d+$/.test(address)) return address;
    const digits = address.replace(/^\+/, "").replace(/^00/, "");
    if (this.#isMozambican && digits.length === MOZAMBICAN_NATIONAL_DIGITS) return `+${MOZAMBIQUE}${digits}`;
    const isInternational = digits !== address || this.#isAllowed(digits);
    const [first, second] = isInternational ? [] : this.#complete(digits.replace(/^0/, ""));
    if (second !== undefined) return address;
    return `+${first ?? digits}`;
  }

  /** In words, for an error: "must be …". */
  get expected(): string {
    if (this.#isMozambican)
      return `a Mozambican mobile number in E.164: + and the country code, then only digits, like ${this.example}`;
    return `a mobile number in E.164 that begins with ${this.#named}, like ${this.example}`;
  }

  /** The prefixes: `+3519, +5511`. */
  get #named(): string {
    const named = this.#patterns.slice(0, MAX_NAMED).map(({ head }) => `+${head}`);
    const each = [...new Set(named)].join(", ");
    return `${each}${this.#patterns.length > MAX_NAMED ? ", …" : ""}${each.includes("x") ? " (x: any digit)" : ""}`;
  }

  /** A hint for a number that is not allowed: the mistake, and the right form if only one fits. Null: it is no number. */
  advise(value: string): string | null {
    if (/^ \d+$/.test(value)) return "In a query a plus is written %2B.";
    if (!/^\+?[\d\s().\-\u2010-\u2015/]*$/.test(value) || !/\d/.test(value)) return null;
    const digits = value.replace(/\D/g, "").replace(/^00/, "");
    const [meant, other] = this.#isAllowed(digits) ? [digits] : this.#complete(digits.replace(/^0/, ""));
    const instead = meant === undefined || other !== undefined ? "" : `: +${meant}`;
    if (/\D/.test(value.slice(1))) return `Write it without spaces and other signs between the digits${instead}.`;
    if (!value.startsWith("+")) return `Write + and the country code at its beginning${instead}.`;
    const begun = this.#patterns.filter(({ head }) => digits.length >= head.length && canBothBegin(digits, head));
    if (begun.length > 0) {
      const lengths = begun.map(({ text }) => findDigitRange(text));
      const said = lengths.map(({ min, max }) => (min === max ? `${min}` : `${min} to ${max}`));
      return `It has ${digits.length} digits behind the +; such a number has ${[...new Set(said)].join(" or ")}.`;
    }
    return (
      `This instance sends no SMS to numbers that begin so; it sends to ${this.#named}. The operator sets them ` +
      "with [sms] prefixes (in the sandbox: pombo dev --prefixes)."
    );
  }

  #isAllowed(digits: string): boolean {
    return this.#patterns.some(({ numbers }) => numbers.test(digits));
  }

  /** The numbers that can be texted whose national part this is, each once, without +. */
  #complete(national: string): string[] {
    const found = this.#patterns.flatMap(({ text, numbers }) => {
      const { min, max } = findDigitRange(text);
      const code = text.slice(0, Math.max(0, max - national.length));
      const isCode = min === max && code.length <= LONGEST_COUNTRY_CODE && /^\d+$/.test(code);
      return isCode && numbers.test(code + national) ? [code + national] : [];
    });
    return [...new Set(found)];
  }
}

function buildSource(prefixes: readonly string[]): string {
  const isDefault =
    prefixes.length === DEFAULT_SMS_PREFIXES.length &&
    DEFAULT_SMS_PREFIXES.every((prefix) => prefixes.includes(prefix));
  // The interface's own rule, for the interface's own prefixes.
  if (isDefault) return String.raw`^\+2588[2-7]\d{7}$`;
  return String.raw`^\+(?:${prefixes.map(buildPatternSource).join("|")})$`;
}

function buildExample(prefixes: readonly string[]): string {
  const prefix = prefixes.includes("25884") ? "25884" : (prefixes[0] ?? "");
  const { min, max } = findDigitRange(prefix);
  const length = Math.min(max, Math.max(min, EXAMPLE_DIGITS));
  const filled = [...prefix.padEnd(length, "x")];
  const from = filled.indexOf("x");
  return `+${filled.map((digit, at) => (digit === "x" ? (at - from + 1) % 10 : digit)).join("")}`;
}
