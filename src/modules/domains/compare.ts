/**
 * Compares the TXT records in DNS with the one to publish. Tolerant where verifiers are (order, white space, left-out
 * defaults), strict where they are (the key itself, quotation marks, two records at one name); each fault comes with what
 * to do about it. Pure.
 */
import { colonList, parseTags } from "../../protocols/dkim/signature.ts";

/** What usually goes wrong. */
export const MISTAKES = [
  "zone_doubled",
  "quotes",
  "cut",
  "split",
  "proxied",
  "wrong_level",
  "several",
  "other_value",
] as const;

export type Mistake = (typeof MISTAKES)[number];

/** `hint` says what to do; with `found` it is advice. */
export interface Comparison {
  status: "found" | "missing" | "mismatch";
  mistake?: Mistake;
  hint?: string;
}

/** A cut-off key is only recognisable when this much of it is there. */
const CUT_KEY_LENGTH = 40;

const DIFFERENT_KEY = "The record holds another key: replace its value with the one shown.";
const NO_KEY_RECORD = "The record is not a DKIM key: publish exactly the value shown.";

/** `found` are all TXT records at the key's name, at least one. */
export function compareDkim(expected: string, found: string[]): Comparison {
  const comparisons = found.map((value) => compareKey(expected, value));
  const fault = comparisons.find((comparison) => comparison.status !== "found");
  const match = comparisons.find((comparison) => comparison.status === "found");
  if (!fault) return match ?? { status: "missing" };
  // RFC 6376 §3.6.2.2: with two records at one name the result is undefined, so a verifier may
  // take the wrong one and the mail fails there.
  if (match)
    return mismatch(
      "There is more than one TXT record at this name: keep the one shown and remove the others.",
      "several",
    );
  if (found.length > 1 && isSplit(expected, found))
    return mismatch(
      "The value is spread over several records: publish it as one record, of several strings of at most 255 characters.",
      "split",
    );
  const keys = comparisons.filter((comparison) => comparison.hint !== NO_KEY_RECORD);
  return keys[0] ?? fault;
}

/** Whether the records are the pieces of one value, as when somebody publishes each of its strings by itself. */
function isSplit(expected: string, found: string[]): boolean {
  const strip = (value: string) => value.replaceAll(/[\s"\\]/g, "");
  const pieces = new Set(found.map(strip).filter((piece) => piece !== ""));
  let rest = strip(expected);
  while (rest !== "") {
    const next = [...pieces].find((piece) => rest.startsWith(piece));
    if (next === undefined) return false;
    pieces.delete(next);
    rest = rest.slice(next.length);
  }
  return true;
}

function compareKey(expected: string, value: string): Comparison {
  const escape = escapeFault(value);
  if (escape !== null) return mismatch(escape, "quotes");
  const wanted = readTags(expected);
  const tags = readTags(value);
  const key = tags?.get("p")?.replace(/\s/g, "");
  if (!wanted || !tags || key === undefined) return mismatch(NO_KEY_RECORD);
  if (tags.has("v") && tags.get("v")?.toUpperCase() !== "DKIM1") return mismatch(NO_KEY_RECORD);
  // RFC 6376 §3.6.1: an empty p= is how a key is withdrawn.
  if (key === "") return mismatch("The key is marked as revoked (empty p=): replace the value with the one shown.");
  const wantedKey = wanted.get("p")?.replace(/\s/g, "") ?? "";
  if (key !== wantedKey) {
    const isCut = key.length >= CUT_KEY_LENGTH && wantedKey.startsWith(key);
    if (!isCut) return mismatch(DIFFERENT_KEY);
    return mismatch(
      "The key is cut off: publish the whole value, as several strings of at most 255 characters.",
      "cut",
    );
  }
  return compareSettings(value, tags, readKeyType(wanted));
}

/** The key is ours; the other tags may still forbid its use (RFC 6376 §3.6.1). */
function compareSettings(value: string, tags: Map<string, string>, wantedKind: string): Comparison {
  if (readKeyType(tags) !== wantedKind)
    return mismatch(`The record says k=${readKeyType(tags)} instead of k=${wantedKind}: publish the value shown.`);
  const hashes = tags.get("h")?.toLowerCase();
  if (hashes !== undefined && !colonList(hashes).includes("sha256")) {
    return mismatch("The record forbids SHA-256 (h=): remove the h= part.");
  }
  const services = colonList(tags.get("s")?.toLowerCase() ?? "*");
  if (!services.includes("*") && !services.includes("email")) {
    return mismatch("The record does not allow the key for email (s=): remove the s= part.");
  }
  // Strict verifiers stumble over these although most do not.
  const first = /^\s*([^=;\s]*)/.exec(value)?.[1] ?? "";
  if (tags.has("v") && first !== "v")
    return {
      status: "found",
      hint: "Some verifiers want v=DKIM1 in front, in lower case: publish exactly the value shown.",
    };
  if (/(^|;)\s*[A-Z]+\s*=/.test(value) || (tags.get("v") ?? "DKIM1") !== "DKIM1") {
    return {
      status: "found",
      hint: "Some verifiers tell upper case from lower case: publish exactly the value shown.",
    };
  }
  if (colonList(tags.get("t")?.toLowerCase() ?? "").includes("y")) {
    return {
      status: "found",
      hint: "t=y says that this domain only tests DKIM, and receivers may then ignore it: remove it.",
    };
  }
  return { status: "found" };
}

function readKeyType(tags: Map<string, string>): string {
  return (tags.get("k") ?? "rsa").toLowerCase();
}

/** By lower-case name; null when malformed or a name comes twice. */
function readTags(value: string): Map<string, string> | null {
  const tags = parseTags(value);
  if (!tags) return null;
  const lower = new Map([...tags].map(([name, text]) => [name.toLowerCase(), text]));
  return lower.size === tags.size ? lower : null;
}

/** Quoting that a zone file needs becomes part of the value in a web form. */
function escapeFault(value: string): string | null {
  if (/["“”]/.test(value)) return "The value contains quotation marks: remove them.";
  if (value.includes("\\")) return "The value contains backslashes: remove them.";
  return null;
}

const POLICIES = ["none", "quarantine", "reject"];

/** Any valid policy will do: the owner may well want a stricter one than ours. */
export function compareDmarc(found: string[]): Comparison {
  // RFC 7489 §6.6.3: records that do not start with the version are not counted.
  const policies = found.filter((value) => /^\s*v\s*=\s*DMARC1\s*(;|$)/.test(value));
  const [policy] = policies;
  if (policy === undefined) {
    const escape = found.map(escapeFault).find((fault) => fault !== null);
    if (escape !== undefined) return mismatch(escape, "quotes");
    return mismatch("The record is not a DMARC policy: it must begin with v=DMARC1.");
  }
  if (policies.length > 1)
    return mismatch("There is more than one DMARC record, which counts as none: keep one of them.", "several");
  const escape = escapeFault(policy);
  if (escape !== null) return mismatch(escape, "quotes");
  const action = readTags(policy)?.get("p")?.toLowerCase();
  if (action === undefined || !POLICIES.includes(action)) {
    return mismatch("The DMARC record has no valid policy: add p=none, p=quarantine or p=reject.");
  }
  return { status: "found" };
}

function mismatch(hint: string, mistake: Mistake = "other_value"): Comparison {
  return { status: "mismatch", mistake, hint };
}
