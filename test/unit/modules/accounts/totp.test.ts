import { expect, test } from "bun:test";
import { createRecoveryCodes, hashRecoveryCode } from "../../../../src/modules/accounts/factors/recovery-codes.ts";
import { checkTotpCode, describeTotp } from "../../../../src/modules/accounts/factors/totp.ts";
import { systemRandom } from "../../../../src/platform/random.ts";

const SECRET = Buffer.from("12345678901234567890");

/** RFC 6238, appendix B, SHA-1: the last six of the eight digits. */
const VECTORS: [seconds: number, code: string][] = [
  [59, "287082"],
  [1_111_111_109, "081804"],
  [1_111_111_111, "050471"],
  [1_234_567_890, "005924"],
  [2_000_000_000, "279037"],
  [20_000_000_000, "353130"],
];

test("the codes are those of RFC 6238, and right a step earlier and later", async () => {
  for (const [seconds, code] of VECTORS) {
    const step = Math.floor(seconds / 30);
    for (const skew of [-30, 0, 30]) {
      const checked = await checkTotpCode(SECRET, code, (seconds + skew) * 1_000);
      expect([code, skew, checked]).toEqual([code, skew, { kind: "right", step }]);
    }
  }
});

test("a code of another time says how far the clocks are apart, up to two hours", async () => {
  const at = 1_234_567_890_000;
  const check = (aheadMs: number) => checkTotpCode(SECRET, "005924", at - aheadMs);
  expect(await check(3_600_000)).toEqual({ kind: "other_time", step: 41_152_263, aheadMs: 3_600_000 });
  expect(await check(-3_600_000)).toEqual({ kind: "other_time", step: 41_152_263, aheadMs: -3_600_000 });
  expect(await check(60_000)).toMatchObject({ kind: "other_time", aheadMs: 60_000 });
  expect(await check(7_200_000)).toEqual({ kind: "wrong" });
});

test("what is no code is wrong", async () => {
  for (const code of ["", "28708", "2870822", "28708x", "٢٨٧٠٨٢", " 287082"])
    expect([code, await checkTotpCode(SECRET, code, 59_000)]).toEqual([code, { kind: "wrong" }]);
});

test("the secret is told as apps read it", async () => {
  const told = await describeTotp(SECRET, { issuer: "mail.example.net", account: "ana@example.com" });
  expect(told.secret).toBe("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
  const uri = new URL(told.uri);
  expect([uri.protocol, uri.host, decodeURIComponent(uri.pathname)]).toEqual([
    "otpauth:",
    "totp",
    "/mail.example.net:ana@example.com",
  ]);
  expect(Object.fromEntries(uri.searchParams)).toMatchObject({ secret: told.secret, issuer: "mail.example.net" });
});

test("ten recovery codes differ, and are known however they are typed", () => {
  const codes = createRecoveryCodes(systemRandom);
  expect(new Set(codes).size).toBe(10);
  for (const code of codes) expect(code).toMatch(/^(?:[0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}$/);
  const hash = hashRecoveryCode("01ab-cdef-0000-1111");
  const typed = ["01AB-CDEF-0000-1111", "O1AB CDEF 0000 1111", "olabcdefooooiill"].map(hashRecoveryCode);
  expect(typed).toEqual([hash, hash, hash]);
  expect(hashRecoveryCode("01ab-cdef-0000-1112")).not.toBe(hash);
});
