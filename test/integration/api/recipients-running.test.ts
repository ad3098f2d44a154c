import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { fakeClock } from "../../support/fakes/clock.ts";
import { type Json, startInstance } from "../../support/fakes/instance.ts";
import {
  erase,
  ERASED,
  exported,
  findLeft,
  NUMBER,
  NUMBER_PATH,
  PATH,
  startTold,
  toPerson,
} from "../../support/api/erased.ts";
import { expectErrors, startHeld } from "../../support/api/kit.ts";
import { attempted, gate, HOUR, LATER, NOON, recordOf, send, totalsOf } from "../../support/api/one-email.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";
import { text } from "./texts.ts";

// Attempts under way, crashes, much of it, and pages.

test.each([
  ["delivered", "250 2.0.0 Ok, Zq.Person@Example.com", { status: "delivered", failedReason: null }],
  ["delayed", "451 4.2.0 <zq.person@example.com> SubjectOfZq", { status: "canceled", failedReason: null }],
  ["bounced", "550 5.1.1 <zq.person@example.com> is unknown", { status: "bounced", failedReason: "[erased]" }],
])("an attempt that runs is erased with the others: %s", async (_, answer, expected) => {
  await using receiver = startReceiver();
  const atRcpt = gate();
  await using held = await startTold(receiver, { rcpt: atRcpt.step });
  const { pombo } = held;
  const id = await send(pombo, toPerson());
  await atRcpt.reached;
  const receipt = await erase(pombo);
  expect(receipt).toMatchObject({ emails: 1, canceledEmails: 0, inFlight: 1 });
  expect(await recordOf(pombo, id)).toMatchObject({ to: ERASED, status: "sending" });
  atRcpt.open(answer);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, id)).toMatchObject({ to: ERASED, subject: "[erased]", attempts: 1, ...expected });
  // What was said is what went out.
  const wasDelivered = expected.status === "delivered";
  expect(pombo.mx.messages.map(({ to }) => to)).toEqual(wasDelivered ? [["Zq.Person@example.com"]] : []);
  await held.advance(80 * HOUR);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages.length).toBe(wasDelivered ? 1 : 0);
  expect(pombo.app.db.sqlite.query("SELECT * FROM suppression").all()).toEqual([]);
  const { kept, counted } = totalsOf(pombo);
  expect(kept).toEqual(counted);
  await pombo.app.webhooks.worker.idle();
  expect(await findLeft(held)).toEqual([]);
  expect(pombo.bugs).toEqual([]);
});

test("a crash behind the final dot of an attempt whose recipient was erased: nothing is sent again, and it is marked", async () => {
  await using held = await startHeld(NOON, { mx: { rcpt: LATER } });
  const { pombo } = held;
  const id = await attempted(pombo, toPerson());
  pombo.mx.script = {};
  // As a kill leaves it: in flight, with a dot; then `pombo forget` over the data.
  await held.restart(() => {
    using database = new Database(join(pombo.directory, "pombo.db"));
    database.run("UPDATE email_queue SET in_flight = 1, attempts = 2, started_at = next_at, dot_at = next_at");
    database.run("UPDATE email SET is_erased = 1, recipient = ?1, recipient_address = ?1, subject = '[erased]'", [
      ERASED,
    ]);
    database.run("DELETE FROM email_body");
  });
  for (let hours = 0; hours < 80; hours += 1) await held.advance(HOUR);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, id)).toMatchObject({
    status: "canceled",
    possibleDuplicate: true,
    attempts: 2,
    html: null,
  });
  expect(pombo.mx.messages).toEqual([]);
  expect(pombo.bugs).toEqual([]);
});

test("what does not fit into one request is left, said, and done by the next ones", async () => {
  const clock = fakeClock(NOON);
  let passing = 0;
  const steady = { now: () => (passing += isSlow ? 3_000 : 0), after: clock.after };
  let isSlow = false;
  await using pombo = await startInstance({ clock, steady, mx: { rcpt: LATER } });
  const emails = Array.from({ length: 50 }, () => pombo.email(toPerson()));
  await pombo.workspace.call("POST", "/api/v1/emails/batch", { body: { emails } });
  await pombo.app.worker.idle();
  isSlow = true;
  const receipts: Json[] = [];
  while (receipts.at(-1)?.complete !== true) receipts.push(await erase(pombo));
  isSlow = false;
  expect(receipts.length).toBeGreaterThan(1);
  expect(receipts[0]).toMatchObject({ complete: false });
  const sum = (name: string) => receipts.reduce((total, receipt) => total + receipt[name], 0);
  expect([sum("emails"), sum("canceledEmails"), sum("inFlight")]).toEqual([50, 50, 0]);
  const { kept, counted } = totalsOf(pombo);
  expect([kept, counted]).toEqual([{ canceled: 50 }, { canceled: 50 }]);
});

test("an export is read page by page, in one order, whatever its kinds: each item once", async () => {
  await using held = await startHeld(NOON);
  const { pombo, clock } = held;
  await pombo.enableSms(pombo.workspace, 100);
  const { inbound } = pombo.app.smsStores;
  const { id: workspaceId } = pombo.app.db.sqlite
    .query<{ id: number }, [string]>("SELECT id FROM workspace WHERE uid = ?")
    .get(pombo.workspace.id) ?? { id: 0 };
  for (let nth = 0; nth < 9; nth += 1) {
    await pombo.workspace.call("POST", "/api/v1/sms", { body: text({ to: NUMBER, body: `out ${nth}` }) });
    await pombo.app.committer.commit(() =>
      inbound.insert({
        ...{ uid: `0198a5a0-0000-7000-8000-00000000000${nth}`, workspaceId, route: "test", sender: NUMBER },
        ...{ recipient: "84000", body: `in ${nth}`, isWhole: true, raw: null, receivedAt: clock.now() },
      }),
    );
    // Three of a kind in each millisecond.
    if (nth % 3 === 2) clock.advance(1);
  }
  await pombo.workspace.call("POST", "/api/v1/suppressions", { body: { address: NUMBER } });
  const items = await exported(pombo, NUMBER_PATH);
  const bodies = items.map((item) => item.sms?.body ?? item.inboundSms?.body ?? item.suppression.address);
  expect(bodies.toSorted()).toEqual(
    [...Array.from({ length: 9 }, (_, nth) => [`in ${nth}`, `out ${nth}`]).flat(), NUMBER].toSorted(),
  );
  const times = items.map(({ at }) => at as string);
  expect(times).toEqual(times.toSorted().toReversed());
  const first = (await pombo.workspace.call("GET", `${NUMBER_PATH}?limit=2`)).body.meta.next_cursor;
  const foreign = await pombo.workspace.call("GET", `${PATH}?cursor=${encodeURIComponent(first)}`);
  expectErrors(foreign, 422, [{ code: "VALIDATION_ERROR", field: "cursor" }]);
});

test("a webhook call that is under way keeps nothing of the receiver's answer, nor does the event that turned it off", async () => {
  await using receiver = startReceiver();
  const answered = Promise.withResolvers<void>();
  let status = 500;
  receiver.answer = async ({ event }) => {
    if (status === 500) await answered.promise;
    return new Response(`${event.data.to} ${event.data.subject}`, { status });
  };
  await using held = await startTold(receiver);
  const { pombo } = held;
  await attempted(pombo, toPerson());
  await receiver.until(() => receiver.calls.length > 0);
  const hook = async () => (await pombo.workspace.call("GET", "/api/v1/webhooks")).body.data[0];
  expect(await erase(pombo)).toMatchObject({ emails: 1 });
  answered.resolve();
  await pombo.app.webhooks.worker.idle();
  expect(receiver.calls[0]?.body).toContain("SubjectOfZq");
  // The call that waited behind it had the placeholders.
  expect(receiver.calls.slice(1).filter(({ body }) => /Zq/.test(body))).toEqual([]);
  const calls = (await pombo.workspace.call("GET", `/api/v1/webhooks/${(await hook()).id}/deliveries`)).body.data;
  expect(calls.map(({ errorMessage }: Json) => errorMessage)).toContain("answered 500");
  expect(await findLeft(held)).toEqual([]);
  // A 410 turns it off, and the event says so in the receiver's words.
  status = 410;
  await attempted(pombo, toPerson());
  await pombo.app.webhooks.worker.idle();
  expect((await hook()).lastFailureReason).toMatch(/^answered 410: .*SubjectOfZq/);
  expect(await erase(pombo)).toMatchObject({ emails: 1 });
  expect((await hook()).lastFailureReason).toBe("answered 410");
  expect(await findLeft(held)).toEqual([]);
});
