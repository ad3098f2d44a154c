/**
 * DKIM verification (RFC 6376 §6): for the sandbox inbox, for complaints that return our own
 * messages, and as the signer's counterpart in tests. Steps for each signature: read its tags,
 * compare the body hash, fetch the key record, check the signature over the chosen fields. The
 * message comes from strangers: nothing in it makes this throw, and every list has a bound.
 */
import { createHash, type KeyObject, verify } from "node:crypto";
import type { Lookup } from "../dns/client.ts";
import { canonicalBody, canonicalField, type HeaderField, selectFields, splitMessage } from "./canonicalize.ts";
import { readKeyRecord } from "./record.ts";
import { readSignature, type Signature } from "./signature.ts";

/** The verdict on one signature; a message without any has one verdict, `none`. */
export interface DkimVerdict {
  /** `d=` in lower case; "" when it is unreadable. */
  domain: string;
  selector: string;
  algorithm: string;
  result: "pass" | "fail" | "none" | "temperror";
  /** Why it is not a pass; with a pass, what to know about it (l=), else null. Our own words, safe to log. */
  reason: string | null;
}

/** Signatures looked at, from the top; the others are ignored. */
export const MAX_SIGNATURES = 10;
/** Header octets and fields of a message worth the work. */
const MAX_HEADER_OCTETS = 262_144;
const MAX_FIELDS = 2_000;
/** TXT records tried at one name; there should be one (RFC 6376 §3.6.2.2). */
const MAX_KEY_RECORDS = 4;

export type LookupTxt = (name: string) => Promise<Lookup<string>>;

/**
 * One verdict per signature, from the top of the header, at most ten.
 * @param lookupTxt TXT records, their strings joined; what it throws becomes `temperror`.
 * @param at Unix ms against which `x=` is held; without it expiry is not looked at.
 */
export async function verifyMessage(message: Uint8Array, lookupTxt: LookupTxt, at?: number): Promise<DkimVerdict[]> {
  const verdicts = await Array.fromAsync(verifySignatures(message, { lookupTxt, at }));
  if (verdicts.length > 0) return verdicts;
  return [{ domain: "", selector: "", algorithm: "", result: "none", reason: "no DKIM signature" }];
}

/** Signatures of one domain that hasValidSignature looks at: whoever replaces a key signs with two. */
const MAX_OF_DOMAIN = 2;

/**
 * Whether a valid signature with exactly this `d=` covers the header it names and the whole body. No other
 * domain's key is asked for, whatever signatures a stranger adds.
 */
export async function hasValidSignature(
  domain: string,
  message: Uint8Array,
  lookupTxt: LookupTxt,
  at: number,
): Promise<boolean> {
  let looked = 0;
  const isWanted = (signature: Signature) =>
    signature.domain === domain && signature.length === null && ++looked <= MAX_OF_DOMAIN;
  for await (const { result } of verifySignatures(message, { lookupTxt, at, isWanted }))
    if (result === "pass") return true;
  return false;
}

interface Environment {
  lookupTxt: LookupTxt;
  at: number | undefined;
  /** Whether a readable signature is checked; default: each. */
  isWanted?: (signature: Signature) => boolean;
}

async function* verifySignatures(message: Uint8Array, environment: Environment): AsyncGenerator<DkimVerdict> {
  const { fields, body } = splitMessage(message);
  const isTooMuch = message.length - body.length > MAX_HEADER_OCTETS || fields.length > MAX_FIELDS;
  for (const field of fields.filter(({ name }) => name === "dkim-signature").slice(0, MAX_SIGNATURES)) {
    const read = isTooMuch ? "the header is too large" : readSignature(field.raw);
    if (typeof read === "string") {
      yield { domain: "", selector: "", algorithm: "", result: "fail", reason: read };
    } else if (environment.isWanted?.(read) !== false) {
      const { domain, selector, algorithm } = read;
      const others = fields.filter((other) => other !== field);
      yield { domain, selector, algorithm, ...(await checkSignature(read, { fields: others, body }, environment)) };
    }
  }
}

type Outcome = Pick<DkimVerdict, "result" | "reason">;

async function checkSignature(
  signature: Signature,
  message: { fields: HeaderField[]; body: Uint8Array },
  environment: Environment,
): Promise<Outcome> {
  if (signature.expiresAt !== null && environment.at !== undefined && environment.at / 1000 > signature.expiresAt)
    return fail("the signature has expired");
  const canonical = canonicalBody(message.body, signature.body);
  if (signature.length !== null && signature.length > canonical.length) return fail("l= is longer than the body");
  const covered = signature.length === null ? canonical : canonical.subarray(0, signature.length);
  if (!createHash("sha256").update(covered).digest().equals(signature.bodyHash))
    return fail("the body hash does not match");
  const found = await findKeys(`${signature.selector}._domainkey.${signature.domain}`, environment.lookupTxt);
  if (found.kind !== "found") return { result: found.kind, reason: found.reason };
  const chosen = selectFields(message.fields, signature.names, signature.header);
  const input = Buffer.from(chosen + canonicalField(signature.unsigned, signature.header), "latin1");
  let reason = "the name holds no DKIM key";
  for (const record of found.records) {
    const key = readKeyRecord(record, signature);
    if (typeof key === "string") reason = key;
    else if (isSignatureValid(key, input, signature))
      return { result: "pass", reason: lengthNote(signature, canonical) };
    else reason = "the signature does not match";
  }
  return fail(reason);
}

function lengthNote({ length }: Signature, canonical: Uint8Array): string | null {
  return length === null ? null : `only the first ${length} of ${canonical.length} body octets are signed (l=)`;
}

async function findKeys(
  name: string,
  lookupTxt: LookupTxt,
): Promise<{ kind: "found"; records: string[] } | { kind: "fail" | "temperror"; reason: string }> {
  let answer: Lookup<string>;
  try {
    answer = await lookupTxt(name);
  } catch {
    return { kind: "temperror", reason: "the key lookup failed" };
  }
  if (answer.kind === "found") return { kind: "found", records: answer.records.slice(0, MAX_KEY_RECORDS) };
  if (answer.kind === "failed") return { kind: "temperror", reason: "the key lookup failed" };
  return { kind: "fail", reason: "no key is published under this name" };
}

function isSignatureValid(key: KeyObject, input: Uint8Array, { algorithm, value }: Signature): boolean {
  try {
    if (algorithm === "ed25519-sha256") return verify(null, createHash("sha256").update(input).digest(), key, value);
    return verify("sha256", input, key, value);
  } catch {
    return false;
  }
}

function fail(reason: string): Outcome {
  return { result: "fail", reason };
}
