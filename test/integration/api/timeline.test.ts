import { expect, test } from "bun:test";
import type { Json } from "../../support/fakes/instance.ts";
import { drop } from "../../support/fakes/mx.ts";
import { expectErrors, TIMESTAMP, UNKNOWN_ID } from "../../support/api/kit.ts";
import {
  ask,
  attempted,
  gate,
  HOUR,
  LATER,
  MINUTE,
  NOON,
  recordOf,
  restrictedKey,
  send,
  startAtNoon,
  timelineOf,
} from "../../support/api/one-email.ts";

const at = (ms: number) => new Date(ms).toISOString();
const typesOf = (entries: Json[]) => entries.map(({ type }) => type);

/** The members that every entry of an attempt has. */
const ATTEMPT = [
  ...["type", "at", "reason", "attempt", "startedAt", "endedAt", "outcome", "category"],
  ...["egress", "host", "address", "tls", "stage", "code", "enhancedCode", "reply", "tries"],
].toSorted();

test("a delivered email's timeline is its acceptance and the attempt, with host, address, code and reply", async () => {
  await using held = await startAtNoon({ dot: "250 2.6.0 Queued as 4711" });
  const { pombo } = held;
  const id = await attempted(pombo);
  const now = at(NOON);
  expect(await timelineOf(pombo, id)).toEqual([
    { type: "email.queued", at: now, reason: null },
    {
      ...{ type: "email.delivered", at: now, reason: null, attempt: 1, startedAt: now, endedAt: now },
      ...{ outcome: "delivered", category: null, host: "mx.example.com", address: "127.0.0.1", tls: null },
      ...{ egress: null, stage: "dot", code: 250, enhancedCode: "2.6.0", reply: "2.6.0 Queued as 4711", tries: null },
    },
  ]);
});

test("a running attempt stands last as email.sending, and then as what came of it", async () => {
  const atRcpt = gate();
  await using held = await startAtNoon({ rcpt: atRcpt.step });
  const { pombo } = held;
  const id = await send(pombo);
  await atRcpt.reached;
  held.clock.advance(1_000);
  const [queued, sending, ...others] = await timelineOf(pombo, id);
  expect([queued, others]).toEqual([{ type: "email.queued", at: at(NOON), reason: null }, []]);
  expect(sending).toMatchObject({ type: "email.sending", at: at(NOON), attempt: 1, startedAt: at(NOON) });
  expect([sending.endedAt, sending.outcome, Object.keys(sending).toSorted()]).toEqual([null, null, ATTEMPT]);
  atRcpt.open(LATER);
  await pombo.app.worker.idle();
  const [, delayed] = await timelineOf(pombo, id);
  expect(delayed).toMatchObject({
    ...{ type: "email.delivery_delayed", at: at(NOON + 1_000), startedAt: at(NOON), endedAt: at(NOON + 1_000) },
    ...{ outcome: "deferred", stage: "rcpt", code: 450, enhancedCode: "4.2.0", reply: "4.2.0 Come back later" },
  });
});

test("several attempts stand in their order, and the one that refused for good has the reason", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const id = await attempted(pombo);
  await held.advance(2 * MINUTE);
  await pombo.app.worker.idle();
  pombo.mx.script = { rcpt: "550 5.1.1 No such user" };
  await held.advance(6 * MINUTE);
  await pombo.app.worker.idle();
  const entries = await timelineOf(pombo, id);
  expect(typesOf(entries)).toEqual([
    "email.queued",
    "email.delivery_delayed",
    "email.delivery_delayed",
    "email.bounced",
  ]);
  expect(entries.slice(1).map(({ attempt, category }) => [attempt, category])).toEqual([
    [1, expect.any(String)],
    [2, expect.any(String)],
    [3, "invalid_recipient"],
  ]);
  expect(entries.map(({ reason }) => reason)).toEqual([null, null, null, "550 5.1.1 No such user (mx.example.com)"]);
  const times = entries.map((entry) => entry.at);
  expect(times).toEqual(times.toSorted());
  for (const entry of entries) expect(entry.at).toMatch(TIMESTAMP);
});

test("an attempt over several hosts tells of each: the one that refused the connection, and the one that answered 250", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  pombo.dns.zone["example.com"] = {
    MX: [
      [5, "mx1.example.com"],
      [10, "mx.example.com"],
    ],
  };
  // Nobody listens there on the mail server's port.
  pombo.dns.zone["mx1.example.com"] = { A: ["127.0.0.2"] };
  const [, attempt] = await timelineOf(pombo, await attempted(pombo));
  expect(attempt).toMatchObject({ type: "email.delivered", host: "mx.example.com", address: "127.0.0.1", code: 250 });
  expect(attempt.tries).toEqual([
    {
      ...{ host: "mx1.example.com", address: "127.0.0.2", reused: false, tls: null, stage: "connect" },
      ...{ code: null, enhancedCode: null, reply: expect.stringMatching(/refused/i), endedAt: at(NOON) },
    },
    {
      ...{ host: "mx.example.com", address: "127.0.0.1", reused: false, tls: null, stage: "dot" },
      ...{ code: 250, enhancedCode: "2.0.0", reply: "2.0.0 Queued", endedAt: at(NOON) },
    },
  ]);
});

test("TLS is told by version and cipher, and broken TLS as the try before the one in clear", async () => {
  await using held = await startAtNoon({ tls: "good" });
  const { pombo } = held;
  const [, secured] = await timelineOf(pombo, await attempted(pombo));
  expect([secured.tls, secured.tries]).toEqual([expect.stringMatching(/^TLSv1\.[23] \S+$/), null]);
  // Past the session's idle time.
  await held.advance(MINUTE);
  pombo.mx.script = { tls: "garbage" };
  const [, clear] = await timelineOf(pombo, await attempted(pombo));
  expect(clear).toMatchObject({ type: "email.delivered", tls: null });
  expect(clear.tries).toMatchObject([
    { host: "mx.example.com", stage: "starttls", code: null, tls: null },
    { host: "mx.example.com", stage: "dot", code: 250, tls: null },
  ]);
});

test("a session left open that had died stands before the new connection", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  await attempted(pombo);
  pombo.mx.script = { mail: (_, connection) => (connection.messages.length > 0 ? "421 4.3.2 Enough" : "250 Ok") };
  const [, attempt] = await timelineOf(pombo, await attempted(pombo));
  expect(attempt).toMatchObject({ type: "email.delivered", attempt: 1 });
  expect(attempt.tries).toMatchObject([
    { reused: true, stage: "mail", code: 421 },
    { reused: false, stage: "dot", code: 250 },
  ]);
});

test("trouble before any connection has no host and says where it was", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await attempted(pombo, { to: "maria@nowhere.test" });
  const [, attempt] = await timelineOf(pombo, id);
  expect(attempt).toMatchObject({
    ...{ type: "email.delivery_delayed", host: null, address: null, stage: "dns", code: null, tries: null },
    reply: (await recordOf(pombo, id)).lastReply,
  });
});

test("an end that no attempt brought has an entry of its own, with its time and reason", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const canceled = await attempted(pombo);
  const expired = await attempted(pombo, { to: "joana@example.com" });
  const suppressed = await attempted(pombo, { to: "ana@example.com" });
  held.clock.advance(1_000);
  await ask(pombo, canceled, "cancel");
  pombo.app.db.sqlite
    .query(
      `INSERT INTO suppression (workspace_id, channel, address, reason, created_at)
       SELECT workspace_id, 'email', 'ana@example.com', 'manual', 0 FROM email WHERE uid = ?`,
    )
    .run(suppressed);
  await ask(pombo, suppressed, "retry");
  await pombo.app.worker.idle();
  for (let hours = 0; hours < 75; hours += 1) {
    await held.advance(HOUR);
    await pombo.app.worker.idle();
  }
  expect((await timelineOf(pombo, canceled)).slice(1)).toMatchObject([
    { type: "email.delivery_delayed", attempt: 1 },
    { type: "email.canceled", at: at(NOON + 1_000), reason: null },
  ]);
  const entries = await timelineOf(pombo, suppressed);
  expect(typesOf(entries)).toEqual(["email.queued", "email.delivery_delayed", "email.suppressed"]);
  expect(entries[2]).toEqual({
    type: "email.suppressed",
    at: at(NOON + 1_000),
    reason: (await recordOf(pombo, suppressed)).failedReason,
  });
  const long = await timelineOf(pombo, expired);
  expect(long.at(-1)).toEqual({
    ...{
      type: "email.failed",
      at: at(NOON + 72 * HOUR + 1_000),
      reason: (await recordOf(pombo, expired)).failedReason,
    },
  });
  expect(long.slice(1, -1).map(({ attempt }) => attempt)).toEqual(
    Array.from({ length: (await recordOf(pombo, expired)).attempts }, (_, index) => index + 1),
  );
});

test("lost answers are told as unknown, and the one that was too many ends the email in one entry", async () => {
  await using held = await startAtNoon({ dot: drop() });
  const { pombo } = held;
  const id = await attempted(pombo);
  for (let more = 0; more < 2; more += 1) {
    await ask(pombo, id, "retry");
    await pombo.app.worker.idle();
  }
  const entries = await timelineOf(pombo, id);
  expect(entries.slice(1).map(({ type, outcome, stage }) => [type, outcome, stage])).toEqual([
    ["email.delivery_delayed", "unknown", "dot"],
    ["email.delivery_delayed", "unknown", "dot"],
    ["email.failed", "unknown", "dot"],
  ]);
  expect(entries[3].reason).toStartWith("Given up after 3 attempts");
});

test("an attempt that a crash cut off after its dot is told without a host", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const id = await attempted(pombo);
  pombo.app.db.sqlite
    .query("UPDATE email_queue SET in_flight = 1, attempts = 2, started_at = ?, dot_at = ?, next_at = ?")
    .run(NOON + 20_000, NOON + 21_000, NOON + 6 * MINUTE);
  expect((await timelineOf(pombo, id)).at(-1)).toMatchObject({ type: "email.sending", attempt: 2 });
  await pombo.restart();
  expect((await timelineOf(pombo, id)).at(-1)).toMatchObject({
    ...{ type: "email.delivery_delayed", attempt: 2, outcome: "unknown", host: null, stage: "dot" },
    ...{ startedAt: at(NOON + 20_000), endedAt: at(NOON + 21_000), tries: null },
  });
});

test("a timeline's id may be in either case; malformed is 422, unknown 404, and a restricted key sees its domain's alone", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const key = await restrictedKey(held, "one.test");
  const own = await attempted(pombo, { from: "a@one.test" });
  const others = await attempted(pombo);
  const get = (id: string, options = {}) => pombo.workspace.call("GET", `/api/v1/emails/${id}/events`, options);
  expect((await get(own.toUpperCase())).body).toEqual((await get(own)).body);
  expect((await get(own, { key })).body).toEqual((await get(own)).body);
  expectErrors(await get(others, { key }), 404, [{ code: "NOT_FOUND" }]);
  expectErrors(await get(UNKNOWN_ID), 404, [{ code: "NOT_FOUND" }]);
  expectErrors(await get("x"), 422, [{ field: "id", message: "id must be a UUID" }]);
  expectErrors(await get(own, { key: pombo.operator.key }), 403, [{ code: "API_KEY_RESTRICTED" }]);
});

test("of very many attempts the last thousand are told", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const id = await attempted(pombo);
  pombo.app.db.sqlite.run(
    `WITH RECURSIVE n (number) AS (VALUES (2) UNION ALL SELECT number + 1 FROM n WHERE number < 1200)
     INSERT INTO attempt (email_id, number, started_at, ended_at, outcome)
     SELECT email_id, n.number, started_at + n.number, ended_at + n.number, outcome FROM attempt, n WHERE attempt.number = 1`,
  );
  const entries = await timelineOf(pombo, id);
  expect(entries).toHaveLength(1_001);
  expect([entries[1].attempt, entries.at(-1).attempt]).toEqual([201, 1_200]);
});
