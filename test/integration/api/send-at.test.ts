// An email with a sendAt: what is taken, shown and counted, and another time for it.

import { expect, test } from "bun:test";
import { startReceiver } from "../../support/fakes/receiver.ts";
import type { Instance, Json } from "../../support/fakes/instance.ts";
import { errorItems, expectErrors, startHeld, UNKNOWN_ID } from "../../support/api/kit.ts";
import {
  ask,
  attempted,
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
import { at, DAY, kept, queueOf } from "../../support/api/scheduled.ts";
import { allowLoopback } from "../../support/api/webhook-kit.ts";
import { complaint, toLoop, tokenOf } from "../../support/inbound/messages.ts";
import { faultsOfEvents } from "./documented-events.ts";

const EMAILS = "/api/v1/emails";

const reschedule = (pombo: Instance, id: string, sendAt: unknown, query = "") =>
  pombo.workspace.call("PATCH", `${EMAILS}/${id}${query}`, { body: { sendAt } });
const listed = async (pombo: Instance, status: string): Promise<string[]> =>
  (await pombo.workspace.call("GET", `${EMAILS}?status=${status}`)).body.data.map(({ id }: Json) => id);

/** Emails that one request made, as the rows of a group. */
function makeGroup(pombo: Instance, ids: string[]): void {
  const [first] = ids;
  const names = ids.map((id) => `'${id}'`).join();
  pombo.app.db.sqlite.run(
    `UPDATE email SET group_id = (SELECT id FROM email WHERE uid = '${first}') WHERE uid IN (${names})`,
  );
}

test("a scheduled email waits for its time, says so everywhere, and is sent then", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const answer = await pombo.workspace.call("POST", EMAILS, {
    body: pombo.email({ sendAt: "2026-11-21T15:00:00+02:00" }),
  });
  const { id } = answer.body.data;
  expect([answer.status, answer.body]).toEqual([202, { data: { id, status: "scheduled" } }]);
  const plain = await attempted(pombo);
  expect(await recordOf(pombo, id)).toMatchObject({
    ...{ status: "scheduled", sendAt: at(HOUR), nextAttemptAt: at(HOUR), attempts: 0 },
    ...{ providerId: null, sentAt: null, createdAt: at(0) },
  });
  expect(await timelineOf(pombo, id)).toEqual([{ type: "email.scheduled", at: at(0), reason: null }]);
  expect([await listed(pombo, "scheduled"), await listed(pombo, "queued")]).toEqual([[id], []]);
  expect(kept(pombo)).toEqual({ scheduled: 1, delivered: 1 });
  expect(await queueOf(pombo)).toMatchObject({ waiting: 0, running: 0, scheduled: 1, destinations: [] });
  const status = await pombo.operator.call("GET", "/api/v1/operator/status");
  expect(status.body.data.queue.emails).toMatchObject({ waiting: 0, oldestAt: null, scheduled: 1 });
  await held.advance(HOUR - 1);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toHaveLength(1);
  await held.advance(1);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, id)).toMatchObject({ status: "delivered", sentAt: at(HOUR), sendAt: at(HOUR) });
  expect((await recordOf(pombo, plain)).sendAt).toBeNull();
  expect(kept(pombo)).toEqual({ delivered: 2 });
  expect(pombo.bugs).toEqual([]);
});

test("a time that is none, or too far, is refused with its place and the hour here", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const form = /^sendAt must be a time since 1970 in ISO 8601 with its offset/;
  const wrong: [unknown, RegExp][] = [
    ["2026-11-21T13:00:00", form],
    ["2026-11-22", form],
    ["1795262400", form],
    ["2026-11-31T13:00:00Z", form],
    ["2026-11-21T25:00:00Z", form],
    ["1969-12-31T23:59:59Z", form],
    ["", form],
    [1_795_262_400_000, /^sendAt must be a string, not a number/],
    [null, /^sendAt must be a string, not null/],
    ["1970-01-01T00:00:00Z", /^sendAt is more than 5 minutes in the past/],
    [at(-5 * MINUTE - 1), /^sendAt is more than 5 minutes in the past/],
    [at(30 * DAY + 1), /^sendAt is more than 30 days ahead/],
    [at(31 * DAY), /^sendAt is more than 30 days ahead/],
  ];
  const waiting = await send(pombo, { sendAt: at(HOUR) });
  const good = pombo.email({ sendAt: at(HOUR) });
  for (const [sendAt, message] of wrong) {
    const body = pombo.email({ sendAt });
    expectErrors(await pombo.workspace.call("POST", EMAILS, { body }), 422, [{ field: "sendAt", message }]);
    const emails = [good, good, body, good, body];
    expectErrors(await pombo.workspace.call("POST", `${EMAILS}/batch`, { body: { emails } }), 422, [
      { field: "sendAt", path: "emails[2].sendAt", message },
      { field: "sendAt", path: "emails[4].sendAt", message },
    ]);
    expectErrors(await reschedule(pombo, waiting, sendAt), 422, [{ field: "sendAt", message }]);
  }
  const tooLate = await pombo.workspace.call("POST", EMAILS, { body: pombo.email({ sendAt: at(31 * DAY) }) });
  expect(errorItems(tooLate)[0]?.hint).toBe(`Here it is ${at(0)}.`);
  expect(kept(pombo)).toEqual({ scheduled: 1 });
  expect((await recordOf(pombo, waiting)).sendAt).toBe(at(HOUR));
});

test("30 days ahead is taken; up to 5 minutes in the past is now, and the email is as any other", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  await send(pombo, { sendAt: at(30 * DAY) });
  for (const sendAt of [at(-5 * MINUTE), at(0)]) {
    const { body } = await pombo.workspace.call("POST", EMAILS, { body: pombo.email({ sendAt }) });
    expect(body.data.status).toBe("queued");
    await pombo.app.worker.idle();
    expect((await timelineOf(pombo, body.data.id))[0]).toMatchObject({ type: "email.queued" });
    expect(await recordOf(pombo, body.data.id)).toMatchObject({ status: "delivery_delayed", sendAt: null });
  }
  expect(kept(pombo)).toEqual({ scheduled: 1, delivery_delayed: 2 });
});

test("a request that is repeated after its time gets its first answer again", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const request = { body: pombo.email({ sendAt: at(MINUTE) }), headers: { "idempotency-key": "one" } };
  const first = await pombo.workspace.call("POST", EMAILS, request);
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  const second = await pombo.workspace.call("POST", EMAILS, request);
  expect([second.status, second.text]).toEqual([202, first.text]);
  expect(pombo.mx.messages).toHaveLength(1);
});

test("a batch may hold emails for now and for later, each with its status", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const emails = [pombo.email({ sendAt: at(2 * HOUR) }), pombo.email(), pombo.email({ sendAt: at(HOUR) })];
  const { body } = await pombo.workspace.call("POST", `${EMAILS}/batch`, { body: { emails } });
  expect(body.data.map(({ status }: Json) => status)).toEqual(["scheduled", "queued", "scheduled"]);
  const counts: number[] = [];
  for (const _ of [0, 1, 2]) {
    await pombo.app.worker.idle();
    counts.push(pombo.mx.messages.length);
    await held.advance(HOUR);
  }
  expect(counts).toEqual([1, 2, 3]);
});

test("its lifetime counts from its time, and an attempt puts it off as any other", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const id = await send(pombo, { sendAt: at(10 * DAY) });
  await held.advance(10 * DAY);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, id)).toMatchObject({ status: "delivery_delayed", attempts: 1 });
  expect(kept(pombo)).toEqual({ delivery_delayed: 1 });
  await held.advance(71 * HOUR);
  await pombo.app.worker.idle();
  expect((await recordOf(pombo, id)).status).toBe("delivery_delayed");
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  const failed = await recordOf(pombo, id);
  expect(failed).toMatchObject({ status: "failed", bounce: { category: "expired" } });
  expect(failed.failedReason).toStartWith("4.4.7 Not delivered within 72 h");
});

test("delayed, it has waited since its time, and not since it was accepted", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const oldest = async () => (await pombo.operator.call("GET", "/api/v1/operator/status")).body.data.queue.emails;
  await send(pombo, { sendAt: at(2 * HOUR) });
  await send(pombo, { sendAt: at(9 * HOUR) });
  expect(await oldest()).toMatchObject({ waiting: 0, oldestAt: null, scheduled: 2 });
  await held.advance(2 * HOUR);
  await pombo.app.worker.idle();
  expect(await oldest()).toMatchObject({ waiting: 1, delayed: 1, oldestAt: at(2 * HOUR), scheduled: 1 });
  await held.advance(1);
  await attempted(pombo);
  expect(await oldest()).toMatchObject({ waiting: 2, delayed: 2, oldestAt: at(2 * HOUR) });
});

test("its time is changed until its first attempt: earlier, later and to now", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await send(pombo, { sendAt: at(5 * HOUR) });
  const later = await reschedule(pombo, id, at(30 * DAY));
  expect([later.status, later.body.data]).toMatchObject([200, { id, status: "scheduled", sendAt: at(30 * DAY) }]);
  expect(later.body.data).toEqual(await recordOf(pombo, id));
  await held.advance(6 * HOUR);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toEqual([]);
  expect((await reschedule(pombo, id, at(7 * HOUR))).body.data.nextAttemptAt).toBe(at(7 * HOUR));
  await held.advance(30 * MINUTE);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toEqual([]);
  // A minute ago: now.
  const now = await reschedule(pombo, id, at(6 * HOUR + 29 * MINUTE));
  expect([now.status, now.body.data.sendAt]).toEqual([200, at(6 * HOUR + 30 * MINUTE)]);
  await pombo.app.worker.idle();
  expect((await recordOf(pombo, id)).status).toBe("delivered");
  expect(pombo.events.filter(({ name }) => name === "email.rescheduled")).toHaveLength(3);
  expectErrors(await reschedule(pombo, id, at(8 * HOUR)), 409, [
    { code: "NOT_SCHEDULED", message: "The email is not scheduled: it is delivered" },
  ]);
});

test("what was never scheduled, has been tried or is canceled has no time to change", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const plain = await attempted(pombo);
  const tried = await send(pombo, { sendAt: at(MINUTE) });
  const canceled = await send(pombo, { sendAt: at(HOUR) });
  expect((await ask(pombo, canceled, "cancel")).body.data).toMatchObject({ status: "canceled", sendAt: at(HOUR) });
  await held.advance(MINUTE);
  await pombo.app.worker.idle();
  for (const [id, status, hint] of [
    [plain, "delivery_delayed", /not given a time/],
    [tried, "delivery_delayed", /first attempt has begun/],
    [canceled, "canceled", /first attempt has begun/],
  ] as const) {
    const refused = await reschedule(pombo, id, at(2 * HOUR));
    expectErrors(refused, 409, [{ code: "NOT_SCHEDULED", message: `The email is not scheduled: it is ${status}` }]);
    expect(errorItems(refused)[0]?.hint).toMatch(hint);
  }
  expectErrors(await reschedule(pombo, UNKNOWN_ID, at(HOUR)), 404, [{ code: "NOT_FOUND" }]);
  expectErrors(await pombo.workspace.call("PATCH", `${EMAILS}/${plain}`, { body: {} }), 422, [{ field: "sendAt" }]);
  const key = await restrictedKey(held, "one.test");
  const own = await send(pombo, { from: "a@one.test", sendAt: at(HOUR) });
  const options = { key, body: { sendAt: at(2 * HOUR) } };
  expectErrors(await pombo.workspace.call("PATCH", `${EMAILS}/${own}`, options), 403, [{ code: "API_KEY_RESTRICTED" }]);
});

test("a scheduled email cannot be retried, and can be canceled for good", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await send(pombo, { sendAt: at(HOUR) });
  const refused = await ask(pombo, id, "retry");
  expectErrors(refused, 409, [{ code: "NOT_RETRYABLE", message: "it is scheduled" }]);
  expect((await ask(pombo, id, "cancel")).body.data).toMatchObject({ status: "canceled", attempts: 0 });
  expect(kept(pombo)).toEqual({ canceled: 1 });
  await held.advance(2 * HOUR);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toEqual([]);
});

test("its Date is its time, and reports about it are believed for 30 days from then", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await send(pombo, { sendAt: at(29 * DAY) });
  await held.advance(29 * DAY);
  await pombo.app.worker.idle();
  const content = pombo.mx.messages[0]?.content.toString() ?? "";
  expect(/\r\nDate: (.*)\r\n/.exec(content)?.[1]).toBe("Sun, 20 Dec 2026 12:00:00 +0000");
  await held.advance(20 * DAY);
  await pombo.app.receive(toLoop(complaint({ copy: [`X-Pombo-Trace: ${tokenOf(pombo, id).slice(2)}`] })));
  expect((await recordOf(pombo, id)).status).toBe("complained");
}, 30_000);

test("with group=true all emails of a request that can be are canceled, or get another time", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const ids: string[] = [];
  for (const sendAt of [at(MINUTE), at(2 * HOUR), at(2 * HOUR)]) ids.push(await send(pombo, { sendAt }));
  const [first = "", second = "", third = ""] = ids;
  makeGroup(pombo, ids);
  const other = await send(pombo, { sendAt: at(2 * HOUR) });
  const times = async () => {
    const records = await Promise.all([...ids, other].map((id) => recordOf(pombo, id)));
    return records.map(({ status, sendAt }) => [status, sendAt]);
  };
  await held.advance(MINUTE);
  await pombo.app.worker.idle();
  // The first has been delivered: asked by its id, the others follow.
  expect((await reschedule(pombo, first, at(3 * HOUR), "?group=true")).body.data).toMatchObject({
    status: "delivered",
  });
  expect(await times()).toEqual([
    ["delivered", at(MINUTE)],
    ["scheduled", at(3 * HOUR)],
    ["scheduled", at(3 * HOUR)],
    ["scheduled", at(2 * HOUR)],
  ]);
  expect((await reschedule(pombo, third, at(4 * HOUR))).status).toBe(200);
  expect((await recordOf(pombo, second)).sendAt).toBe(at(3 * HOUR));
  const cancel = (id: string) => pombo.workspace.call("POST", `${EMAILS}/${id}/cancel?group=true`);
  expect((await cancel(second)).body.data).toMatchObject({ id: second, status: "canceled" });
  expect((await times()).map(([status]) => status)).toEqual(["delivered", "canceled", "canceled", "scheduled"]);
  expectErrors(await cancel(first), 409, [{ code: "NOT_CANCELABLE" }]);
  expectErrors(await reschedule(pombo, first, at(HOUR), "?group=true"), 409, [{ code: "NOT_SCHEDULED" }]);
  expectErrors(await pombo.workspace.call("POST", `${EMAILS}/${other}/cancel?group=yes`), 422, [{ field: "group" }]);
});

test("the event email.scheduled comes in place of email.queued, and with each new time", async () => {
  await using receiver = startReceiver();
  await using held = await startHeld(NOON, { configure: allowLoopback });
  const { pombo } = held;
  await pombo.workspace.call("POST", "/api/v1/webhooks", { body: { url: receiver.url, events: ["email.*"] } });
  const id = await send(pombo, { sendAt: at(HOUR) });
  await reschedule(pombo, id, at(30 * MINUTE));
  await pombo.app.webhooks.worker.idle();
  await held.advance(30 * MINUTE);
  await pombo.app.worker.idle();
  await receiver.until(() => receiver.calls.length === 3);
  expect(receiver.calls.map(({ event }) => [event.type, event.data.status, event.data.sendAt])).toEqual([
    ["email.scheduled", "scheduled", at(HOUR)],
    ["email.scheduled", "scheduled", at(30 * MINUTE)],
    ["email.delivered", "delivered", at(30 * MINUTE)],
  ]);
  expect(await faultsOfEvents(pombo, receiver)).toEqual([]);
});
