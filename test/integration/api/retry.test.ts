import { expect, test } from "bun:test";
import { drop } from "../../support/fakes/mx.ts";
import { errorItems, expectErrors, omit } from "../../support/api/kit.ts";
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
  send,
  startAtNoon,
  timelineOf,
} from "../../support/api/one-email.ts";

test("a delayed email is tried at once: 202 with its record, and it is delivered without the time moving", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const id = await attempted(pombo);
  const before = await recordOf(pombo, id);
  pombo.mx.script = {};
  const answer = await ask(pombo, id, "retry");
  expect(answer.status).toBe(202);
  const now = new Date(NOON).toISOString();
  expect(answer.body.data).toEqual({ ...before, nextAttemptAt: now });
  await pombo.mx.until(() => pombo.mx.messages.length === 1);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, id)).toMatchObject({ status: "delivered", attempts: 2, deliveredAt: now });
  expect(pombo.events.filter(({ name }) => name === "email.retry_requested")).toHaveLength(1);
  expect(pombo.bugs).toEqual([]);
});

test("after a retry that fails the schedule goes on by the attempt's number", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const id = await attempted(pombo);
  // The delays after attempts 1, 2, 3 and 4, ten per cent either way.
  for (const [index, delay] of [MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE].entries()) {
    const { attempts, status, nextAttemptAt } = await recordOf(pombo, id);
    expect([attempts, status]).toEqual([index + 1, "delivery_delayed"]);
    const ahead = Date.parse(nextAttemptAt) - held.clock.now();
    expect([delay, ahead >= 0.9 * delay && ahead <= 1.1 * delay]).toEqual([delay, true]);
    expect((await ask(pombo, id, "retry")).status).toBe(202);
    await pombo.app.worker.idle();
  }
  expect(asked(pombo, "maria@")).toBe(5);
  // What the retries left behind is one row with one time.
  await held.advance(34 * MINUTE);
  await pombo.app.worker.idle();
  expect(asked(pombo, "maria@")).toBe(6);
});

test("asking again and again runs one attempt: while it runs the answer is 409, and the email is delivered once", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const id = await attempted(pombo);
  const atDot = gate();
  pombo.mx.script = { dot: atDot.step };
  const first = await Promise.all(Array.from({ length: 10 }, () => ask(pombo, id, "retry")));
  expect(first.filter(({ status }) => status === 202).length).toBeGreaterThan(0);
  await atDot.reached;
  for (let again = 0; again < 5; again += 1) {
    const refused = await ask(pombo, id, "retry");
    expectErrors(refused, 409, [{ code: "NOT_RETRYABLE", message: "it is sending" }]);
    expect(errorItems(refused)[0]?.hint).toStartWith("It is sending: an attempt is running");
    expectErrors(await ask(pombo, id, "cancel"), 409, [{ code: "NOT_CANCELABLE", message: "it is sending" }]);
  }
  atDot.open("250 2.0.0 Ok");
  await pombo.app.worker.idle();
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, id)).toMatchObject({ status: "delivered", attempts: 2 });
  expect([asked(pombo, "maria@"), pombo.mx.messages.length]).toEqual([2, 1]);
});

test("an email before its first attempt is not retried: that comes by itself", async () => {
  const atRcpt = gate();
  await using held = await startAtNoon({ rcpt: atRcpt.step });
  const { pombo } = held;
  await send(pombo);
  await atRcpt.reached;
  await send(pombo);
  const queued = await send(pombo, { to: "third@example.com" });
  const refused = await ask(pombo, queued, "retry");
  expectErrors(refused, 409, [{ code: "NOT_RETRYABLE", message: "it is queued" }]);
  expect(errorItems(refused)[0]?.hint).toBe("It is queued: its first attempt comes by itself.");
  atRcpt.open("250 2.1.5 Ok");
  await pombo.app.worker.idle();
  expect((await recordOf(pombo, queued)).attempts).toBe(1);
});

test("what has come to an end is never queued again", async () => {
  await using held = await startAtNoon({
    rcpt: (line) => (line.includes("gone@") ? "550 5.1.1 No such user" : line.includes("later@") ? LATER : "250 Ok"),
  });
  const { pombo } = held;
  const canceled = await attempted(pombo, { to: "later@example.com" });
  await ask(pombo, canceled, "cancel");
  const cases: [id: string, status: string][] = [
    [await attempted(pombo), "delivered"],
    [await attempted(pombo, { to: "gone@example.com" }), "bounced"],
    [canceled, "canceled"],
  ];
  const commands = () => pombo.mx.connections.flatMap((connection) => connection.commands);
  const before = commands().length;
  for (const [id, status] of cases) {
    const record = await recordOf(pombo, id);
    const refused = await ask(pombo, id, "retry");
    expectErrors(refused, 409, [{ code: "NOT_RETRYABLE", message: `it is ${status}` }]);
    expect(errorItems(refused)[0]?.hint).toMatch(new RegExp(`^It is ${status}, .+ send a new one\\.$`));
    expect(await recordOf(pombo, id)).toEqual(record);
  }
  await pombo.app.worker.idle();
  expect(pombo.app.db.sqlite.query("SELECT * FROM email_queue").all()).toEqual([]);
  expect(commands()).toHaveLength(before);
});

test("a retry after a lost answer says that the recipient may get the email twice", async () => {
  await using held = await startAtNoon({ dot: drop() });
  const { pombo } = held;
  const id = await attempted(pombo);
  pombo.mx.script = {};
  const { status, body } = await ask(pombo, id, "retry");
  expect([status, body.data.hint]).toEqual([202, expect.stringContaining("gets the email twice")]);
  await pombo.mx.until(() => pombo.mx.messages.length === 2);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, id)).toMatchObject({ status: "delivered", possibleDuplicate: true });
  expect(omit(body.data, "hint")["status"]).toBe("delivery_delayed");
});

test("a retry on the far side of a stop is the first thing that the next start does", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const id = await attempted(pombo);
  pombo.mx.script = {};
  // As when the process ends between the commit of the retry and its nudge.
  pombo.app.db.sqlite.query("UPDATE email_queue SET next_at = ?").run(NOON);
  await pombo.restart();
  await pombo.app.worker.idle();
  expect((await recordOf(pombo, id)).status).toBe("delivered");
});

test("a retry after its time is over ends the email as expired", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const id = await attempted(pombo);
  pombo.app.db.sqlite.query("UPDATE email_queue SET expires_at = ?").run(NOON);
  expect((await ask(pombo, id, "retry")).status).toBe(202);
  await pombo.app.worker.idle();
  const { status, failedReason } = await recordOf(pombo, id);
  expect([status, failedReason]).toEqual(["failed", expect.stringContaining("4.4.7")]);
  expect((await timelineOf(pombo, id)).at(-1)).toMatchObject({ type: "email.failed", reason: failedReason });
});
