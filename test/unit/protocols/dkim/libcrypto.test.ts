import { describe, expect, test } from "bun:test";
import { generateKeyPairSync, sign, verify } from "node:crypto";
import { openLibcrypto } from "../../../../src/protocols/dkim/libcrypto.ts";

const signRsa = openLibcrypto();

describe.skipIf(signRsa === null)("the system's libcrypto", () => {
  const rsa = () => generateKeyPairSync("rsa", { modulusLength: 2_048 });

  test("signs as the runtime does, with several keys in turn, whatever the length", async () => {
    const pairs = [rsa(), rsa(), rsa()];
    for (let n = 0; n < 300; n++) {
      const pair = pairs[n % pairs.length];
      if (pair === undefined) throw new Error("no pair");
      const input = Buffer.alloc(n * 7, `message ${n} `);
      const made = Buffer.from(await signRsa!(input, pair.privateKey));
      expect(made.equals(sign("sha256", input, pair.privateKey))).toBe(true);
      expect(verify("sha256", input, pair.publicKey, made)).toBe(true);
    }
  });

  test("a later signature does not change an earlier one", async () => {
    const { privateKey } = rsa();
    const first = Buffer.from(await signRsa!(Buffer.from("first"), privateKey));
    const copy = Buffer.from(first);
    await signRsa!(Buffer.from("second"), privateKey);
    expect(first.equals(copy)).toBe(true);
  });

  test("longer keys work too", async () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 4_096 });
    const input = Buffer.from("x");
    expect(Buffer.from(await signRsa!(input, privateKey)).equals(sign("sha256", input, privateKey))).toBe(true);
  });

  test("what is no RSA private key throws, as with the runtime", () => {
    const { publicKey } = rsa();
    expect(() => signRsa!(Buffer.from("x"), publicKey)).toThrow();
  });
});
