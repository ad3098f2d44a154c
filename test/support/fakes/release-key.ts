import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** A key of releases, made anew, and what it signs, in minisign's format. */
export function makeReleaseKey() {
  const { privateKey } = generateKeyPairSync("ed25519");
  const id = randomBytes(8);
  const point = Buffer.from(privateKey.export({ format: "jwk" }).x ?? "", "base64url");
  return {
    publicKey: Buffer.concat([Buffer.from("Ed"), id, point]).toString("base64"),
    /** The text of a `.minisig`. */
    sign(content: Uint8Array, comment: string, algorithm: "Ed" | "ED" = "ED"): string {
      const signed = algorithm === "Ed" ? content : createHash("blake2b512").update(content).digest();
      const bytes = sign(null, signed, privateKey);
      const global = sign(null, Buffer.concat([bytes, Buffer.from(comment)]), privateKey);
      const first = Buffer.concat([Buffer.from(algorithm), id, bytes]).toString("base64");
      return `untrusted comment: x\n${first}\ntrusted comment: ${comment}\n${global.toString("base64")}\n`;
    },
  };
}
