// A mail server that closes the connection where it must not, or refuses the recipient and asks for
// the message all the same: nobody else notices, nothing is lost, and a message comes twice only where
// the answer to its final dot was lost, so often as is said, and is marked.
import { expect, setDefaultTimeout, test } from "bun:test";
import { type Answer, drop, type MxScript, stall } from "../../support/fakes/mx.ts";
import { attemptsOf, HOUR_MS, suppressedAddresses } from "./mail.ts";
import {
  badRecords,
  copiesOf,
  expectDeliveredOnceMended,
  expectHealthyDelivered,
  expectNothingLeft,
  passAttempts,
  passRetry,
  sendRounds,
  startStreet,
  type Street,
} from "./street.ts";

setDefaultTimeout(60_000);

/** Too long to go in one write with its dot: it can be cut off in the middle. */
const LONG = { text: "uma linha muito comprida\n".repeat(4_000) };
/** Lost answers to the dot before an email is given up. */
const MAX_LOST = 3;
const LOST = /^(the server closed the connection|the connection was lost|(?:read|write) ECONNRESET) \(mx\.bad\.test\)$/;

const DROPS: { where: string; script: MxScript; changes?: Record<string, unknown>; stages: string[] }[] = [
  { where: "at once", script: { greeting: drop() }, stages: ["greeting"] },
  { where: "at EHLO", script: { ehlo: drop() }, stages: ["ehlo"] },
  { where: "at MAIL", script: { mail: drop() }, stages: ["mail"] },
  { where: "at RCPT", script: { rcpt: drop() }, stages: ["rcpt"] },
  { where: "at DATA", script: { data: drop() }, stages: ["data"] },
  // Whether the dot had left by then is a matter of the network's buffers.
  { where: "as the message begins", script: { dropInContentAfter: 1 }, changes: LONG, stages: ["block", "dot"] },
  { where: "within the message", script: { dropInContentAfter: 60_000 }, changes: LONG, stages: ["block", "dot"] },
];

for (const { where, script, changes, stages } of DROPS) {
  test(`a server that hangs up ${where} gets its mail later, once, and nobody else waits for it`, async () => {
    await using street = await startStreet({ bad: script });
    await sendRounds(street, changes);
    await expectHealthyDelivered(street);
    await passAttempts(street);
    for (const email of await badRecords(street)) {
      expect(email).toMatchObject({ status: "delivery_delayed", attempts: 1 });
      expect(email.lastReply).toMatch(LOST);
      const [attempt] = attemptsOf(street.pombo, email.id);
      expect(stages).toContain(attempt?.stage ?? "");
      expect(attempt).toMatchObject({ outcome: attempt?.stage === "dot" ? "unknown" : "deferred", code: null });
    }
    expect(copiesOf(street.bad)).toEqual(new Map());
    await expectDeliveredOnceMended(street);
    await expectNothingLeft(street);
  });
}

test("a server that loses every answer to the dot gets each message three times, then never again; the sender is told that it may have arrived", async () => {
  await using street = await startStreet({ bad: { dot: drop() } });
  await sendRounds(street);
  await expectHealthyDelivered(street);
  await passAttempts(street);
  for (let attempts = 2; attempts <= MAX_LOST; attempts += 1) {
    for (const email of await badRecords(street)) {
      expect(email).toMatchObject({ status: "delivery_delayed", possibleDuplicate: true });
    }
    await passRetry(street, attempts);
  }
  for (const email of await badRecords(street)) {
    expect(email).toMatchObject({ status: "failed", attempts: MAX_LOST, possibleDuplicate: true, nextAttemptAt: null });
    expect(email.failedReason).toStartWith(
      "Given up after 3 attempts whose answer was lost; it may have been delivered",
    );
    expect(email.failedReason).toContain("(mx.bad.test)");
  }
  await expectCopies(street, MAX_LOST);
  street.pombo.clock.advance(72 * HOUR_MS);
  await street.pombo.app.worker.idle();
  await expectCopies(street, MAX_LOST);
  expect(suppressedAddresses(street.pombo)).toEqual([]);
  await expectNothingLeft(street);
});

test("a server that loses one answer to the dot gets that message twice, marked, under one Message-ID and sender", async () => {
  const lost = new Set<string>();
  const dot: MxScript["dot"] = (_command, connection) => {
    const to = connection.messages.at(-1)?.to.join() ?? "";
    if (lost.has(to)) return "250 2.0.0 Queued";
    lost.add(to);
    return drop();
  };
  await using street = await startStreet({ bad: { dot } });
  await sendRounds(street);
  await expectHealthyDelivered(street);
  await passAttempts(street);
  await passRetry(street, 2);
  for (const email of await badRecords(street)) {
    expect(email).toMatchObject({ status: "delivered", attempts: 2, possibleDuplicate: true });
  }
  await expectCopies(street, 2);
  for (const copies of Map.groupBy(street.bad.messages, ({ to }) => to.join()).values()) {
    expect(new Set(copies.map(({ from }) => from)).size).toBe(1);
  }
  await expectNothingLeft(street);
});

async function expectCopies({ bad, badIds }: Street, count: number): Promise<void> {
  expect(copiesOf(bad)).toEqual(new Map(badIds.map((id) => [id, count])));
}

const LONE_DOTS: { what: string; dot: Answer }[] = [
  { what: "takes the lone dot for a message", dot: "250 2.0.0 Queued" },
  { what: "refuses the lone dot", dot: "554 5.5.1 No valid recipients" },
  { what: "hangs up on the lone dot", dot: drop() },
  { what: "says nothing to the lone dot", dot: stall() },
];

for (const { what, dot } of LONE_DOTS) {
  test(`a server that refuses RCPT, answers 354 to DATA and ${what} gets no message, and its refusal stands`, async () => {
    const script: MxScript = { rcpt: "550 5.1.1 No such user", data: "354 Go on", dot };
    await using street = await startStreet({ bad: script });
    await sendRounds(street);
    await expectHealthyDelivered(street);
    const waiting = () => street.bad.connections.filter((each) => !each.isClosed && each.messages.length > 0);
    await passAttempts(street, { stepMs: 5_000, waiting: () => (typeof dot === "object" ? waiting() : []) });
    const records = await badRecords(street);
    for (const email of records) {
      expect(email).toMatchObject({
        status: "bounced",
        failedReason: "550 5.1.1 No such user (mx.bad.test)",
        attempts: 1,
        possibleDuplicate: false,
        bounce: { type: "permanent", category: "invalid_recipient", smtpCode: 550, enhancedCode: "5.1.1" },
      });
    }
    expect(street.bad.messages).toHaveLength(records.length);
    for (const { content, to } of street.bad.messages) expect([content.length, to]).toEqual([0, []]);
    expect(suppressedAddresses(street.pombo)).toEqual(records.map(({ to }) => to).sort());
    await expectNothingLeft(street);
  });
}

test("a server that defers RCPT and answers 354 to DATA gets the message once, when it takes the recipient", async () => {
  await using street = await startStreet({ bad: { rcpt: "450 4.2.0 Come back", data: "354 Go on" } });
  await sendRounds(street);
  await expectHealthyDelivered(street);
  await passAttempts(street);
  for (const email of await badRecords(street)) {
    expect(email).toMatchObject({ status: "delivery_delayed", lastReply: "450 4.2.0 Come back (mx.bad.test)" });
  }
  expect(street.bad.messages.every(({ content }) => content.length === 0)).toBe(true);
  await expectDeliveredOnceMended(street);
  await expectNothingLeft(street);
});
