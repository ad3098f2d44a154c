import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { createKey, hashKey } from "../../../../src/modules/api-keys/key.ts";
import { systemRandom } from "../../../../src/platform/random.ts";

test("a key is svc_ and 32 random bytes, of which the digest and the first eight characters are kept", () => {
  const asked: number[] = [];
  const made = createKey({
    bytes(count) {
      asked.push(count);
      return new Uint8Array(count).fill(0xfb);
    },
  });
  expect(asked).toEqual([32]);
  expect(made.key).toMatch(/^svc_[A-Za-z0-9_-]{43}$/);
  expect(made.key).toBe(`svc_${Buffer.alloc(32, 0xfb).toString("base64url")}`);
  expect(made.prefix).toBe(made.key.slice(4, 12));
  expect(made.hash).toBe(createHash("sha256").update(made.key).digest("hex"));
  expect(made.hash).toBe(hashKey(made.key));
});

test("what is kept of a key does not hold the rest of it", () => {
  const { key, hash, prefix } = createKey(systemRandom);
  expect(hash).toMatch(/^[0-9a-f]{64}$/);
  expect(prefix).toHaveLength(8);
  expect(`${hash}${prefix}`).not.toContain(key.slice(12));
});

test("a thousand keys are all different, and so are their digests", () => {
  const keys = Array.from({ length: 1_000 }, () => createKey(systemRandom));
  expect(new Set(keys.map(({ key }) => key)).size).toBe(1_000);
  expect(new Set(keys.map(({ hash }) => hash)).size).toBe(1_000);
});
