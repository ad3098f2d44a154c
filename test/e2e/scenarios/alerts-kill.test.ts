// kill -9 at the worst moments of alerts: while the two minutes run, when a call or an email has arrived and nobody knows
// of it yet, when a trouble has ended, and with both ways broken. What receiver and mail server saw is judged: all that
// lasted is told and nothing else, the same twice only with the same webhook-id or Message-ID.
import { expect, setDefaultTimeout, test } from "bun:test";
import { type AlertWorld, MINUTE, SECOND, startAlertWorld, type Switch } from "./alert-world.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const isShort = ROUNDS <= 5;
const SOON_MS = 10;
/** An email names so many, and counts the others. */
const MAX_SHOWN = 20;

setDefaultTimeout((ROUNDS + 10) * 10_000);

/** Expects that each was told by exactly one call or email, and nothing else was. */
function expectOnce(told: Map<string, Set<string>>, expected: readonly string[]): void {
  const sizes = (names: readonly (readonly [string, number])[]) => names.toSorted(([a], [b]) => (a < b ? -1 : 1));
  expect(sizes([...told].map(([name, ids]) => [name, ids.size] as const))).toEqual(
    sizes(expected.map((name) => [name, 1] as const)),
  );
}

/** Kills the process where it hurts; each leaves both ways well. */
const MOMENTS: Record<string, (alerts: AlertWorld, killed: () => void) => void> = {
  "a call has arrived, without an answer": ({ receiver, kill }, killed) => {
    receiver.answer = async () => {
      await kill();
      killed();
      return new Response(null, { status: 204 });
    };
  },
  "a call was answered": ({ receiver, kill }, killed) => {
    receiver.answer = () => {
      setTimeout(() => void kill().then(killed), Math.random() * SOON_MS);
      return new Response(null, { status: 204 });
    };
  },
  "an email has arrived, without an answer": ({ mx, kill }, killed) => {
    mx.answerDot = async () => {
      await kill();
      killed();
      return "250 2.0.0 Ok";
    };
  },
  "an email was answered": ({ mx, kill }, killed) => {
    mx.answerDot = () => {
      setTimeout(() => void kill().then(killed), Math.random() * SOON_MS);
      return "250 2.0.0 Ok";
    };
  },
  "neither way works": ({ receiver, mx, kill }, killed) => {
    const ways = { call: false, email: false };
    const fail = (way: keyof typeof ways) => {
      ways[way] = true;
      if (ways.call && ways.email) setTimeout(() => void kill().then(killed), Math.random() * SOON_MS);
    };
    receiver.answer = () => {
      fail("call");
      return new Response(null, { status: 503 });
    };
    mx.answerDot = () => {
      fail("email");
      return "451 4.3.0 Later";
    };
  },
};

async function killAt(name: string, alerts: AlertWorld): Promise<void> {
  const { receiver, mx } = alerts;
  const well = { answer: receiver.answer, answerDot: mx.answerDot };
  let isKilled = false;
  MOMENTS[name]?.(alerts, () => (isKilled = true));
  await alerts.pass(10 * MINUTE, () => isKilled);
  expect([name, isKilled]).toEqual([name, true]);
  receiver.answer = well.answer;
  mx.answerDot = well.answerDot;
  await alerts.serve();
}

test(`what lasts is told once, through ${ROUNDS} kills while its two minutes run, and as many at the worst moments`, async () => {
  await using alerts = await startAlertWorld();
  const { receiver, mx, pass, killAndServe, called, mailed } = alerts;
  const hiccup = await alerts.addTrouble("Hiccup");
  const troubles: { name: string; trouble: Switch }[] = [];
  const expected = (kind: string, of = troubles) => ({
    calls: of.map(({ trouble }) => `${kind} ${trouble.id}`),
    mails: of.map(({ name }) => `${kind} Workspace ${name}`),
  });
  const isTold = (kind: string, of = troubles) => {
    const { calls, mails } = expected(kind, of);
    return calls.every((each) => called().has(each)) && mails.every((each) => mailed().has(each));
  };
  const moments = Object.keys(MOMENTS);
  for (let round = 0; round < ROUNDS; round += 1) {
    const name = `W${round}`;
    const trouble = await alerts.addTrouble(name);
    trouble.begin();
    hiccup.begin();
    await pass(45 * SECOND);
    await killAndServe();
    await pass(15 * SECOND);
    hiccup.end();
    troubles.push({ name, trouble });
    await killAt(moments[round % moments.length] ?? "", alerts);
    await pass(10 * MINUTE, () => isTold("began"));
    // A hiccup is forgotten after two minutes without it.
    await pass(3 * MINUTE);
  }
  expectOnce(called(), expected("began").calls);
  expectOnce(mailed(), expected("began").mails);
  for (let from = 0; from < ROUNDS; from += MAX_SHOWN) {
    const ending = troubles.slice(from, from + MAX_SHOWN);
    for (const { trouble } of ending) trouble.end();
    await pass(MINUTE);
    await killAndServe();
    // An end is told a quarter of an hour after a start.
    await pass(14 * MINUTE);
    await killAt("a call has arrived, without an answer", alerts);
    await pass(10 * MINUTE, () => isTold("ended", ending));
  }
  await pass(5 * MINUTE);
  expectOnce(called(), [...expected("began").calls, ...expected("ended").calls]);
  expectOnce(mailed(), [...expected("began").mails, ...expected("ended").mails]);
  expect(await alerts.faults()).toEqual([]);
  await alerts.kill();
  expect(alerts.bugs).toEqual([]);
  console.log(
    `alerts-kill: ${ROUNDS} rounds, ${troubles.length} troubles, ${receiver.calls.length} calls, ${mx.arrivals.length} emails`,
  );
});

test("a process that is killed every 40 seconds tells what lasts, once, and nothing of what is shorter", async () => {
  await using alerts = await startAlertWorld();
  const { pass, killAndServe, called, mailed } = alerts;
  const lasting = await alerts.addTrouble("Lasting");
  const short = await alerts.addTrouble("Short");
  lasting.begin();
  for (let run = 0; run < 5; run += 1) {
    if (run < 2) short.begin();
    await pass(30 * SECOND);
    short.end();
    await killAndServe(10 * SECOND);
  }
  await pass(MINUTE);
  expectOnce(called(), [`began ${lasting.id}`]);
  expectOnce(mailed(), ["began Workspace Lasting"]);
  await alerts.kill();
  expect(alerts.bugs).toEqual([]);
});

test.skipIf(isShort)(
  "an email that its way keeps back waits through kills, and is told when the way is free; the webhook is told at once",
  async () => {
    await using alerts = await startAlertWorld();
    const { pass, killAndServe, called, mailed } = alerts;
    const other = await alerts.addTrouble("Other");
    other.begin();
    await alerts.ask("POST", "/api/v1/operator/queue/pause");
    const paused = "ready.delivery.paused";
    await pass(10 * MINUTE, () => called().size === 2);
    await killAndServe();
    await pass(5 * MINUTE);
    expectOnce(called(), [`began ${paused}`, `began ${other.id}`]);
    expectOnce(mailed(), []);
    await alerts.ask("POST", "/api/v1/operator/queue/resume");
    await killAndServe();
    await pass(30 * MINUTE, () => called().size === 3 && mailed().size === 2);
    await pass(5 * MINUTE);
    expectOnce(called(), [`began ${paused}`, `began ${other.id}`, `ended ${paused}`]);
    expectOnce(mailed(), ["began Workspace Other", "ended Delivery is paused"]);
    await alerts.kill();
    expect(alerts.bugs).toEqual([]);
  },
);

test.skipIf(isShort)(
  "a webhook that is broken through a kill gets what waited, and of its own trouble the end only",
  async () => {
    await using alerts = await startAlertWorld();
    const { receiver, pass, killAndServe, called, mailed } = alerts;
    const well = receiver.answer;
    const taken = new Set<string>();
    receiver.answer = () => new Response(null, { status: 503 });
    const trouble = await alerts.addTrouble("Other");
    trouble.begin();
    await pass(20 * MINUTE, () => mailed().has("began The webhook"));
    await killAndServe();
    await pass(10 * MINUTE);
    expectOnce(mailed(), ["began Workspace Other", "began The webhook"]);
    const before = receiver.calls.length;
    receiver.answer = (heard) => {
      taken.add(heard.headers["webhook-id"] ?? "");
      return well(heard);
    };
    await pass(60 * MINUTE, () => mailed().has("ended The webhook") && called().size === 2);
    expectOnce(mailed(), ["began Workspace Other", "began The webhook", "ended The webhook"]);
    const own = [...called().keys()].find((about) => about.startsWith("ended alerts.webhook."));
    expectOnce(called(), [`began ${trouble.id}`, own ?? "ended alerts.webhook"]);
    expect([taken.size, receiver.calls.length - before]).toEqual([2, 2]);
    expect(await alerts.faults()).toEqual([]);
    await alerts.kill();
    expect(alerts.bugs).toEqual([]);
  },
);
