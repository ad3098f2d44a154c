import { expect, test } from "bun:test";
import { maskPath, maskWords } from "../../../../src/modules/requests/path.ts";

const ID = "0198a5a0-0000-7000-8000-000000000000";

test.each([
  ["http://x/api/v1/emails", "/api/v1/emails"],
  [`http://x/api/v1/emails/${ID}/attachments/0`, `/api/v1/emails/${ID}/attachments/0`],
  ["/api/v1/suppressions.csv", "/api/v1/suppressions.csv"],
  ["http://x/api/v1/suppressions/import", "/api/v1/suppressions/import"],
  ["http://x/api/v1/auth/keys", "/api/v1/auth/keys"],
  ["http://x/api/v1/domains/:id/verification-checks", "/api/v1/domains/*/verification-checks"],
  // Addresses, wherever they are put, and what an address may be without its host.
  ["http://x/api/v1/suppressions/ana%40example.com?channel=email", "/api/v1/suppressions/*?channel"],
  ["http://x/api/v1/recipients/%2B258841234567", "/api/v1/recipients/*"],
  ["http://x/api/v1/suppressions/ana", "/api/v1/suppressions/*"],
  ["http://x/api/v1/emails/ana@example.com", "/api/v1/emails/*"],
  ["http://x/api/v1/sms/258841234567", "/api/v1/sms/*"],
  // Keys and tokens.
  ["http://x/api/v1/emails/svc_Zm9vYmFyQkFaMTIz", "/api/v1/emails/*"],
  // Of a query only names that are one.
  ["http://x/api/v1/emails?to=ana%40example.com&limit=5&ana@example.com&=x", "/api/v1/emails?to&limit"],
  [`http://x/${"a/".repeat(100)}`, `/${"a/".repeat(11).slice(0, -1)}`],
])("%s is kept as %s", (url, kept) => {
  expect(maskPath(url)).toBe(kept);
});

test("the words of an error are kept without addresses and numbers, and not for ever", () => {
  expect(maskWords("The recipient ana@example.com is suppressed")).toBe("The recipient a***@example.com is suppressed");
  expect(maskWords("SMS cannot be sent to +258841234567: no route")).toBe("SMS cannot be sent to *: no route");
  expect(maskWords("DELETE /api/v1/suppressions/%2B258841234567?channel=sms lifts that")).toBe(
    "DELETE /api/v1/suppressions/*?channel=sms lifts that",
  );
  expect(maskWords("DELETE /api/v1/suppressions/ana%40example.com lifts that")).toBe(
    "DELETE /api/v1/suppressions/* lifts that",
  );
  expect(maskWords("x".repeat(1_000)).length).toBe(300);
});
