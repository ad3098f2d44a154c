// A certificate that only its own key has signed (RFC 5280 §4.1). Mail servers encrypt when they can and do not ask who
// signed (RFC 7435); browsers refuse it, and show a port that waits for its certificate.

import { createSign, generateKeyPairSync } from "node:crypto";
import type { PemPair } from "../../platform/served-certificate.ts";
import {
  alternativeNames,
  BIT_STRING,
  der,
  ECDSA_WITH_SHA256,
  INTEGER,
  oid,
  SEQUENCE,
  SET,
  UTF8_STRING,
} from "./der.ts";

const DAY_MS = 86_400_000;
const LIFE_MS = 10 * 365 * DAY_MS;
/** RFC 5280 §4.1.2.2: at most 20 octets; nobody tells two of these apart by less. */
const SERIAL_BYTES = 16;

const GENERALIZED_TIME = 0x18;
const UTC_TIME = 0x17;
/** Tagged by their place: the version, the extensions. */
const VERSION = 0xa0;
const EXTENSIONS = 0xa3;
const COMMON_NAME = "550403";
/** RFC 5280 appendix A: ub-common-name. */
const COMMON_NAME_MAX = 64;
/** RFC 5280 §4.1.2.5: until then two digits for the year. */
const GENERALIZED_FROM_YEAR = 2050;

/** A certificate of `names` with a new P-256 key, valid from a day before `now` (Unix ms). `serial`: 16 random bytes. */
export function createSelfSigned(
  names: readonly string[],
  { now, serial }: { now: number; serial: Uint8Array },
): PemPair {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = der(SEQUENCE, oid(ECDSA_WITH_SHA256));
  const name = encodeName(names[0] ?? "");
  const signed = der(
    SEQUENCE,
    der(VERSION, der(INTEGER, Buffer.of(2))),
    der(INTEGER, positive(serial.subarray(0, SERIAL_BYTES))),
    algorithm,
    name,
    der(SEQUENCE, time(now - DAY_MS), time(now + LIFE_MS)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(EXTENSIONS, der(SEQUENCE, alternativeNames(names, { isCritical: false }))),
  );
  const signature = createSign("sha256").update(signed).sign(privateKey);
  const certificate = der(SEQUENCE, signed, algorithm, der(BIT_STRING, Buffer.of(0), signature));
  return { cert: pem(certificate), key: privateKey.export({ type: "pkcs8", format: "pem" }) };
}

/** The common name is for people; a name that does not fit there stands in the alternative names all the same. */
function encodeName(hostname: string): Buffer {
  const text = hostname.length > COMMON_NAME_MAX ? "pombo" : hostname;
  const commonName = der(SEQUENCE, oid(COMMON_NAME), der(UTF8_STRING, Buffer.from(text)));
  return der(SEQUENCE, der(SET, commonName));
}

function time(at: number): Buffer {
  // 2026-01-31T08:15:00.000Z → 20260131081500Z
  const digits = new Date(at).toISOString().replace(/\.\d+Z$|[-:T]/g, "");
  const isLong = new Date(at).getUTCFullYear() >= GENERALIZED_FROM_YEAR;
  return der(isLong ? GENERALIZED_TIME : UTC_TIME, Buffer.from(`${isLong ? digits : digits.slice(2)}Z`));
}

/** Shortest form, and not negative: the first bits are 01. */
function positive(bytes: Uint8Array): Buffer {
  const number = Buffer.from(bytes);
  number[0] = ((number[0] ?? 0) & 0x3f) | 0x40;
  return number;
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
