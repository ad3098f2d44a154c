/**
 * A certificate that nobody has signed but its own key, for STARTTLS without files: servers that bring mail
 * encrypt when they can and do not ask who signed (RFC 7435). Its key lives as long as the process. The
 * runtime reads certificates and makes none, so it is written here: X.509 version 3 in DER (RFC 5280 §4.1).
 */
import { createSign, generateKeyPairSync } from "node:crypto";

export interface PemPair {
  /** The certificate, with its chain where there is one. */
  cert: string;
  key: string;
}

const DAY_MS = 86_400_000;
const LIFE_MS = 10 * 365 * DAY_MS;
/** RFC 5280 §4.1.2.2: at most 20 octets; nobody tells two of these apart by less. */
const SERIAL_BYTES = 16;

const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OID = 0x06;
const UTF8_STRING = 0x0c;
const GENERALIZED_TIME = 0x18;
const UTC_TIME = 0x17;
const SEQUENCE = 0x30;
const SET = 0x31;
/** Tagged by their place: the version, the extensions; a DNS name among the alternative names. */
const VERSION = 0xa0;
const EXTENSIONS = 0xa3;
const DNS_NAME = 0x82;

const ECDSA_WITH_SHA256 = "2a8648ce3d040302";
const COMMON_NAME = "550403";
const SUBJECT_ALT_NAME = "551d11";
/** RFC 5280 appendix A: ub-common-name. */
const COMMON_NAME_MAX = 64;
/** RFC 5280 §4.1.2.5: until then two digits for the year. */
const GENERALIZED_FROM_YEAR = 2050;

/** A certificate of `hostname` with a new P-256 key, valid from a day before `now` (Unix ms). `serial`: 16 random bytes. */
export function selfSigned(hostname: string, { now, serial }: { now: number; serial: Uint8Array }): PemPair {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = der(SEQUENCE, der(OID, Buffer.from(ECDSA_WITH_SHA256, "hex")));
  const name = encodeName(hostname);
  const signed = der(
    SEQUENCE,
    der(VERSION, der(INTEGER, Buffer.of(2))),
    der(INTEGER, positive(serial.subarray(0, SERIAL_BYTES))),
    algorithm,
    name,
    der(SEQUENCE, time(now - DAY_MS), time(now + LIFE_MS)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(EXTENSIONS, der(SEQUENCE, alternativeName(hostname))),
  );
  const signature = createSign("sha256").update(signed).sign(privateKey);
  const certificate = der(SEQUENCE, signed, algorithm, der(BIT_STRING, Buffer.of(0), signature));
  return { cert: pem(certificate), key: privateKey.export({ type: "pkcs8", format: "pem" }) };
}

/** The common name is for people; a name that does not fit there stands in the alternative names all the same. */
function encodeName(hostname: string): Buffer {
  const text = hostname.length > COMMON_NAME_MAX ? "pombo" : hostname;
  const commonName = der(SEQUENCE, der(OID, Buffer.from(COMMON_NAME, "hex")), der(UTF8_STRING, Buffer.from(text)));
  return der(SEQUENCE, der(SET, commonName));
}

function alternativeName(hostname: string): Buffer {
  const names = der(SEQUENCE, der(DNS_NAME, Buffer.from(hostname)));
  return der(SEQUENCE, der(OID, Buffer.from(SUBJECT_ALT_NAME, "hex")), der(OCTET_STRING, names));
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

/** Tag, length, content. */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  if (content.length < 0x80) return Buffer.concat([Buffer.of(tag, content.length), content]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length);
  const digits = length.subarray(length.findIndex((byte) => byte !== 0));
  return Buffer.concat([Buffer.of(tag, 0x80 | digits.length), digits, content]);
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
