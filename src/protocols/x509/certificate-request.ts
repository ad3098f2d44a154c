// What an authority is asked to certify: a key and the names it is for (PKCS #10, RFC 2986).

import { createPublicKey, createSign, type KeyObject } from "node:crypto";
import { alternativeNames, BIT_STRING, der, ECDSA_WITH_SHA256, INTEGER, oid, SEQUENCE, SET } from "./der.ts";

const EXTENSION_REQUEST = "2a864886f70d01090e";
/** Tagged by its place. */
const ATTRIBUTES = 0xa0;

/** DER. The subject is empty: authorities name the certificate themselves. `privateKey`: P-256. */
export function createCertificateRequest(names: readonly string[], privateKey: KeyObject): Buffer {
  const extensions = der(SEQUENCE, alternativeNames(names, { isCritical: true }));
  const signed = der(
    SEQUENCE,
    der(INTEGER, Buffer.of(0)),
    der(SEQUENCE),
    createPublicKey(privateKey).export({ type: "spki", format: "der" }),
    der(ATTRIBUTES, der(SEQUENCE, oid(EXTENSION_REQUEST), der(SET, extensions))),
  );
  const signature = createSign("sha256").update(signed).sign(privateKey);
  return der(SEQUENCE, signed, der(SEQUENCE, oid(ECDSA_WITH_SHA256)), der(BIT_STRING, Buffer.of(0), signature));
}
