// A passkey authenticator in software: a P-256 key that answers both ceremonies as a browser hands them on.

import { createHash, createSign, generateKeyPairSync, type KeyObject } from "node:crypto";
import type { Json } from "../fakes/instance.ts";

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;

export interface Authenticator {
  /** As navigator.credentials.create() and toJSON() give it. */
  create(options: Json, changes?: Partial<Ceremony>): Json;
  /** As navigator.credentials.get() and toJSON() give it. */
  get(options: Json, changes?: Partial<Ceremony>): Json;
}

interface Ceremony {
  origin: string;
  /** Whether it asked for a PIN or a finger. */
  isVerified: boolean;
  counter: number;
  challenge: string;
  fmt: string;
  /** Of the attestation statement, as CBOR. */
  attStmt: Uint8Array;
}

/** Of a browser at `origin`, with one passkey. */
export function createAuthenticator(origin: string): Authenticator {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const credentialId = createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest();
  const id = credentialId.toString("base64url");
  let userHandle = "";
  let counter = 0;
  const given = (changes: Partial<Ceremony>): Omit<Ceremony, "challenge"> => ({
    origin,
    isVerified: true,
    counter: (counter += 1),
    fmt: "none",
    attStmt: cborMap(),
    ...changes,
  });
  const outer = (response: Json) => ({ id, rawId: id, type: "public-key", clientExtensionResults: {}, response });
  return {
    create(options, changes = {}) {
      const ceremony = given(changes);
      userHandle = options.user.id;
      const credential = Buffer.concat([
        Buffer.alloc(16),
        uint16(credentialId.length),
        credentialId,
        coseKey(publicKey),
      ]);
      const authData = Buffer.concat([authenticatorData(options.rp.id, ceremony, HAS_CREDENTIAL), credential]);
      const { fmt, attStmt } = ceremony;
      const entries: [string, Uint8Array][] = [
        ["fmt", cborText(fmt)],
        ["attStmt", attStmt],
        ["authData", cborBytes(authData)],
      ];
      return outer({
        clientDataJSON: clientData("webauthn.create", changes.challenge ?? options.challenge, ceremony.origin),
        attestationObject: cborMap(...entries).toString("base64url"),
        transports: ["internal"],
      });
    },
    get(options, changes = {}) {
      const ceremony = given(changes);
      const authData = authenticatorData(options.rpId, ceremony, 0);
      const clientDataJSON = clientData("webauthn.get", changes.challenge ?? options.challenge, ceremony.origin);
      const hash = createHash("sha256").update(Buffer.from(clientDataJSON, "base64url")).digest();
      return outer({
        clientDataJSON,
        authenticatorData: authData.toString("base64url"),
        signature: sign(privateKey, Buffer.concat([authData, hash])),
        userHandle,
      });
    },
  };
}

function clientData(type: string, challenge: string, origin: string): string {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false })).toString("base64url");
}

function authenticatorData(rpId: string, ceremony: Pick<Ceremony, "isVerified" | "counter">, flags: number): Buffer {
  const counter = Buffer.alloc(4);
  counter.writeUInt32BE(ceremony.counter);
  const set = flags | USER_PRESENT | (ceremony.isVerified ? USER_VERIFIED : 0);
  return Buffer.concat([createHash("sha256").update(rpId).digest(), Buffer.of(set), counter]);
}

function sign(key: KeyObject, bytes: Uint8Array): string {
  return createSign("sha256").update(bytes).sign(key).toString("base64url");
}

/** RFC 9053, section 7.1: kty EC2, alg ES256, crv P-256. */
function coseKey(key: KeyObject): Buffer {
  const { x = "", y = "" } = key.export({ format: "jwk" });
  const pairs: [number, Uint8Array][] = [
    [1, cborInteger(2)],
    [3, cborInteger(-7)],
    [-1, cborInteger(1)],
    [-2, cborBytes(Buffer.from(x, "base64url"))],
    [-3, cborBytes(Buffer.from(y, "base64url"))],
  ];
  const items = pairs.flatMap(([name, value]) => [cborInteger(name), value]);
  return Buffer.concat([cborHead(5, pairs.length), ...items]);
}

// CBOR (RFC 8949), as far as it is needed.

function cborHead(major: number, value: number): Buffer {
  const type = major << 5;
  if (value < 24) return Buffer.of(type | value);
  return value < 256 ? Buffer.of(type | 24, value) : Buffer.of(type | 25, value >> 8, value & 255);
}

const cborInteger = (value: number) => (value < 0 ? cborHead(1, -1 - value) : cborHead(0, value));
const cborText = (text: string) => Buffer.concat([cborHead(3, Buffer.byteLength(text)), Buffer.from(text)]);
export const cborBytes = (bytes: Uint8Array) => Buffer.concat([cborHead(2, bytes.length), bytes]);
export const cborArray = (...items: Uint8Array[]) => Buffer.concat([cborHead(4, items.length), ...items]);
export const cborMap = (...entries: [string, Uint8Array][]) =>
  Buffer.concat([cborHead(5, entries.length), ...entries.flatMap(([name, value]) => [cborText(name), value])]);

function uint16(value: number): Buffer {
  return Buffer.of(value >> 8, value & 255);
}
