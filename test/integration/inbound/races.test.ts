// Reports about emails that are still in the queue: a server may send its bounce before its 250, and a
// bounce may be the only news of a message whose answer was lost.

import { expect, setDefaultTimeout, test } from "bun:test";
import {
  ask,
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
  totalsOf,
} from "../../support/api/one-email.ts";
import { startHeld } from "../../support/api/kit.ts";
import type { Instance, Json } from "../../support/fakes/instance.ts";
import { drop, type MxScript, startMx } from "../../support/fakes/mx.ts";
import { bounce, complaintAbout, ratesOf, rowsOf, suppressedIn } from "../../support/inbound/messages.ts";

setDefaultTimeout(30_000);

const typesOf = (entries: Json[]) => entries.map(({ type }) => type);

/** Nothing is left of it in the queue, the totals are true, and nothing went wrong. */
function expectClean(pombo: Instance): void {
  expect(rowsOf(pombo, "email_queue")).toBe(0);
  const { kept, counted } = totalsOf(pombo);
  expect(kept).toEqual(counted);
  expect([pombo.app.worker.runningCount, pombo.bugs]).toEqual([0, []]);
}

/** How an email ends that a report ends while the server has not answered its dot yet. */
for (const [status, reportOf] of [
  ["bounced", (_pombo: Instance, id: string) => bounce(id)],
  ["complained", complaintAbout],
] as const) {
  test(`a report before the 250 decides: ${status}, and the attempt and its time are recorded all the same`, async () => {
    const atDot = gate();
    await using held = await startAtNoon({ dot: atDot.step });
    const { pombo, clock } = held;
    const id = await send(pombo);
    await atDot.reached;
    await pombo.app.receive(reportOf(pombo, id));
    expect(await recordOf(pombo, id)).toMatchObject({ status, deliveredAt: null, attempts: 1 });
    clock.advance(MINUTE);
    atDot.open("250 2.0.0 Queued");
    await pombo.app.worker.idle();
    const at = new Date(NOON + MINUTE).toISOString();
    expect(await recordOf(pombo, id)).toMatchObject({ status, deliveredAt: at, sentAt: new Date(NOON).toISOString() });
    const kind = status === "bounced" ? "report.bounce" : "report.complaint";
    expect(typesOf(await timelineOf(pombo, id))).toEqual(["email.queued", kind, `email.${status}`, "email.delivered"]);
    expect(await suppressedIn(pombo)).toEqual({
      "maria@example.com": status === "bounced" ? "hard_bounce" : "complaint",
    });
    // Answered once, whoever told of it.
    expect(ratesOf(pombo)).toEqual({ answered: 1, [status === "bounced" ? "hard_bounces" : "complaints"]: 1 });
    expectClean(pombo);
  });
}

test("a report before a refusal decides, and the refusal is an attempt like any other", async () => {
  const atDot = gate();
  await using held = await startAtNoon({ dot: atDot.step });
  const { pombo, clock } = held;
  const id = await send(pombo);
  await atDot.reached;
  await pombo.app.receive(bounce(id));
  const before = await recordOf(pombo, id);
  clock.advance(MINUTE);
  atDot.open("554 5.7.1 Spam");
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, id)).toEqual({ ...before, sentAt: new Date(NOON).toISOString() });
  const entries = await timelineOf(pombo, id);
  expect(entries.map(({ type, reason }) => [type, reason])).toEqual([
    ["email.queued", null],
    ["report.bounce", null],
    ["email.bounced", before.failedReason],
    ["email.bounced", null],
  ]);
  expect(ratesOf(pombo)).toEqual({ answered: 1, hard_bounces: 1 });
  expectClean(pombo);
});

test("a report before a later answer decides: no retry comes", async () => {
  const atDot = gate();
  await using held = await startAtNoon({ dot: atDot.step });
  const { pombo } = held;
  const id = await send(pombo);
  await atDot.reached;
  await pombo.app.receive(bounce(id, "5.7.1", "550 5.7.1 Refused"));
  atDot.open("451 4.3.0 Later");
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, id)).toMatchObject({ status: "bounced", nextAttemptAt: null, attempts: 1 });
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  expect([pombo.mx.messages.length, pombo.mx.connections.length]).toEqual([1, 1]);
  expectClean(pombo);
});

test("a report after a lost answer ends the email that waits: its retry never comes", async () => {
  await using held = await startAtNoon({ dot: drop() });
  const { pombo } = held;
  const id = await attempted(pombo);
  expect(await recordOf(pombo, id)).toMatchObject({ status: "delivery_delayed", possibleDuplicate: true });
  pombo.mx.script = {};
  await pombo.app.receive(bounce(id));
  expect(await recordOf(pombo, id)).toMatchObject({ status: "bounced", nextAttemptAt: null });
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toHaveLength(1);
  expectClean(pombo);
});

test("a report while a retry is under way keeps it from its dot: it is not sent again, and no other host is tried", async () => {
  await using held = await startAtNoon({ dot: drop() });
  const { pombo } = held;
  pombo.dns.zone["example.com"] = {
    MX: [
      [5, "mx.example.com"],
      [10, "mx2.example.com"],
    ],
  };
  pombo.dns.zone["mx2.example.com"] = { A: ["127.0.0.1"] };
  const id = await attempted(pombo);
  const atData = gate();
  pombo.mx.script = { data: atData.step };
  const connections = pombo.mx.connections.length;
  held.clock.advance(2 * MINUTE);
  await atData.reached;
  expect((await recordOf(pombo, id)).status).toBe("sending");
  await pombo.app.receive(bounce(id));
  atData.open("354 Go ahead");
  await pombo.app.worker.idle();
  expect([pombo.mx.messages.length, pombo.mx.connections.length]).toEqual([1, connections + 1]);
  expect((await recordOf(pombo, id)).status).toBe("bounced");
  expect(typesOf(await timelineOf(pombo, id))).toEqual([
    "email.queued",
    "email.delivery_delayed",
    "report.bounce",
    "email.bounced",
  ]);
  expectClean(pombo);
});

test("a report for one email of a lane lets the others go on", async () => {
  const atDot = gate();
  await using held = await startAtNoon({ dot: atDot.step });
  const { pombo } = held;
  const ids = [await send(pombo)];
  for (let n = 0; n < 8; n++) ids.push(await send(pombo, { to: `user${n}@example.com` }));
  await atDot.reached;
  // The one at its dot, the one behind it in flight, and one that waits.
  for (const id of [ids[0], ids[1], ids[5]]) await pombo.app.receive(bounce(id ?? "", "5.7.1", "550 5.7.1 Refused"));
  atDot.open("250 Ok");
  await pombo.app.worker.idle();
  const statuses = await Promise.all(ids.map(async (id) => (await recordOf(pombo, id)).status));
  expect(statuses).toEqual(ids.map((_, n) => ([0, 1, 5].includes(n) ? "bounced" : "delivered")));
  expect(pombo.mx.messages).toHaveLength(ids.length - 2);
  // The lane takes more.
  const last = await attempted(pombo, { to: "last@example.com" });
  expect((await recordOf(pombo, last)).status).toBe("delivered");
  expectClean(pombo);
});

test("whenever a report comes while its retry starts, the email is bounced, and what was sent has its time", async () => {
  await using held = await startAtNoon({ rcpt: LATER });
  const { pombo } = held;
  const ids: string[] = [];
  for (let n = 0; n < 40; n++) ids.push(await attempted(pombo, { to: `user${n}@example.com` }));
  pombo.mx.script = {};
  let delivered = 0;
  for (const [n, id] of ids.entries()) {
    const taken = pombo.app.receive(bounce(id, "5.7.1", "550 5.7.1 Refused"));
    for (let turn = 0; turn < n; turn++) await new Promise<void>((next) => setImmediate(next));
    const retried = await ask(pombo, id, "retry");
    await taken;
    await pombo.app.worker.idle();
    const { status, deliveredAt, attempts } = await recordOf(pombo, id);
    expect([n, status]).toEqual([n, "bounced"]);
    // The retry was accepted and came to its end, or there was nothing left to retry.
    expect([n, attempts]).toEqual([n, retried.status === 202 && deliveredAt !== null ? 2 : attempts]);
    if (deliveredAt !== null) delivered += 1;
    expect([n, pombo.mx.messages.length]).toEqual([n, delivered]);
  }
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toHaveLength(delivered);
  expect(delivered).toBeLessThan(ids.length);
  expectClean(pombo);
});

/** Mail from relayed.test goes by a relay in clear; one email has gone straight, and counts. */
async function startRelayed(mx: MxScript = {}) {
  const relay = await startMx(mx);
  const held = await startHeld(NOON, {
    configure(config) {
      config.relay = [
        {
          ...{ host: "127.0.0.1", port: relay.port, tls: "none", verify: true, caFile: null },
          domains: ["relayed.test"],
          ...{ username: null, password: null, passwordFile: null },
        },
      ];
    },
  });
  const { pombo } = held;
  await pombo.addDomain(pombo.workspace, "relayed.test");
  await attempted(pombo, { to: "direct@example.com" });
  return {
    held,
    async [Symbol.asyncDispose]() {
      await held[Symbol.asyncDispose]();
      await relay.close();
    },
  };
}

const RELAYED = { from: "loja@relayed.test" };

test("what a relay took bounces and complains later, suppresses, and counts for no rate", async () => {
  await using world = await startRelayed();
  const { pombo } = world.held;
  const one = await attempted(pombo, RELAYED);
  const two = await attempted(pombo, { ...RELAYED, to: "ana@example.com" });
  expect((await recordOf(pombo, one)).status).toBe("sent");
  await pombo.app.receive(bounce(one));
  await pombo.app.receive(complaintAbout(pombo, two));
  expect(await recordOf(pombo, one)).toMatchObject({ status: "bounced", deliveredAt: null });
  expect(await recordOf(pombo, two)).toMatchObject({ status: "complained", deliveredAt: null });
  expect(await suppressedIn(pombo)).toEqual({ "maria@example.com": "hard_bounce", "ana@example.com": "complaint" });
  expect(ratesOf(pombo)).toEqual({ answered: 1 });
  expectClean(pombo);
});

test.each([
  ["bounced", (_pombo: Instance, id: string) => bounce(id)],
  ["complained", complaintAbout],
] as const)("a report before a relay's answer counts for no rate either: %s", async (ended, reportOf) => {
  const atDot = gate();
  await using world = await startRelayed({ dot: atDot.step });
  const { pombo } = world.held;
  const id = await send(pombo, RELAYED);
  await atDot.reached;
  await pombo.app.receive(reportOf(pombo, id));
  atDot.open("250 Ok");
  await pombo.app.worker.idle();
  const at = new Date(NOON).toISOString();
  expect(await recordOf(pombo, id)).toMatchObject({ status: ended, sentAt: at, deliveredAt: null });
  expect(ratesOf(pombo)).toEqual({ answered: 1 });
  expectClean(pombo);
});
