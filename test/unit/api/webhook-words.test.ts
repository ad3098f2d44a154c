import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import webhookWords from "../../../src/api/docs/webhooks.md" with { type: "text" };
import { RETRY_MS } from "../../../src/modules/webhooks/delivery/outcome.ts";
import { buildSignatureHeaders } from "../../../src/modules/webhooks/sign.ts";
import { temporaryFolder } from "../../support/db/temporary.ts";

// The docs' own code to verify a call with. Python's and PHP's is run by script/contract.

type Verify = (headers: Record<string, string>, body: string, secret: string) => boolean;

const KEY = Buffer.alloc(32, 7);
const SECRET = `whsec_${KEY.toString("base64")}`;
const BODY = '{"type":"webhook.test","data":{"url":"https://example.com/ç"}}';

function headersAt(timestampS: number, secrets = [KEY]) {
  return buildSignatureHeaders({ id: "019aa2f0-7c1e-7b3a-9d52-4f0c6b8e1a27", timestampS, body: BODY }, secrets);
}

test("the docs' code for Node takes what pombo signed, and nothing else", async () => {
  const [, code = ""] = /```js\n(.*?)```/s.exec(webhookWords) ?? [];
  using folder = temporaryFolder();
  const file = join(folder.path, "verify.mjs");
  writeFileSync(file, code);
  const { isGenuine } = (await import(file)) as { isGenuine: Verify };
  const now = Math.floor(Date.now() / 1000);
  const headers = headersAt(now);
  expect(isGenuine(headers, BODY, SECRET)).toBe(true);
  expect(isGenuine(headersAt(now, [Buffer.alloc(32, 1), KEY]), BODY, SECRET)).toBe(true);
  const refused: [headers: Record<string, string>, body: string][] = [
    [headers, `${BODY} `],
    [headersAt(now, [Buffer.alloc(32, 1)]), BODY],
    [headersAt(now - 301), BODY],
    [headersAt(now + 301), BODY],
    [{ ...headers, "webhook-id": "x" }, BODY],
    [{ ...headers, "webhook-timestamp": "" }, BODY],
    [{ ...headers, "webhook-signature": "" }, BODY],
    [{ ...headers, "webhook-signature": "v1," }, BODY],
    [{}, BODY],
  ];
  for (const [given, body] of refused)
    expect([given, body, isGenuine(given, body, SECRET)]).toEqual([given, body, false]);
});

test("the docs say when a call is tried again", () => {
  const [, first = "", last = ""] = /after ([^.]+) and ([^,]+),/s.exec(webhookWords) ?? [];
  const units: Record<string, number> = { s: 1_000, min: 60_000, h: 3_600_000 };
  const times = [...first.split(/,\s+/), last].map((words) => {
    const [, count, unit = ""] = /^(\d+) (s|min|h)$/.exec(words) ?? [];
    return Number(count) * (units[unit] ?? Number.NaN);
  });
  expect(times).toEqual(RETRY_MS);
});
