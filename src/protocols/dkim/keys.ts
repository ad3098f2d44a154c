/**
 * DKIM keys and the DNS records that publish them. A sending domain gets two: RSA-2048, which every
 * verifier knows, and Ed25519, which is short and quick (R57).
 */
import { createPrivateKey, generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { ED25519_SPKI_PREFIX } from "./record.ts";
import type { SigningKey } from "./sign.ts";

/** A signing key in a form that crosses to another thread. */
export interface PlainKey extends Omit<SigningKey, "privateKey"> {
  /** PKCS #8. */
  pem: string;
}

/** Keys read and kept. */
const MAX_READ = 1_000;

/** Reads plain keys, each once while it is in use. Throws on what is no private key. */
export function plainKeyReader(): (keys: PlainKey[]) => SigningKey[] {
  const read = new Map<string, KeyObject>();
  return (keys) =>
    keys.map(({ pem: text, ...key }) => {
      let privateKey = read.get(text);
      if (privateKey === undefined) {
        privateKey = createPrivateKey(text);
        if (read.size >= MAX_READ) read.clear();
        read.set(text, privateKey);
      }
      return { ...key, privateKey };
    });
}

/** A new key. `privateKeyPem` is PKCS #8 and secret; `publicKey` is the base64 of the `p=` tag. */
export interface KeyPair {
  algorithm: "rsa-sha256" | "ed25519-sha256";
  privateKeyPem: string;
  publicKey: string;
}

/** A domain has one of each kind. */
export interface KeyPairs {
  rsa: KeyPair;
  ed25519: KeyPair;
}

/** RFC 8301 §3.2: signers should use at least 2048 bits; 4096 does not fit every DNS answer. */
const RSA_BITS = 2_048;

const generate = promisify(generateKeyPair);

/** One pair of each kind, made on the thread pool (RSA takes tens of milliseconds). */
export async function generateKeyPairs(): Promise<KeyPairs> {
  const [rsa, ed25519] = await Promise.all([generate("rsa", { modulusLength: RSA_BITS }), generate("ed25519")]);
  const rsaSpki = rsa.publicKey.export({ type: "spki", format: "der" });
  const edSpki = ed25519.publicKey.export({ type: "spki", format: "der" });
  return {
    rsa: {
      algorithm: "rsa-sha256",
      privateKeyPem: pem(rsa.privateKey),
      publicKey: rsaSpki.toString("base64"),
    },
    // RFC 8463 §4.2: p= holds the bare key, not the SubjectPublicKeyInfo.
    ed25519: {
      algorithm: "ed25519-sha256",
      privateKeyPem: pem(ed25519.privateKey),
      publicKey: edSpki.subarray(ED25519_SPKI_PREFIX.length).toString("base64"),
    },
  };
}

function pem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" });
}
