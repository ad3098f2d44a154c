// Why an SMS was not delivered: the values of `failureCategory`, and how a mobile network's error numbers map to them. Pure.

import type { FAILURE_CATEGORIES } from "../../../platform/db/schema/sms.ts";

/** Refusals by the SMSC (status-table.ts), what the network said of the subscriber, and what is our own to say. */
export type FailureCategory = (typeof FAILURE_CATEGORIES)[number];

/** GSM errors (3GPP TS 29.002 §17.6, §17.7) by their numbers. */
const GSM_ERRORS: ReadonlyMap<number, FailureCategory> = new Map([
  ...numbered("unknown_subscriber", [1, 5]),
  ...numbered("absent_subscriber", [6, 27, 31]),
  ...numbered("handset_error", [11, 21, 22, 32, 40]),
  ...numbered("blocked", [9, 12, 13]),
  ...numbered("provider_error", [34, 35, 36, 51]),
]);

function numbered(category: FailureCategory, numbers: number[]): [number, FailureCategory][] {
  return numbers.map((number) => [number, category]);
}

/** A route's own words for errors, by the code as a receipt writes it (`069`) or without its zeros (`69`). */
export type ErrorOverrides = ReadonlyMap<string, FailureCategory>;

/** The network_error_code of a receipt or an answer (TLV 0x0423). */
export interface NetworkError {
  network: "ansi136" | "is95" | "gsm" | "reserved";
  code: number;
}

/**
 * The category of an error, or null where nothing is known of it. A route's words come first, since the
 * `err` of a receipt's text is each vendor's own; by default both it and GSM's code are read as GSM
 * numbers. 0 is no error.
 */
export function findFailureCategory(
  { err, networkError }: { err: string | null; networkError: NetworkError | null },
  overrides?: ErrorOverrides,
): FailureCategory | null {
  const codes = [networkError === null ? null : String(networkError.code), err];
  for (const code of codes) {
    const known = code === null ? undefined : (overrides?.get(code) ?? overrides?.get(withoutZeros(code)));
    if (known !== undefined) return known;
  }
  if (networkError !== null && networkError.code !== 0)
    return networkError.network === "gsm" ? (GSM_ERRORS.get(networkError.code) ?? null) : null;
  return err !== null && /^\d{1,9}$/.test(err) ? (GSM_ERRORS.get(Number(err)) ?? null) : null;
}

/** 3GPP TS 29.002: unknownSubscriber. 5, unidentifiedSubscriber, leaves open whether the number is anybody's. */
const UNKNOWN_SUBSCRIBER = 1;

/**
 * Whether a receipt says that the number is no subscriber's: by the network's own error (TLV 0x0423), or by a word that the
 * route has for its vendor's. `err` by itself is not believed: 001 is "absent" with one vendor and "unknown" with another.
 */
export function isUnknownSubscriber(
  receipt: { err: string | null; networkError: NetworkError | null },
  overrides: ErrorOverrides = new Map(),
): boolean {
  if (findFailureCategory(receipt, overrides) !== "unknown_subscriber") return false;
  const { networkError, err } = receipt;
  if (networkError?.network === "gsm" && networkError.code === UNKNOWN_SUBSCRIBER) return true;
  const codes = [networkError === null ? null : String(networkError.code), err];
  return codes.some((code) => code !== null && (overrides.has(code) || overrides.has(withoutZeros(code))));
}

function withoutZeros(code: string): string {
  return code.replace(/^0+(?=.)/, "");
}

/** As `providerErrorCode` shows it: `gsm:27`. */
export function networkErrorText({ network, code }: NetworkError): string {
  return `${network}:${code}`;
}

/** SMPP 3.4 §5.3.2.31: one octet that names the network, two of code. Null: of another length. */
export function readNetworkError(bytes: Uint8Array): NetworkError | null {
  if (bytes.length !== 3) return null;
  const [type = 0, high = 0, low = 0] = bytes;
  const network = ([null, "ansi136", "is95", "gsm"] as const)[type] ?? "reserved";
  return { network, code: (high << 8) | low };
}
