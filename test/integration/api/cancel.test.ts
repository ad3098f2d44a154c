import { expect, test } from "bun:test";
import { drop } from "../../support/fakes/mx.ts";
import { errorItems, expectErrors, omit, startHeld, totalOf, UNKNOWN_ID } from "../../support/api/kit.ts";
import {
  ask,
  asked,
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
  totalsOf,
} from "../../support/api/one-email.ts";

const NOT_CANCELABLE = [{ code: "NOT_CANCELABLE" }];

test("a delayed email is canceled: the answer is its record, and it is never sent again", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const id = await attempted(pombo);
  const before = await recordOf(pombo, id);
  expect(before).toMatchObject({ status: "delivery_delayed", attempts: 1 });
  const answer = await ask(pombo, id, "cancel");
  expect(answer.status).toBe(200);
  expect(answer.body.data).toEqual({ ...before, status: "canceled", nextAttemptAt: null, lastReply: null });
  expect(await recordOf(pombo, id)).toEqual(answer.body.data);
  pombo.mx.script = {};
  for (let hours = 0; hours < 80; hours += 1) await held.advance(HOUR);
  await pombo.app.worker.idle();
  expect([asked(pombo, "maria@"), pombo.mx.messages.length]).toEqual([1, 0]);
  expect(pombo.events.filter(({ name }) => name === "email.canceled")).toEqual([
    { name: "email.canceled", fields: { id, attempts: 1 } },
  ]);
  expect(pombo.bugs).toEqual([]);
});

test("an email is canceled before its first attempt; the one in transmission and the one that waits for its session are not", async () => {
  const atRcpt = gate();
  await using held = await startAtNoon({ rcpt: atRcpt.step });
  const { pombo } = held;
  const running = await send(pombo, { to: "first@example.com" });
  await atRcpt.reached;
  const next = await send(pombo, { to: "second@example.com" });
  const queued = await send(pombo, { to: "third@example.com" });
  for (const id of [running, next]) {
    const refused = await ask(pombo, id, "cancel");
    expectErrors(refused, 409, [{ code: "NOT_CANCELABLE", message: "it is sending" }]);
    expect(errorItems(refused)[0]?.hint).toMatch(/^It is sending: an attempt is running\./);
  }
  const canceled = await ask(pombo, queued, "cancel");
  expect(canceled.status).toBe(200);
  expect(canceled.body.data).toMatchObject({ status: "canceled", attempts: 0, providerId: null, failedReason: null });
  atRcpt.open("250 2.1.5 Ok");
  await pombo.app.worker.idle();
  expect(pombo.mx.messages.map(({ to }) => to[0])).toEqual(["first@example.com", "second@example.com"]);
  expectErrors(await ask(pombo, running, "cancel"), 409, [{ code: "NOT_CANCELABLE", message: "it is delivered" }]);
  expect((await recordOf(pombo, running)).status).toBe("delivered");
});

test("of several cancels at once one is answered 200, the others that it is canceled already", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const id = await attempted(pombo);
  const answers = await Promise.all(Array.from({ length: 8 }, () => ask(pombo, id, "cancel")));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 7 }, () => 409)]);
  for (const answer of answers.filter(({ status }) => status === 409)) {
    expectErrors(answer, 409, NOT_CANCELABLE);
    expect(errorItems(answer)[0]?.hint).toStartWith("It is canceled already");
  }
  expect(totalsOf(pombo)).toEqual({ kept: { canceled: 1 }, counted: { canceled: 1 } });
});

test("an email that has come to an end stays as it is, and the hint names its state", async () => {
  await using held = await startAtNoon({
    rcpt: (line) => (line.includes("gone@") ? "550 5.1.1 No such user" : line.includes("later@") ? LATER : "250 Ok"),
  });
  const { pombo } = held;
  const delivered = await attempted(pombo);
  const bounced = await attempted(pombo, { to: "gone@example.com" });
  const setTo = (status: string) =>
    pombo.app.db.sqlite.run(`UPDATE email SET status = '${status}' WHERE uid = '${delivered}'`);
  const other = await attempted(pombo, { to: "later@example.com" });
  expect((await ask(pombo, other, "cancel")).status).toBe(200);
  const cases: [id: string, status: string][] = [
    [delivered, "delivered"],
    [bounced, "bounced"],
    [other, "canceled"],
    ...["sent", "failed", "suppressed", "complained"].map((status): [string, string] => [delivered, status]),
  ];
  for (const [id, status] of cases) {
    if (id === delivered) setTo(status);
    const before = await recordOf(pombo, id);
    expect([id, before.status]).toEqual([id, status]);
    const refused = await ask(pombo, id, "cancel");
    expectErrors(refused, 409, [{ code: "NOT_CANCELABLE", message: `The email cannot be canceled: it is ${status}` }]);
    expect(errorItems(refused)[0]?.hint).toStartWith(`It is ${status}`);
    expect(await recordOf(pombo, id)).toEqual(before);
  }
});

test("an email whose last answer was lost is canceled with the word that it may have been delivered", async () => {
  await using held = await startAtNoon({ dot: drop() });
  const { pombo } = held;
  const id = await attempted(pombo);
  expect(await recordOf(pombo, id)).toMatchObject({ status: "delivery_delayed", possibleDuplicate: true });
  const { status, body } = await ask(pombo, id, "cancel");
  expect([status, body.data.hint]).toEqual([200, expect.stringContaining("may have been delivered")]);
  expect(omit(body.data, "hint")).toEqual(await recordOf(pombo, id));
  expect(errorItems(await ask(pombo, id, "cancel"))[0]?.hint).toMatch(
    /^It is canceled already.+may have been delivered/,
  );
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toHaveLength(1);
});

test("an email that is in no queue, because the worker could not store its outcome, is not called canceled", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const id = await attempted(pombo);
  pombo.app.db.sqlite.run("DELETE FROM email_queue");
  const refused = await ask(pombo, id, "cancel");
  expectErrors(refused, 409, NOT_CANCELABLE);
  expect(errorItems(refused)[0]?.hint).toContain("may have been delivered");
});

test("the list counts a canceled email as before, and its quota is not given back", async () => {
  await using held = await startHeld(NOON, {
    mx: { rcpt: LATER },
    configure: (config) => void Object.assign(config.plans["launch"] ?? {}, { emailsPerDay: 1 }),
  });
  const { pombo } = held;
  const workspace = await pombo.newWorkspace("launch");
  await pombo.addDomain(workspace, "small.test");
  const email = pombo.email({ from: "a@small.test" });
  const { body } = await workspace.call("POST", "/api/v1/emails", { body: email });
  await pombo.app.worker.idle();
  expect((await workspace.call("POST", `/api/v1/emails/${body.data.id}/cancel`)).status).toBe(200);
  expect(await totalOf(workspace)).toBe(1);
  expect(totalsOf(pombo)).toEqual({ kept: { canceled: 1 }, counted: { canceled: 1 } });
  const list = await workspace.call("GET", "/api/v1/emails?include=status");
  expect(list.body.data[0]).toMatchObject({ id: body.data.id, status: "canceled" });
  expect((await workspace.call("POST", "/api/v1/emails", { body: email })).status).toBe(402);
});

test("a cancel needs no body and reads none, but what is sent must be JSON", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const cancelWith = async (options: object) => ask(pombo, await attempted(pombo), "cancel", options);
  expect((await cancelWith({})).status).toBe(200);
  expect((await cancelWith({ body: {} })).status).toBe(200);
  expectErrors(await cancelWith({ rawBody: "{" }), 400, [{ code: "INVALID_JSON" }]);
  expectErrors(await cancelWith({ rawBody: "x", headers: { "content-type": "text/plain" } }), 415, [
    { code: "UNSUPPORTED_MEDIA_TYPE" },
  ]);
  expectErrors(await pombo.workspace.call("GET", `/api/v1/emails/${UNKNOWN_ID}/cancel`), 405, [
    { code: "METHOD_NOT_ALLOWED" },
  ]);
});

test("an id is taken in either case; a malformed one is 422, an unknown one 404", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const id = await attempted(pombo);
  for (const what of ["cancel", "retry"] as const) {
    for (const wrong of ["x", "batch", `${id}0`, id.replaceAll("-", "")])
      expectErrors(await ask(pombo, wrong, what), 422, [{ field: "id", message: "id must be a UUID" }]);
    expectErrors(await ask(pombo, UNKNOWN_ID, what), 404, [{ code: "NOT_FOUND" }]);
    expect((await ask(pombo, id.toUpperCase(), what)).status).toBeLessThan(300);
    await pombo.app.worker.idle();
    if (what === "cancel") break;
  }
  expect((await recordOf(pombo, id)).status).toBe("canceled");
});

test("a key restricted to a domain reads its emails and their events, and cancels or retries nothing", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const key = await restrictedKey(held, "one.test");
  const own = await attempted(pombo, { from: "a@one.test" });
  for (const what of ["cancel", "retry"] as const)
    for (const id of [own, UNKNOWN_ID])
      expectErrors(await ask(pombo, id, what, { key }), 403, [{ code: "API_KEY_RESTRICTED" }]);
  expect((await recordOf(pombo, own)).status).toBe("delivery_delayed");
});

test("while nothing can be stored a cancel is 503 and the email goes its way", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const id = await attempted(pombo);
  pombo.app.db.sqlite.run("PRAGMA query_only = ON");
  expectErrors(await ask(pombo, id, "cancel"), 503, [{ code: "UNAVAILABLE" }]);
  pombo.app.db.sqlite.run("PRAGMA query_only = OFF");
  pombo.mx.script = {};
  await held.advance(2 * MINUTE);
  await pombo.mx.until(() => pombo.mx.messages.length === 1);
  await pombo.app.worker.idle();
  expect((await recordOf(pombo, id)).status).toBe("delivered");
});

test("after a crash an email is sending until its row is freed, and can be canceled from then on", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  for (const dotAt of [null, NOON]) {
    const id = await attempted(pombo);
    // As a kill -9 leaves it: in flight, with or without its dot.
    pombo.app.db.sqlite
      .query("UPDATE email_queue SET in_flight = 1, dot_at = ?, attempts = attempts + 1, started_at = next_at")
      .run(dotAt);
    expectErrors(await ask(pombo, id, "cancel"), 409, [{ code: "NOT_CANCELABLE", message: "it is sending" }]);
    await pombo.restart();
    const canceled = await ask(pombo, id, "cancel");
    expect(canceled.status).toBe(200);
    expect(canceled.body.data).toMatchObject({ status: "canceled", attempts: 2, possibleDuplicate: dotAt !== null });
  }
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  expect(asked(pombo, "maria@")).toBe(2);
});

test("a cancel that was answered holds over a stop and a start", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const id = await attempted(pombo);
  expect((await ask(pombo, id, "cancel")).status).toBe(200);
  await pombo.restart();
  pombo.mx.script = {};
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  expect((await recordOf(pombo, id)).status).toBe("canceled");
  expect(pombo.mx.messages).toEqual([]);
});
