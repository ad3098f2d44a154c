// A mail server that stalls at some step of the dialogue, or answers each a minute late: everybody
// else's mail goes on as if it were not there, and its own is told off by R13's clock and waits.
import { expect, setDefaultTimeout, test } from "bun:test";
import type { Answer, MxScript, Step } from "../../support/fakes/mx.ts";
import { within } from "./child.ts";
import { attemptsOf, MINUTE_MS } from "./mail.ts";
import {
  badRecords,
  copiesOf,
  countedStall,
  expectDeliveredOnceMended,
  expectHealthyDelivered,
  expectNothingLeft,
  LIMIT_MS,
  passAttempts,
  sendRounds,
  SESSIONS_PER_SITE,
  standstill,
  startStreet,
} from "./street.ts";

setDefaultTimeout(60_000);

interface Stall {
  where: string;
  script: (step: Step) => MxScript;
  limitMs: number;
  stage: string;
  reason: string;
  isUnknown?: true;
}

const STALLS: Stall[] = [
  {
    where: "with its greeting",
    script: (greeting) => ({ greeting }),
    limitMs: 5 * MINUTE_MS,
    stage: "greeting",
    reason: "no greeting within 300 s",
  },
  {
    where: "at EHLO",
    script: (ehlo) => ({ ehlo }),
    limitMs: 5 * MINUTE_MS,
    stage: "ehlo",
    reason: "no answer to EHLO within 300 s",
  },
  {
    where: "at MAIL",
    script: (mail) => ({ mail }),
    limitMs: 5 * MINUTE_MS,
    stage: "mail",
    reason: "no answer to MAIL within 300 s",
  },
  {
    where: "at RCPT",
    script: (rcpt) => ({ rcpt }),
    limitMs: 5 * MINUTE_MS,
    stage: "rcpt",
    reason: "no answer to RCPT within 300 s",
  },
  {
    where: "at DATA",
    script: (data) => ({ data }),
    limitMs: 2 * MINUTE_MS,
    stage: "data",
    reason: "no answer to DATA within 120 s",
  },
  {
    where: "after the dot",
    script: (dot) => ({ dot }),
    limitMs: 10 * MINUTE_MS,
    stage: "dot",
    reason: "no answer to the dot within 600 s",
    isUnknown: true,
  },
];

for (const { where, script, limitMs, stage, reason, isUnknown } of STALLS) {
  test(`a server that stalls ${where} holds up its own mail only, and gets it once it answers`, async () => {
    const { step, waiting } = countedStall();
    await using street = await startStreet({ bad: script(step) });
    await sendRounds(street);
    await expectHealthyDelivered(street);
    // Not a second has passed: the neighbour holds all it can hold, and nobody waited for it.
    expect(waiting()).toHaveLength(SESSIONS_PER_SITE);
    expect(street.bad.connections).toHaveLength(SESSIONS_PER_SITE);

    await passAttempts(street, { stepMs: limitMs, waiting });
    for (const email of await badRecords(street)) {
      expect(email).toMatchObject({
        status: "delivery_delayed",
        lastReply: `${reason} (mx.bad.test)`,
        attempts: 1,
        possibleDuplicate: isUnknown === true,
      });
      expect(attemptsOf(street.pombo, email.id)).toMatchObject([
        { stage, code: null, outcome: isUnknown === true ? "unknown" : "deferred" },
      ]);
    }
    await expectDeliveredOnceMended(street, { copies: isUnknown === true ? 2 : 1 });
    await expectNothingLeft(street);
  });
}

/** Answers as told, but only when let. */
function createLate() {
  const waiting: (() => void)[] = [];
  return {
    waiting,
    say:
      (answer: Answer): Step =>
      () =>
        new Promise((resolve) => waiting.push(() => resolve(answer))),
    let() {
      for (const answer of waiting.splice(0)) answer();
    },
  };
}

test("a server that gives every answer a minute late gets its mail once, in the first attempt, and nobody else waits for it", async () => {
  const late = createLate();
  const script: MxScript = {
    greeting: late.say("220 mx.bad.test ESMTP"),
    ehlo: late.say("250-mx.bad.test\n250 PIPELINING"),
    mail: late.say("250 2.1.0 Ok"),
    rcpt: late.say("250 2.1.5 Ok"),
    data: late.say("354 Go on"),
    dot: late.say("250 2.0.0 Queued"),
    quit: late.say("221 2.0.0 Bye"),
  };
  await using street = await startStreet({ bad: script });
  const { pombo } = street;
  await sendRounds(street);
  await expectHealthyDelivered(street);
  expect(late.waiting).toHaveLength(SESSIONS_PER_SITE);

  const isOver = () =>
    pombo.events.filter(({ name }) => name === "email.delivered").length === street.badIds.length * 3;
  const giveUpAt = performance.now() + LIMIT_MS;
  while (!isOver()) {
    if (performance.now() > giveUpAt) throw new Error(`${late.waiting.length} answers are due`);
    await standstill(pombo, () => late.waiting);
    if (late.waiting.length === 0) continue;
    pombo.clock.advance(MINUTE_MS);
    late.let();
  }
  await within(LIMIT_MS, "rest", pombo.app.worker.idle());
  for (const email of await badRecords(street)) {
    expect(email).toMatchObject({ status: "delivered", attempts: 1, possibleDuplicate: false, failedReason: null });
  }
  expect(copiesOf(street.bad)).toEqual(new Map(street.badIds.map((id) => [id, 1])));
  await expectNothingLeft(street);
});
