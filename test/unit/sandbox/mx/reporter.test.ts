import { afterEach, beforeEach, expect, test } from "bun:test";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { systemRandom } from "../../../../src/platform/random.ts";
import { MAX_WAITING, Reports } from "../../../../src/sandbox/mx/reporter.ts";
import { NOON, lines, stoppedClock } from "../../../support/sandbox/kit.ts";

// The other end: a listener that takes, puts off or refuses what it is told to.

const RETURN_PATH = "b+token@mail.sandbox.test";
const reported = {
  returnPath: RETURN_PATH,
  recipient: "x@example.com",
  raw: lines("Subject: x", "", "x"),
  receivedAt: NOON,
};

let clock: ReturnType<typeof stoppedClock>;
let answers: number[];
let taken: { from: string; to: string[]; isTls: boolean }[];
let events: string[];
let heard: () => void;
let server: SMTPServer;
let reports: Reports;
let inbound: { address: string; port: number } | null;

beforeEach(async () => {
  clock = stoppedClock();
  [answers, taken, events, heard] = [[], [], [], () => undefined];
  server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["AUTH"],
    logger: false,
    onData(stream, session, callback) {
      stream.resume();
      stream.on("end", () => {
        const code = answers.shift() ?? 250;
        const { mailFrom, rcptTo } = session.envelope;
        if (code === 250)
          taken.push({
            from: mailFrom === false ? "" : mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            isTls: session.secure,
          });
        callback(code === 250 ? null : Object.assign(new Error("told to"), { responseCode: code }));
      });
    },
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  inbound = { address: "127.0.0.1", port: (server.server.address() as AddressInfo).port };
  reports = new Reports({
    host: "mx.sandbox.test",
    complaintAddress: "fbl@mail.sandbox.test",
    inbound: () => inbound,
    clock,
    random: systemRandom,
    onEvent(line) {
      events.push(line);
      heard();
    },
  });
});

afterEach(async () => {
  reports.stop();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

/** The next line of what became of a report; `advanceMs` lets it begin. */
function next(advanceMs: number): Promise<void> {
  const told = new Promise<void>((resolve) => {
    heard = resolve;
  });
  clock.advance(advanceMs);
  return told;
}

test("a bounce comes a second later, from the null sender, to the return path, with TLS", async () => {
  reports.later("bounce", reported);
  clock.advance(999);
  expect(taken).toEqual([]);
  await next(1);
  expect(taken).toEqual([{ from: "", to: [RETURN_PATH], isTls: true }]);
  expect(events).toEqual(["sent a bounce report back"]);
});

test("a complaint comes to the operator's address for complaints", async () => {
  reports.later("complaint", reported);
  await next(1_000);
  expect(taken).toEqual([{ from: "feedbackloop@mx.sandbox.test", to: ["fbl@mail.sandbox.test"], isTls: true }]);
});

test("what is refused for good is not tried again, and told", async () => {
  answers = [550];
  reports.later("bounce", reported);
  await next(1_000);
  expect(events).toEqual(["bounce refused: told to"]);
  clock.advance(60_000);
  expect(taken).toEqual([]);
});

test("no more are remembered than a bounded number", () => {
  for (let i = 0; i <= MAX_WAITING; i++) reports.later("bounce", reported);
  expect(events).toEqual([`no report about one to x@example.com: ${MAX_WAITING} are on their way already`]);
});

test("what is put off comes again", async () => {
  answers = [451, 451];
  reports.later("bounce", reported);
  await next(1_000);
  await next(1_000);
  await next(2_000);
  expect(taken.length).toBe(1);
  expect(events).toEqual([
    "bounce put off: told to; again in 1 s",
    "bounce put off: told to; again in 2 s",
    "sent a bounce report back",
  ]);
});

test("while nobody listens it is tried for a while, and then given up in words", async () => {
  inbound = null;
  reports.later("complaint", reported);
  for (const delayMs of [1_000, 1_000, 2_000, 5_000, 10_000, 30_000]) await next(delayMs);
  expect(events.at(-1)).toBe("complaint not sent: the instance does not listen for it");
  expect(events.at(-2)).toBe("complaint not sent: the instance does not listen for it; again in 30 s");
});

test("a stop forgets what is on its way", () => {
  reports.later("bounce", reported);
  reports.stop();
  clock.advance(60_000);
  expect([taken, events]).toEqual([[], []]);
});
