import { describe, expect, test } from "bun:test";
import { systemClock as clock } from "../../../../../src/platform/clock.ts";
import { Elysia } from "elysia";
import { createBodyBudget } from "../../../../../src/platform/http/body/budget.ts";
import { getBodyHash, bodyPlugin } from "../../../../../src/platform/http/body/read.ts";
import { errorsPlugin } from "../../../../../src/platform/http/errors.ts";

const LIMITS = { batchBytes: 6_000_000, sendBytes: 1_000, otherBytes: 100 };

const JSON_TYPE = { "content-type": "application/json" };

interface Told {
  status: number;
  code: string | undefined;
  message: string;
  body: unknown;
  hash: string | undefined;
  bugs: unknown[];
}

type Sent = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

/** What an API that answers what it read answers. */
async function post(path: string, body: Sent, headers: Record<string, string> = JSON_TYPE): Promise<Told> {
  const bugs: unknown[] = [];
  const log = { event: () => undefined, error: (_: string, error: unknown) => void bugs.push(error) };
  const app = new Elysia({ aot: false, normalize: false })
    .use(errorsPlugin(log, () => []))
    .use(
      bodyPlugin(LIMITS, {
        clock,
        getOwner: () => "one",
        budget: createBodyBudget(10_000_000, clock),
        isHashed: () => true,
      }),
    )
    .post("/*", ({ body: read, request }) => ({ read, hash: getBodyHash(request).toString("hex") }));
  const response = await app.handle(new Request(`http://localhost${path}`, { method: "POST", body, headers }));
  const answer = (await response.json()) as {
    errors?: { code: string; message: string }[];
    read?: unknown;
    hash?: string;
  };
  const [error] = answer.errors ?? [];
  return {
    status: response.status,
    code: error?.code,
    message: error?.message ?? "",
    body: answer.read,
    hash: answer.hash,
    bugs,
  };
}

/** A body that comes in pieces and without its length. */
function pieces(chunks: string[], taken: { count: number } = { count: 0 }): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      const chunk = chunks[next++];
      taken.count = next;
      if (chunk === undefined) controller.close();
      else controller.enqueue(Buffer.from(chunk));
    },
  });
}

describe("a body is read", () => {
  test.each([
    "application/json",
    "application/json; charset=utf-8",
    "APPLICATION/JSON",
    "application/json ;x",
    "application/problem+json",
    "application/vnd.api+json",
  ])("as %s", async (type) => {
    expect(await post("/x", '{"a":1}', { "content-type": type })).toMatchObject({ status: 200, body: { a: 1 } });
  });

  test("in pieces, without its length", async () => {
    expect(await post("/x", pieces(['{"a":"', "é".repeat(10), '"}']))).toMatchObject({
      status: 200,
      body: { a: "é".repeat(10) },
    });
  });

  test.each([
    ["in one piece", (sent: string) => sent],
    ["in pieces", (sent: string) => pieces([...sent])],
  ])("%s, and its hash is of the bytes as they came", async (_, made) => {
    const sent = '{ "a" : 1 }';
    const told = await post("/x", made(sent));
    expect(told.body).toEqual({ a: 1 });
    expect(told.hash).toBe(new Bun.CryptoHasher("sha256").update(sent).digest("hex"));
  });
});

test("a large body is read whole, whether its length is announced or not, and a large content in it is left", async () => {
  const content = "QUJD".repeat(1_200_000);
  const sent = Buffer.from(`{"content":"${content}","b":"${"x".repeat(300_000)}"}`);
  const hash = new Bun.CryptoHasher("sha256").update(sent).digest("hex");
  const chunks = Array.from({ length: Math.ceil(sent.length / 70_000) }, (_, n) =>
    sent.subarray(n * 70_000, (n + 1) * 70_000).toString("latin1"),
  );
  for (const length of [undefined, String(sent.length)]) {
    const headers = { ...JSON_TYPE, ...(length === undefined ? {} : { "content-length": length }) };
    const told = await post("/x/emails/batch", pieces(chunks), headers);
    expect([told.status, told.hash]).toEqual([200, hash]);
    expect(told.body).toEqual({ content: { length: content.length }, b: "x".repeat(300_000) });
  }
});

describe("a body is refused", () => {
  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "application/json5",
    "text/json",
    "json",
    "application/xml; a=application/json",
  ])("as %s: 415", async (type) => {
    expect(await post("/x", '{"a":1}', { "content-type": type })).toMatchObject({
      status: 415,
      code: "UNSUPPORTED_MEDIA_TYPE",
    });
  });

  test.each([
    ["cut off", '{"a":'],
    ["of single quotes", "{'a':1}"],
    ["with a comma too many", '{"a":1,}'],
    ["with something after it", '{"a":1} x'],
    ["a list", "[1]"],
    ["a text", '"x"'],
    ["null", "null"],
    ["empty", " "],
    ["NaN", '{"a":NaN}'],
    ["a control character in a text", '{"a":"\n"}'],
    ["not UTF-8", new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ["half a character", new Uint8Array([0x7b, 0x22, 0xc3])],
    ["of ten thousand brackets", "[".repeat(90)],
  ])("%s: 400", async (_, body) => {
    const told = await post("/x", body);
    expect(told).toMatchObject({ status: 400, code: "INVALID_JSON", bugs: [] });
    expect(told.message.length).toBeLessThanOrEqual(200);
  });

  test("nested as deep behind long strings, whose brackets and quotes count for nothing", async () => {
    const long = JSON.stringify(`${'\\"[{'.repeat(200_000)}${"x".repeat(300)}\\`);
    const nested = (depth: number) => `{"a":${long},"b":${"[".repeat(depth)}${"]".repeat(depth)}}`;
    expect(await post("/emails/batch", nested(31))).toMatchObject({ status: 200 });
    expect(await post("/emails/batch", nested(32))).toMatchObject({ status: 400 });
    for (const text of ["x".repeat(700_000), "\\\\".repeat(400_000), `${"x".repeat(700_000)}\\\\`])
      expect(await post("/emails/batch", `{"a":"${text}","b":${"[".repeat(32)}`)).toMatchObject({
        message: "The body is nested more than 32 levels deep",
      });
  });

  test("nested deeper than any request is", async () => {
    const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    expect(await post("/emails", nested(30))).toMatchObject({ status: 200 });
    expect(await post("/emails", nested(40))).toMatchObject({ status: 400, code: "INVALID_JSON" });
    expect(await post("/emails/batch", nested(600_000))).toMatchObject({ status: 400, code: "INVALID_JSON" });
  });

  test("that is longer than its route allows, announced or not, and no byte earlier", async () => {
    for (const [path, limit] of [
      ["/x", 100],
      ["/api/v1/emails", 1_000],
      ["/api/v1/operator/workspaces/x/suppressions/import", 1_000],
      ["/api/v1/suppressions", 100],
    ] as const) {
      const fits = `{"a":"${"x".repeat(limit - 8)}"}`;
      const over = `{"a":"${"x".repeat(limit - 7)}"}`;
      expect([fits.length, over.length]).toEqual([limit, limit + 1]);
      expect((await post(path, fits)).status).toBe(200);
      expect((await post(path, pieces([fits]))).status).toBe(200);
      expect(await post(path, over)).toMatchObject({ status: 413, code: "PAYLOAD_TOO_LARGE" });
      expect((await post(path, pieces([over]))).status).toBe(413);
      expect((await post(path, over, { ...JSON_TYPE, "content-length": String(over.length) })).status).toBe(413);
    }
  });

  test("without reading it to its end once it is too long", async () => {
    const taken = { count: 0 };
    const told = await post(
      "/x",
      pieces(
        Array.from({ length: 1_000 }, () => "x".repeat(50)),
        taken,
      ),
    );
    expect(told.status).toBe(413);
    expect(taken.count).toBeLessThan(20);
  });

  test("that is announced as too long, without reading any of it", async () => {
    const taken = { count: 0 };
    const told = await post(
      "/x",
      pieces(
        Array.from({ length: 10 }, () => "x"),
        taken,
      ),
      { ...JSON_TYPE, "content-length": "101" },
    );
    expect(told.status).toBe(413);
    expect(taken.count).toBeLessThan(3);
  });
});

test("members named like an object's own do nothing to it", async () => {
  const told = await post("/x", '{"__proto__":{"polluted":1},"a":1}');
  expect(told.status).toBe(200);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});
