import { connect } from "node:net";
import { expect, test } from "bun:test";
import { type Instance, type RequestOptions, startInstance } from "../../support/fakes/instance.ts";
import { errorItems, exchange, expectErrors, head, omit, totalOf } from "../../support/api/kit.ts";

const EMAILS = "/api/v1/emails";
const BATCH = "/api/v1/emails/batch";
const MIB = 1024 * 1024;

const post = (
  pombo: Instance,
  path: string,
  rawBody: RequestOptions["rawBody"],
  headers: Record<string, string> = {},
) => pombo.workspace.call("POST", path, { ...(rawBody === undefined ? {} : { rawBody }), headers });

/** The JSON of a value with spaces after it, `bytes` long. */
function padded(value: unknown, bytes: number): Uint8Array {
  const json = Buffer.from(JSON.stringify(value));
  return Buffer.concat([json, Buffer.alloc(bytes - json.length, " ")]);
}

test("what is not JSON, not UTF-8 or not an object is 400, and nothing is accepted", async () => {
  await using pombo = await startInstance();
  const good = JSON.stringify(pombo.email());
  const bodies: [what: string, body: string | Uint8Array][] = [
    ...[
      "{",
      "}",
      "{]",
      "nul",
      "{'from':1}",
      '{"from":}',
      '{"from":"a",}',
      `${good}x`,
      `${good}${good}`,
      '{"a":"\n"}',
      '{"a":01}',
      "NaN",
      "\0",
      " ",
      "%7B%7D",
      "from=a",
    ].map((text): [string, string] => [text, text]),
    ...["[]", "5", "null", "true", '"x"', `[${good}]`].map((text): [string, string] => [text, text]),
    ["a body cut off", good.slice(0, -1)],
    ["a character cut off", Buffer.from(good).subarray(0, Buffer.from(good).indexOf("á") + 1)],
    ["half a character inside", Buffer.from('{"from":"\xc3"}', "latin1")],
    ["an overlong form", Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')])],
    [
      "a surrogate in UTF-8",
      Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ],
    ["UTF-16", Buffer.from(good, "utf16le")],
    ["gzip", Bun.gzipSync(Buffer.from(good))],
  ];
  for (const [what, body] of bodies) {
    const answer = await post(pombo, EMAILS, body);
    expect([what, answer.status]).toEqual([what, 400]);
    expectErrors(answer, 400, [{ code: "INVALID_JSON", message: /^The body / }]);
  }
  expect(await totalOf(pombo.workspace)).toBe(0);
  expect(pombo.bugs).toEqual([]);
});

test("a byte order mark and white space around the JSON are no fault", async () => {
  await using pombo = await startInstance();
  expect((await post(pombo, EMAILS, `\ufeff \n${JSON.stringify(pombo.email())}\r\n\t `)).status).toBe(202);
});

test("a missing body is 400, whichever way it is missing", async () => {
  await using pombo = await startInstance();
  const key = { "X-API-Key": pombo.workspace.key };
  const missing = { code: "INVALID_JSON", message: "The body is missing" };
  expectErrors(await pombo.workspace.call("POST", EMAILS), 400, [missing]);
  expectErrors(await post(pombo, EMAILS, undefined, { "content-type": "application/json" }), 400, [missing]);
  expectErrors(await exchange(pombo.app.url, head(`POST ${EMAILS}`, { ...key, "Content-Length": 0 })), 400, [missing]);
  const chunked = { ...key, "Content-Type": "application/json", "Transfer-Encoding": "chunked" };
  expectErrors(await exchange(pombo.app.url, head(`POST ${EMAILS}`, chunked), "0\r\n\r\n"), 400, [missing]);
});

test("a body that is not application/json, or of no type, is 415", async () => {
  await using pombo = await startInstance();
  const body = JSON.stringify(pombo.email());
  const refused = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "text/json",
    "application/octet-stream",
    "json",
    "x".repeat(5000),
  ];
  for (const type of refused) {
    const answer = await post(pombo, EMAILS, body, { "content-type": type });
    expectErrors(answer, 415, [{ code: "UNSUPPORTED_MEDIA_TYPE", message: "The body must be application/json;" }]);
    expect(answer.text.length).toBeLessThan(500);
  }
  const untyped = head(`POST ${EMAILS}`, {
    "X-API-Key": pombo.workspace.key,
    "Content-Length": Buffer.byteLength(body),
  });
  expectErrors(await exchange(pombo.app.url, untyped, body), 415, [
    { code: "UNSUPPORTED_MEDIA_TYPE", message: "it came without a Content-Type" },
  ]);
  for (const type of [
    "application/json",
    "Application/JSON; charset=utf-8",
    "application/json;charset=UTF-8",
    "application/vnd.loja.v1+json",
  ]) {
    expect([type, (await post(pombo, EMAILS, body, { "content-type": type })).status]).toEqual([type, 202]);
  }
});

test("members with the names of an object's own are unknown members and pollute nothing", async () => {
  await using pombo = await startInstance();
  const names = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];
  const strange = names.map((name) => `"${name}":{"polluted":true,"to":"evil@example.com"}`).join(",");
  const good = JSON.stringify(pombo.email());
  expectErrors(
    await post(pombo, EMAILS, `{${strange},${good.slice(1)}`),
    422,
    names.map((field) => ({ field })),
  );
  expectErrors(await post(pombo, BATCH, `{"emails":[{"__proto__":{"to":"a@example.com"},${good.slice(1)}]}`), 422, [
    { field: "__proto__", path: "emails[0].__proto__" },
  ]);
  const inherited = JSON.stringify(omit(pombo.email(), "to")).slice(1);
  expectErrors(await post(pombo, EMAILS, `{"__proto__":{"to":"a@example.com"},${inherited}`), 422, [
    { field: "__proto__" },
    { field: "to" },
  ]);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});

test("a body may be as long as its route allows and no byte longer", async () => {
  await using pombo = await startInstance();
  const routes: [path: string, body: unknown, limit: number, status: number, hint: string][] = [
    [EMAILS, pombo.email(), 28 * MIB, 202, "Send less"],
    [BATCH, { emails: [pombo.email()] }, 32 * MIB, 202, "Split the batch"],
    ["/api/v1/auth/keys", { name: "x" }, 64 * 1024, 201, "Send less"],
    ["/api/v1/domains", { domain: "big.test" }, 64 * 1024, 201, "Send less"],
  ];
  for (const [path, body, limit, status, hint] of routes) {
    const over = padded(body, limit + 1);
    for (const rawBody of [over, new Blob([over]).stream()]) {
      const refused = await post(pombo, path, rawBody);
      expectErrors(refused, 413, [
        { code: "PAYLOAD_TOO_LARGE", message: `larger than ${(limit / 1024).toLocaleString("en")} KiB` },
      ]);
      expect(errorItems(refused)[0]?.hint).toContain(hint);
    }
    const fitting = await post(
      pombo,
      path,
      path === BATCH ? new Blob([over.subarray(0, limit)]).stream() : over.subarray(0, limit),
    );
    expect([path, fitting.status]).toEqual([path, status]);
  }
}, 30_000);

test("bodies far beyond every limit are 413 with words, and 10 MB of text names the field", async () => {
  await using pombo = await startInstance();
  const key = { "X-API-Key": pombo.workspace.key, "Content-Type": "application/json" };
  for (const bytes of [29 * MIB, 40 * MIB, 1e12]) {
    const answer = await exchange(pombo.app.url, head(`POST ${EMAILS}`, { ...key, "Content-Length": bytes }));
    expectErrors(answer, 413, [{ code: "PAYLOAD_TOO_LARGE" }]);
  }
  expectErrors(await post(pombo, EMAILS, padded(pombo.email(), 40 * MIB)), 413, [{ code: "PAYLOAD_TOO_LARGE" }]);
  const long = await pombo.workspace.call("POST", EMAILS, { body: pombo.email({ text: "x".repeat(10_000_000) }) });
  expectErrors(long, 422, [{ field: "text", message: "at most 100,000 characters" }]);
}, 30_000);

test("a Content-Length that lies accepts nothing", async () => {
  await using pombo = await startInstance();
  const body = JSON.stringify(pombo.email());
  const headers = { "X-API-Key": pombo.workspace.key, "Content-Type": "application/json" };
  const short = await exchange(pombo.app.url, head(`POST ${EMAILS}`, { ...headers, "Content-Length": 20 }), body);
  expectErrors(short, 400, [{ code: "INVALID_JSON" }]);
  await abandon(pombo, `${head(`POST ${EMAILS}`, { ...headers, "Content-Length": body.length + 100 })}${body}`);
  await abandon(pombo, `${head(`POST ${EMAILS}`, { ...headers, "Transfer-Encoding": "chunked" })}ffff\r\n${body}`);
  const twice: Record<string, string>[] = [
    { "Content-Length": "5\r\nContent-Length: 6" },
    { "Content-Length": "-1" },
    { "Content-Length": "x" },
    { "Content-Length": "5", "Transfer-Encoding": "chunked" },
  ];
  for (const lengths of twice) {
    expect([
      lengths,
      (await exchange(pombo.app.url, head(`POST ${EMAILS}`, { ...headers, ...lengths }), body)).status,
    ]).toEqual([lengths, 400]);
  }
  expect(await totalOf(pombo.workspace)).toBe(0);
  expect(pombo.bugs).toEqual([]);
});

/** Sends part of a request and goes away. */
async function abandon(pombo: Instance, part: string): Promise<void> {
  const socket = connect(Number(new URL(pombo.app.url).port), "127.0.0.1");
  await new Promise<void>((written) => socket.write(part, () => written()));
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.destroy();
  await closed;
}

test("deep nesting is 400 at any depth and length", async () => {
  await using pombo = await startInstance();
  const nested = (levels: number) => `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
  expectErrors(
    await post(pombo, EMAILS, nested(32)),
    422,
    ["a", "from", "to", "subject", "html"].map((field) => ({ field })),
  );
  const inObjects = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
  for (const body of [nested(33), nested(100_000), inObjects, nested(7_000_000), `{"a":${"[".repeat(15_000_000)}`]) {
    const startedAt = performance.now();
    expectErrors(await post(pombo, EMAILS, body), 400, [
      { code: "INVALID_JSON", message: "nested more than 32 levels deep" },
    ]);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  }
  // Brackets inside a string nest nothing.
  expect(
    (
      await pombo.workspace.call("POST", EMAILS, {
        body: pombo.email({ text: `${"[".repeat(1000)}\\"${"{".repeat(1000)}` }),
      })
    ).status,
  ).toBe(202);
}, 30_000);

test("a body of millions of values is refused before they are made", async () => {
  await using pombo = await startInstance();
  const bodies = [
    `{"emails":[${"0,".repeat(3_000_000)}0]}`,
    `{"emails":[${"[],".repeat(8_000_000)}0]}`,
    `{${Array.from({ length: 300_000 }, (_, index) => `"k${index}":0`).join(",")}}`,
  ];
  const before = process.memoryUsage.rss();
  for (const body of bodies) {
    const startedAt = performance.now();
    const answer = await post(pombo, BATCH, body);
    expectErrors(answer, 413, [{ code: "PAYLOAD_TOO_LARGE", message: "more than 250,000 values" }]);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  }
  expect(process.memoryUsage.rss() - before).toBeLessThan(400 * MIB);
}, 30_000);

const FIELDS = ["from", "to", "subject", "replyTo", "html", "text"];

test("a name of blanks is 422: of a key, a workspace, a sender id", async () => {
  await using pombo = await startInstance();
  const own = `/api/v1/operator/workspaces/${pombo.workspace.id}`;
  const requests = [
    pombo.operator.call("PATCH", own, { body: { name: "  " } }),
    pombo.operator.call("POST", `${own}/keys`, { body: { name: "  " } }),
    pombo.operator.call("POST", `${own}/sender-ids`, { body: { name: "  " } }),
    pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "\u00a0" } }),
  ];
  for (const { status, body } of await Promise.all(requests))
    expect([status, body.errors[0].code, body.errors[0].field]).toEqual([422, "VALIDATION_ERROR", "name"]);
});

test("half a surrogate pair is 422 in every field, and so is NUL", async () => {
  await using pombo = await startInstance();
  for (const field of FIELDS) {
    for (const half of ["\\ud800", "\\udc00", "a\\ud83dz"]) {
      const rawBody = JSON.stringify(pombo.email({ [field]: "@" })).replace('"@"', `"${half}"`);
      expectErrors(await post(pombo, EMAILS, rawBody), 422, [{ field, message: `${field} must be valid Unicode` }]);
    }
    expectErrors(
      await pombo.workspace.call("POST", EMAILS, { body: pombo.email({ [field]: "a\0b@example.com" }) }),
      422,
      [{ field }],
    );
  }
});
