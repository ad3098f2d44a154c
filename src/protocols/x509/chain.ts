// Certificates as files and authorities hand them out: PEM, the own one first, then those that lead to a root.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { rootCertificates } from "node:tls";
import { AUTHORITY_KEY_IDENTIFIER, der, OCTET_STRING, readAll, readDer } from "./der.ts";

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;
const MAX_CERTIFICATES = 20;
/** Tagged by their place: the extensions of a certificate, the identifier of its authority's key. */
const EXTENSIONS = 0xa3;
const KEY_IDENTIFIER = 0x80;

/** Throws where one of them is none, or there is none at all. */
export function readChain(pem: string): X509Certificate[] {
  const blocks = (pem.match(BLOCK) ?? []).slice(0, MAX_CERTIFICATES);
  if (blocks.length === 0) throw new Error("there is no certificate in it");
  return blocks.map((block) => new X509Certificate(block));
}

/** Each on lines of its own: some authorities forget what is between. */
export function writeChain(chain: readonly X509Certificate[]): string {
  return chain.map((each) => `${each.toString().trim()}\n`).join("");
}

/** The DNS names that a certificate is for. */
export function readNames({ subjectAltName }: X509Certificate): string[] {
  return [...(subjectAltName ?? "").matchAll(/DNS:([^,\s]+)/g)].map(([, name = ""]) => name.toLowerCase());
}

export interface Expected {
  names: readonly string[];
  /** PEM. */
  key: string;
  /** Unix ms. */
  now: number;
}

/** Why a certificate cannot be served; null: it can. */
export function findFault(chain: readonly X509Certificate[], { names, key, now }: Expected): string | null {
  const [own, ...issuers] = chain;
  if (own === undefined) return "there is no certificate in it";
  if (!own.checkPrivateKey(createPrivateKey(key))) return "it is for another key";
  const missing = names.filter((name) => own.checkHost(name) === undefined);
  if (missing.length > 0) return `it is not for ${missing.join(", ")}`;
  const [from, until] = [Date.parse(own.validFrom), Date.parse(own.validTo)];
  if (now >= until || now < from)
    return `it is valid from ${toDay(from)} to ${toDay(until)}, and this machine's clock says ${toDay(now)}`;
  const broken = issuers.find((issuer, index) => !isIssuedBy(chain[index], issuer));
  return broken === undefined ? null : "its chain is not in order";
}

function isIssuedBy(certificate: X509Certificate | undefined, issuer: X509Certificate): boolean {
  return certificate?.checkIssued(issuer) === true && certificate.verify(issuer.publicKey);
}

function toDay(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace("T", " ");
}

/** Whether the chain leads to an authority that everybody trusts. `roots`: PEM; default: those of browsers. */
export function isPublic(chain: readonly X509Certificate[], roots: readonly string[] = rootCertificates): boolean {
  const last = chain.at(-1);
  if (last === undefined) return false;
  const issuer = readIssuer(last);
  return roots.some((pem) => {
    // All of them parsed would hold 4 MB; one whose bytes lack the name is not it.
    if (!Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ""), "base64").includes(issuer)) return false;
    const root = new X509Certificate(pem);
    return root.fingerprint256 === last.fingerprint256 || (root.subject === last.issuer && isIssuedBy(last, root));
  });
}

/** Its name, as it is encoded. */
function readIssuer(certificate: X509Certificate): Buffer {
  const [signed] = readAll(readDer(certificate.raw).content);
  // After version, serial number and algorithm (RFC 5280 §4.1).
  const issuer = readAll(signed?.content ?? Buffer.alloc(0))[3];
  return issuer === undefined ? Buffer.alloc(0) : der(issuer.tag, issuer.content);
}

/** What the certificate is called where its renewal is asked about (RFC 9773 §4.1); null: its authority gave it no identifier. */
export function readRenewalId(certificate: X509Certificate): string | null {
  const [signed] = readAll(readDer(certificate.raw).content);
  const fields = readAll(signed?.content ?? Buffer.alloc(0));
  const extensions = fields.find(({ tag }) => tag === EXTENSIONS);
  // Version [0], then the serial number.
  const serial = fields[1]?.content;
  if (extensions === undefined || serial === undefined) return null;
  for (const { content } of readAll(readDer(extensions.content).content)) {
    const [id, ...rest] = readAll(content);
    const value = rest.find(({ tag }) => tag === OCTET_STRING);
    if (id?.content.toString("hex") !== AUTHORITY_KEY_IDENTIFIER || value === undefined) continue;
    const key = readAll(readDer(value.content).content).find(({ tag }) => tag === KEY_IDENTIFIER);
    return key === undefined ? null : `${key.content.toString("base64url")}.${serial.toString("base64url")}`;
  }
  return null;
}
