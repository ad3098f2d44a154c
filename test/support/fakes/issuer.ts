// Issues certificates for tests: a root of its own, and what it signs for a key of anybody's.

import { createSign, generateKeyPairSync, randomBytes } from "node:crypto";
import {
  alternativeNames,
  AUTHORITY_KEY_IDENTIFIER,
  BIT_STRING,
  der,
  ECDSA_WITH_SHA256,
  INTEGER,
  OCTET_STRING,
  oid,
  readAll,
  readDer,
  SEQUENCE,
  SET,
  UTF8_STRING,
} from "../../../src/protocols/x509/der.ts";

interface IssueOptions {
  names: readonly string[];
  /** Of the key, DER. */
  publicKey: Uint8Array;
  /** Unix ms. */
  from: number;
  until: number;
}

export interface Issuer {
  /** PEM. */
  root: string;
  /** PEM. */
  issue(options: IssueOptions): string;
}

const DAY_MS = 86_400_000;
const KEY_ID = Buffer.from("issuer of the tests");
const algorithm = der(SEQUENCE, oid(ECDSA_WITH_SHA256));

export function createIssuer(now: number): Issuer {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issuer = toName("Test issuer");
  const write = (subject: Buffer, key: Uint8Array, [from, until]: [number, number], extensions: Buffer[]) => {
    const signed = der(
      SEQUENCE,
      der(0xa0, der(INTEGER, Buffer.of(2))),
      der(INTEGER, Buffer.concat([Buffer.of(1), randomBytes(15)])),
      algorithm,
      issuer,
      der(SEQUENCE, toTime(from), toTime(until)),
      subject,
      key,
      der(0xa3, der(SEQUENCE, ...extensions)),
    );
    const signature = createSign("sha256").update(signed).sign(privateKey);
    return toPem(der(SEQUENCE, signed, algorithm, der(BIT_STRING, Buffer.of(0), signature)));
  };
  // basicConstraints: critical, it may issue.
  const mayIssue = der(
    SEQUENCE,
    oid("551d13"),
    Buffer.of(0x01, 0x01, 0xff),
    der(OCTET_STRING, der(SEQUENCE, Buffer.of(0x01, 0x01, 0xff))),
  );
  const spki = publicKey.export({ type: "spki", format: "der" });
  const authorityKey = der(
    SEQUENCE,
    oid(AUTHORITY_KEY_IDENTIFIER),
    der(OCTET_STRING, der(SEQUENCE, der(0x80, KEY_ID))),
  );
  return {
    root: write(issuer, spki, [now - DAY_MS, now + 3_650 * DAY_MS], [mayIssue]),
    issue: ({ names, publicKey: key, from, until }) =>
      write(toName(names[0] ?? ""), key, [from, until], [authorityKey, alternativeNames(names, { isCritical: false })]),
  };
}

/** The key that a request for a certificate is about, DER. */
export function readRequestedKey(csr: Buffer): Buffer {
  const [info] = readAll(readDer(csr).content);
  const fields = readAll(info?.content ?? Buffer.alloc(0));
  return der(SEQUENCE, fields[2]?.content ?? Buffer.alloc(0));
}

function toName(text: string): Buffer {
  return der(SEQUENCE, der(SET, der(SEQUENCE, oid("550403"), der(UTF8_STRING, Buffer.from(text)))));
}

/** GeneralizedTime: what is issued here may be of any year. */
function toTime(at: number): Buffer {
  return der(0x18, Buffer.from(`${new Date(at).toISOString().replace(/\.\d+Z$|[-:T]/g, "")}Z`));
}

function toPem(bytes: Buffer): string {
  return `-----BEGIN CERTIFICATE-----\n${(bytes.toString("base64").match(/.{1,64}/g) ?? []).join("\n")}\n-----END CERTIFICATE-----\n`;
}
