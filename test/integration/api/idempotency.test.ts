import { expect, test } from "bun:test";
import { type Answer, type Instance, startInstance } from "../../support/fakes/instance.ts";
import { errorItems, exchange, expectErrors, head, startHeld, totalOf } from "../../support/api/kit.ts";

const EMAILS = "/api/v1/emails";
const BATCH = "/api/v1/emails/batch";
const DAY_MS = 24 * 60 * 60 * 1000;

const send = (
  pombo: Instance,
  key: string,
  changes: Record<string, unknown> = {},
  headers: Record<string, string> = {},
) =>
  pombo.workspace.call("POST", EMAILS, { body: pombo.email(changes), headers: { "idempotency-key": key, ...headers } });

const isReplay = (answer: Answer) => answer.headers.get("idempotent-replayed") === "true";

test("of 200 twins at once, over all kinds of connections, one sends and all get its answer", async () => {
  await using pombo = await startInstance();
  const key = "order-4711";
  const body = JSON.stringify(pombo.email());
  const headers = { "X-API-Key": pombo.workspace.key, "Content-Type": "application/json", "Idempotency-Key": key };
  const url = pombo.app.url;
  const announced = () =>
    exchange(url, head(`POST ${EMAILS}`, { ...headers, "Content-Length": body.length + 1 }), Buffer.from(body));
  const chunked = () =>
    exchange(
      url,
      head(`POST ${EMAILS}`, { ...headers, "Transfer-Encoding": "chunked" }),
      `${Buffer.byteLength(body).toString(16)}\r\n`,
      body,
      "\r\n0\r\n\r\n",
    );
  const kinds = [() => send(pombo, key), announced, () => send(pombo, key), chunked];
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) => kinds[index % kinds.length]?.() ?? send(pombo, key)),
  );
  expect(answers.filter(({ status }) => status !== 202)).toEqual([]);
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(answers.filter((answer) => !isReplay(answer))).toHaveLength(1);
  expect(answers.filter((answer) => answer.headers.has("idempotency-mismatch"))).toEqual([]);
  expect(new Set(answers.map((answer) => answer.headers.get("x-request-id"))).size).toBe(200);
  await pombo.mx.until(() => pombo.mx.messages.length > 0);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toHaveLength(1);
  expect(await totalOf(pombo.workspace)).toBe(1);
  expect(pombo.bugs).toEqual([]);
}, 30_000);

test("a replay is the first answer byte for byte, marked as replayed, for a batch too, and after a restart", async () => {
  await using pombo = await startInstance();
  const emails = Array.from({ length: 30 }, () => pombo.email());
  const batch = () => pombo.workspace.call("POST", BATCH, { body: { emails }, headers: { "idempotency-key": "b" } });
  const single = await send(pombo, "a");
  const many = await batch();
  expect([isReplay(single), isReplay(many)]).toEqual([false, false]);
  const instance = { url: pombo.app.url };
  await pombo.restart();
  expect(pombo.app.url).not.toBe(instance.url);
  for (const [first, again] of [
    [single, await send(pombo, "a")],
    [many, await batch()],
  ] as const) {
    expect([again.status, again.text, isReplay(again)]).toEqual([202, first.text, true]);
    expect(again.headers.get("content-type")).toBe(first.headers.get("content-type"));
  }
  expect(await totalOf(pombo.workspace)).toBe(31);
});

test("keys are trimmed and cut to 255 characters, X-Idempotency-Key is the same header, an empty key is none", async () => {
  await using pombo = await startInstance();
  const long = "k".repeat(255);
  const first = await send(pombo, long);
  const same: Record<string, string>[] = [
    { "idempotency-key": `  ${long}\t` },
    { "idempotency-key": `${long}what comes after` },
    { "x-idempotency-key": long },
    { "idempotency-key": "  ", "x-idempotency-key": long },
    { "idempotency-key": long, "x-idempotency-key": "another" },
  ];
  const call = (headers: Record<string, string>) =>
    pombo.workspace.call("POST", EMAILS, { body: pombo.email(), headers });
  for (const headers of same) {
    const answer = await call(headers);
    expect([headers, answer.text, isReplay(answer)]).toEqual([headers, first.text, true]);
  }
  const others: Record<string, string>[] = [
    { "idempotency-key": long.slice(1) },
    { "idempotency-key": long.toUpperCase() },
    { "idempotency-key": `x${long}` },
    { "idempotency-key": "" },
    { "idempotency-key": " \t " },
    {},
    {},
  ];
  const ids = new Set([first.body.data.id]);
  for (const headers of others) {
    const answer = await call(headers);
    expect([answer.status, isReplay(answer)]).toEqual([202, false]);
    ids.add(answer.body.data.id);
  }
  expect(ids.size).toBe(1 + others.length);
});

test("another body under the same key gets the first answer with a mark and a log line, or 409 when strict", async () => {
  await using pombo = await startInstance();
  const first = await send(pombo, "k");
  expect(first.headers.has("idempotency-mismatch")).toBe(false);
  const other = await send(pombo, "k", { subject: "another" });
  expect([other.status, other.text, isReplay(other)]).toEqual([202, first.text, true]);
  expect(other.headers.get("idempotency-mismatch")).toBe("true");
  expect(pombo.events.filter(({ name }) => name === "idempotency.mismatch")).toHaveLength(1);
  const strict = await send(pombo, "k", { subject: "another" }, { "idempotency-strict": "true" });
  expectErrors(strict, 409, [{ code: "IDEMPOTENCY_KEY_REUSED" }]);
  expect(errorItems(strict)[0]?.hint).toContain("Use a new key");
  expect(isReplay(strict)).toBe(false);
  const strictTwin = await send(pombo, "k", {}, { "idempotency-strict": "true" });
  expect([strictTwin.status, strictTwin.text, isReplay(strictTwin)]).toEqual([202, first.text, true]);
  expect(strictTwin.headers.has("idempotency-mismatch")).toBe(false);
  // The refusal changed nothing.
  expect((await send(pombo, "k")).text).toBe(first.text);
  expect(await totalOf(pombo.workspace)).toBe(1);
});

test("a refused request leaves nothing behind, and its key can be used again", async () => {
  await using pombo = await startInstance();
  expect((await send(pombo, "k", { subject: "" })).status).toBe(422);
  expect((await send(pombo, "k", { from: "a@unknown.test" })).status).toBe(422);
  expect(
    (await pombo.workspace.call("POST", EMAILS, { rawBody: "{", headers: { "idempotency-key": "k" } })).status,
  ).toBe(400);
  const accepted = await send(pombo, "k", {}, { "idempotency-strict": "true" });
  expect([accepted.status, isReplay(accepted)]).toEqual([202, false]);
  // A request that is not valid is refused although its key is known: fields come before the replay.
  expect((await send(pombo, "k", { subject: "" })).status).toBe(422);
  expect(isReplay(await send(pombo, "k"))).toBe(true);
});

test("a key holds for one operation, one workspace and one domain of a restricted key", async () => {
  await using pombo = await startInstance();
  const restrictedTo = async (domain: string) => {
    const domainId = await pombo.addDomain(pombo.workspace, domain);
    const { body } = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: domain, domainId } });
    return body.data.key as string;
  };
  const [keyOne, keyTwo] = [await restrictedTo("one.test"), await restrictedTo("two.test")];
  const other = await pombo.newWorkspace();
  await pombo.addDomain(other, "other.test");
  const headers = { "idempotency-key": "same" };
  const post = (key: string, from: string) =>
    pombo.workspace.call("POST", EMAILS, { key, headers, body: pombo.email({ from }) });
  const senders: [key: string, from: string][] = [
    [pombo.workspace.key, "a@loja.test"],
    [keyOne, "a@one.test"],
    [keyTwo, "a@two.test"],
    [other.key, "a@other.test"],
  ];
  const ids = new Set<string>();
  for (const [key, from] of senders) {
    const first = await post(key, from);
    expect([from, first.status, isReplay(first)]).toEqual([from, 202, false]);
    const again = await post(key, from);
    expect([from, again.text, isReplay(again)]).toEqual([from, first.text, true]);
    ids.add(first.body.data.id);
  }
  expect(ids.size).toBe(4);
  const batch = await pombo.workspace.call("POST", BATCH, { headers, body: { emails: [pombo.email()] } });
  expect([batch.status, isReplay(batch), Array.isArray(batch.body.data)]).toEqual([202, false, true]);
}, 30_000);

test("two keys of one workspace share an idempotency key", async () => {
  await using pombo = await startInstance();
  const { body } = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "second" } });
  const first = await send(pombo, "k");
  const again = await pombo.workspace.call("POST", EMAILS, {
    key: body.data.key,
    body: pombo.email(),
    headers: { "idempotency-key": "k" },
  });
  expect([again.text, isReplay(again)]).toEqual([first.text, true]);
});

test("a replay is answered although the domain was deleted since", async () => {
  await using pombo = await startInstance();
  const first = await send(pombo, "k");
  const { body } = await pombo.workspace.call("GET", "/api/v1/domains");
  expect((await pombo.workspace.call("DELETE", `/api/v1/domains/${body.data[0].id}`)).status).toBe(200);
  const again = await send(pombo, "k");
  expect([again.status, again.text, isReplay(again)]).toEqual([202, first.text, true]);
  expect((await send(pombo, "new")).status).toBe(422);
});

test("an answer is kept for 24 hours, and replays do not lengthen that", async () => {
  await using held = await startHeld(Date.UTC(2026, 10, 21, 9));
  const { pombo, advance } = held;
  const first = await send(pombo, "k");
  await advance(DAY_MS / 2);
  expect((await send(pombo, "k")).text).toBe(first.text);
  await advance(DAY_MS / 2);
  const last = await send(pombo, "k");
  expect([last.text, isReplay(last)]).toEqual([first.text, true]);
  await advance(1);
  const anew = await send(pombo, "k");
  expect([anew.status, isReplay(anew), anew.text === first.text]).toEqual([202, false, false]);
  expect((await send(pombo, "k")).text).toBe(anew.text);
  expect(await totalOf(pombo.workspace)).toBe(2);
});

test("answers whose time is over are removed, whether asked for or not", async () => {
  await using held = await startHeld(Date.UTC(2026, 10, 21, 9));
  const { pombo, advance } = held;
  await send(pombo, "old");
  await advance(DAY_MS - 1000);
  await send(pombo, "young");
  const stored = () => pombo.app.db.sqlite.query("SELECT key FROM idempotency ORDER BY key").all();
  expect(stored()).toEqual([{ key: "old" }, { key: "young" }]);
  // The clean-up comes every ten minutes, each after the end of the one before.
  await advance(10 * 60_000);
  await pombo.app.committer.commit(() => null);
  expect(stored()).toEqual([{ key: "young" }]);
});
