import { expect, test } from "bun:test";
import {
  createInstanceKey,
  openKeyring,
  parseInstanceKey,
  SealError,
} from "../../../../src/platform/keyring/keyring.ts";
import { type Random, systemRandom } from "../../../../src/platform/random.ts";

const FIXED: Random = {
  bytes: (count) => Uint8Array.from({ length: count }, (_, i) => i),
  unit: () => 0,
};
const FIXED_TEXT = createInstanceKey(FIXED);

function keyOf(text: string): Uint8Array {
  const parsed = parseInstanceKey(text);
  if (parsed.kind === "fault") throw new Error(parsed.message);
  return parsed.key;
}

function faultOf(text: string): string {
  const parsed = parseInstanceKey(text);
  return parsed.kind === "fault" ? parsed.message : "";
}

const PLAIN = new TextEncoder().encode("-----BEGIN PRIVATE KEY-----");

test("a recovery key is 14 groups of characters that print cannot confuse", () => {
  expect(createInstanceKey(systemRandom)).toMatch(/^pombo-key-1(-[0-9a-hjkmnp-tv-z]{4}){14}$/);
  expect(keyOf(FIXED_TEXT)).toEqual(FIXED.bytes(32));
});

test("a recovery key is written the same way for ever", () => {
  // Printed keys lie in drawers: the format, checksum included, must not change.
  expect(FIXED_TEXT).toBe("pombo-key-1-000g-40r4-0m30-e209-185g-r38e-1w81-24gk-2gah-c5rr-34d1-p70x-3rfx-q7wd");
});

test("a recovery key is understood however it is typed", () => {
  const key = keyOf(FIXED_TEXT);
  const spaced = FIXED_TEXT.replaceAll("-", " ");
  const typed = [FIXED_TEXT.toUpperCase(), ` ${FIXED_TEXT}\n`, spaced, FIXED_TEXT.replaceAll("-", "")];
  const misread = [FIXED_TEXT.replaceAll("0", "o"), FIXED_TEXT.replaceAll("1", "l"), FIXED_TEXT.replaceAll("1", "I")];
  for (const text of [...typed, ...misread, `${spaced.slice(0, 40)}\r\n\t${spaced.slice(40)}`]) {
    expect(keyOf(text)).toEqual(key);
  }
});

test("every single wrong character and every swap of neighbours is caught", () => {
  const start = "pombo-key-1-".length;
  for (let at = start; at < FIXED_TEXT.length; at++) {
    const [here = "", next = ""] = [FIXED_TEXT[at], FIXED_TEXT[at + 1]];
    if (here === "-") continue;
    const other = here === "z" ? "y" : "z";
    expect(faultOf(FIXED_TEXT.slice(0, at) + other + FIXED_TEXT.slice(at + 1))).toContain("typing error");
    if (next === "" || next === "-" || next === here) continue;
    expect(faultOf(FIXED_TEXT.slice(0, at) + next + here + FIXED_TEXT.slice(at + 2))).toContain("typing error");
  }
});

test.each([
  ["", 'does not begin with "pombo-key-1-"'],
  ["svc_abcdef", 'does not begin with "pombo-key-1-"'],
  [FIXED_TEXT.replace("key-1", "key-2"), "newer version"],
  [FIXED_TEXT.slice(0, -1), "has 55 characters"],
  [`${FIXED_TEXT}0`, "has 57 characters"],
  [FIXED_TEXT.replace(/.$/, "u"), 'holds "u"'],
  [FIXED_TEXT.replace(/.$/, "ß"), 'holds "ß"'],
  [FIXED_TEXT.repeat(20), "far too long"],
])("the text %p is no recovery key, and a sentence says why", (text, reason) => {
  expect(faultOf(text)).toContain(reason);
  expect(faultOf(text)).toContain("compare it with the recovery key printed by pombo init");
});

test("a sealed value opens again under the same key and context", () => {
  const keyring = openKeyring(systemRandom.bytes(32), systemRandom);
  const sealed = keyring.seal(PLAIN, "domains/1/rsa");
  expect(keyring.unseal(sealed, "domains/1/rsa")).toEqual(PLAIN);
  expect(Buffer.from(sealed).includes("PRIVATE")).toBe(false);
  expect(keyring.unseal(keyring.seal(new Uint8Array(0), "x"), "x")).toEqual(new Uint8Array(0));
});

test("the same value is sealed differently each time", () => {
  const keyring = openKeyring(systemRandom.bytes(32), systemRandom);
  expect(keyring.seal(PLAIN, "x")).not.toEqual(keyring.seal(PLAIN, "x"));
});

test("a sealed value cannot be moved to another row", () => {
  const keyring = openKeyring(systemRandom.bytes(32), systemRandom);
  const sealed = keyring.seal(PLAIN, "domains/1/rsa");
  expect(() => keyring.unseal(sealed, "domains/2/rsa")).toThrow(SealError);
  expect(() => keyring.seal(PLAIN, "")).toThrow("context");
});

test("another instance key does not open it, and the error says what to do", () => {
  const sealed = openKeyring(systemRandom.bytes(32), systemRandom).seal(PLAIN, "domains/1/rsa");
  const other = openKeyring(systemRandom.bytes(32), systemRandom);
  expect(() => other.unseal(sealed, "domains/1/rsa")).toThrow(
    /^domains\/1\/rsa cannot be unsealed: .* Put back the instance key that belongs to it/,
  );
});

test("no bit of a sealed value can be changed, and no byte cut off or added", () => {
  const keyring = openKeyring(systemRandom.bytes(32), systemRandom);
  const sealed = keyring.seal(PLAIN, "x");
  for (let at = 0; at < sealed.length * 8; at++) {
    const changed = sealed.slice();
    changed[at >> 3] = (changed[at >> 3] ?? 0) ^ (1 << (at & 7));
    expect(() => keyring.unseal(changed, "x")).toThrow(SealError);
  }
  for (let length = 0; length < sealed.length; length++) {
    expect(() => keyring.unseal(sealed.subarray(0, length), "x")).toThrow(SealError);
  }
  expect(() => keyring.unseal(Uint8Array.of(...sealed, 0), "x")).toThrow(SealError);
});

test("a value sealed by a later format asks for the newer version", () => {
  const keyring = openKeyring(FIXED.bytes(32), systemRandom);
  const sealed = keyring.seal(PLAIN, "x");
  sealed[0] = 2;
  expect(() => keyring.unseal(sealed, "x")).toThrow("newer version");
});

test("what an instance key derives stays the same for ever and differs by purpose", () => {
  const keyring = openKeyring(FIXED.bytes(32), systemRandom);
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
  // Computed apart from this code, with Python's hashlib and cryptography. Return paths and sealed values outlive a release: these may never change.
  expect(hex(keyring.hmacKey("return-path"))).toBe("b29368f611bdf2fd860dece4d0232dbcc1707039591062eb531ce49342f07206");
  expect(keyring.checkValue()).toBe("jWDRVuXlmU9WVAfVBxaW9A");
  const fixedNonce = openKeyring(FIXED.bytes(32), FIXED);
  expect(hex(fixedNonce.seal(PLAIN, "x"))).toBe(
    "01000102030405060708090a0bfcc00beca7960a3567e16ed864fcabe404a084fbadc84cf5a85c67b2260b1a37dbd09dfb3a84cd30e3777b",
  );
  expect(keyring.hmacKey("a")).not.toEqual(keyring.hmacKey("b"));
  expect(openKeyring(systemRandom.bytes(32), systemRandom).checkValue()).not.toBe(keyring.checkValue());
});

test("a key of another length is a bug, not a keyring", () => {
  expect(() => openKeyring(new Uint8Array(16), systemRandom)).toThrow("32 bytes");
});
