// A day of texting in minutes: two links that flap, a clock that is moved on, sockets and SMSCs that are real, and
// at the end the SMSCs' journals against the database. SOAK_MINUTES is how long it may last; by itself it is a few
// minutes of the clock's only, enough for both links to break.

import { expect, setDefaultTimeout, test } from "bun:test";
import { defaultSmsRoute } from "../../../src/config/config.ts";
import { seeded } from "../../support/db/temporary.ts";
import { startInstance, type Instance } from "../../support/fakes/instance.ts";
import { startSmsc } from "../../support/peers/smsc/client.ts";
import type { Change, Script } from "../../support/peers/smsc/script.ts";
import { Flapping, hurriedClock, passTime } from "./hours.ts";
import { judge, numberOf, readArrivals } from "./soak-judge.ts";
import { linkConfig } from "../../support/texting/world.ts";

const MINUTES = Number(process.env["SOAK_MINUTES"] ?? 0);
const SEED = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** What is left of the time for the end, in which all is settled and judged. */
const WORK_MS = MINUTES * MINUTE_MS * 0.85;
const SPAN_MS = MINUTES === 0 ? 8 * MINUTE_MS : DAY_MS;
const CUSTOMERS = 6;
const WINDOW = 10;
const CREDITS = 50_000_000;
/** A text is in doubt for two minutes, and a link that was lost is back after three. */
const SETTLE_MS = 60 * MINUTE_MS;
const MAX_TEXTS = 5_000_000;
/** Segments that wait, at most: what a customer would see as a backlog. */
const MAX_WAITING = 2_000;
/** Of each so many texts one has three parts, and one is sent twice under one Idempotency-Key. */
const LONG_EVERY = 9;
const REPEATED_EVERY = 40;
const LONG = "Um texto comprido que vai em três partes, à espera do fim. ".repeat(3);
/** So that a link that breaks finds segments without their answers. */
const ANSWER_MS = 4;
const SCRIPT: Change<Script> = {
  answerDelayMs: ANSWER_MS,
  receipts: { tlvs: ["receipted_message_id", "message_state", "user_message_reference"] },
};
const SAMPLE_EVERY_MS = 10 * MINUTE_MS;

setDefaultTimeout(Math.max(120_000, MINUTES * MINUTE_MS * 2));

test(`over links that flap all texts have an end, and what came twice says so (seed ${SEED})`, async () => {
  const chance = seeded(SEED);
  const clock = hurriedClock();
  await using a = await startSmsc({ script: SCRIPT });
  await using b = await startSmsc({ script: SCRIPT });
  const smscs = [a, b];
  await using instance = await startInstance({
    clock,
    configure(config) {
      const links = smscs.map(({ port }, index) => linkConfig(port, { name: `link-${index}`, window: WINDOW }));
      config.sms.routes = [{ ...defaultSmsRoute("vodacom"), links }];
      config.webhooks.allowHttp = true;
      config.webhooks.allowPrivateRanges = ["127.0.0.0/8"];
    },
  });
  await instance.enableSms(instance.workspace, CREDITS);
  // Somebody is told of what is given up, and of nothing else.
  const listener = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("") });
  await using _listening = { [Symbol.asyncDispose]: () => listener.stop(true) };
  const hook = { url: `http://127.0.0.1:${listener.port}/`, events: ["sms.failed"] };
  expect((await instance.workspace.call("POST", "/api/v1/webhooks", { body: hook })).status).toBe(201);

  const flapping = smscs.map((smsc, index) => {
    const firstMs = MINUTES === 0 ? (1 + index) * MINUTE_MS : (13 + 3 * chance()) * MINUTE_MS;
    return new Flapping(smsc, { clock, chance, firstMs });
  });
  const load = startLoad(instance);
  const memory: number[] = [];
  const startedAt = performance.now();
  const endsAt = clock.now() + SPAN_MS;
  const perMs = MINUTES === 0 ? Infinity : SPAN_MS / WORK_MS;
  // A bug ends it at once: what comes after says less.
  const isLate = () => instance.bugs.length > 0 || (MINUTES > 0 && performance.now() - startedAt > WORK_MS);
  let sampleAt = clock.now();
  await passTime(
    { clock, smscs, perMs },
    () => clock.now() >= endsAt || isLate(),
    async () => {
      for (const each of flapping) await each.look();
      load.look();
      if (clock.now() < sampleAt) return;
      sampleAt += SAMPLE_EVERY_MS;
      memory.push(process.memoryUsage.rss());
    },
  );
  const hours = (SPAN_MS - Math.max(0, endsAt - clock.now())) / (60 * MINUTE_MS);
  await load.stop();
  for (const each of flapping) await each.comeBack();
  const settledBy = clock.now() + SETTLE_MS;
  const isSettled = () => openTexts(instance) === 0 || clock.now() > settledBy || instance.bugs.length > 0;
  await passTime({ clock, smscs, perMs: Infinity }, isSettled);
  expect(instance.bugs.slice(0, 3)).toEqual([]);
  expect([openTexts(instance), instance.events.slice(-5)]).toEqual([0, expect.anything()]);

  const arrivals = await readArrivals(smscs, load.sent());
  const { sqlite } = instance.app.db;
  const verdict = judge(sqlite, load.accepted.subarray(0, load.sent()), arrivals);
  const states = await Promise.all(smscs.map((smsc) => smsc.state()));
  const sum = (name: keyof (typeof states)[number]["counters"]) =>
    states.reduce((total, { counters }) => total + counters[name], 0);
  const megabytes = memory.map((bytes) => Math.round(bytes / 2 ** 20));
  console.log(
    `soak: ${hours.toFixed(1)} h, ${load.sent()} texts, ${arrivals.submits} submits, ${sum("closed")} connections lost, ` +
      `${verdict.marked} marked, ${verdict.doubled} read twice, ${verdict.givenUp} of several parts given up; ` +
      `RSS ${megabytes[0]} to ${Math.max(...megabytes)} MB, at the end ${megabytes.at(-1)} MB`,
  );
  expect(verdict.wrong.slice(0, 10)).toEqual([]);
  expect(load.wrong).toEqual([]);
  expect(verdict.stored).toBe(load.sent());
  expect(sum("closed")).toBeGreaterThanOrEqual(flapping.reduce((total, { count }) => total + count, 0));
  // No answer came late: what was in doubt was in a window when its link was lost.
  expect(verdict.marked + verdict.givenUp).toBeLessThanOrEqual(WINDOW * sum("closed"));
  for (const { maxUnanswered } of states) expect(maxUnanswered).toBeLessThanOrEqual(WINDOW);
  expect({ refused: sum("refused"), faults: sum("faults"), nacks: sum("nacks") }).toEqual({
    refused: 0,
    faults: 0,
    nacks: 0,
  });
  const balance = sqlite.query<{ n: number }, []>("SELECT SUM(sms_credits) AS n FROM workspace").get()?.n ?? 0;
  expect(balance + verdict.creditsTaken).toBe(CREDITS);
  expectOneEventEach(instance);
  if (MINUTES >= 5) expectFlat(megabytes);
});

interface Load {
  /** By each text's place, 1 where a 202 was seen. */
  accepted: Uint8Array;
  wrong: string[];
  sent(): number;
  /** Lets the customers go on, or wait. */
  look(): void;
  stop(): Promise<void>;
}

function startLoad({ workspace, app }: Instance): Load {
  const accepted = new Uint8Array(MAX_TEXTS);
  const wrong: string[] = [];
  const waiting = app.db.sqlite.query<{ n: number }, []>("SELECT COUNT(*) AS n FROM sms_segment WHERE state = 'ready'");
  let [next, isOver] = [0, false];
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  let isShut = false;
  const send = async (nth: number) => {
    const body = { to: numberOf(nth), body: nth % LONG_EVERY === 0 ? `${nth} ${LONG}` : `Texto ${nth}` };
    const isRepeated = nth % REPEATED_EVERY === 0;
    const headers: Record<string, string> = isRepeated ? { "idempotency-key": `text-${nth}` } : {};
    const answer = await workspace.call("POST", "/api/v1/sms", { body, headers });
    if (answer.status === 202) accepted[nth] = 1;
    else wrong.push(`${answer.status} ${answer.text}`);
    if (!isRepeated) return;
    const again = await workspace.call("POST", "/api/v1/sms", { body, headers });
    if (again.body.data?.id !== answer.body.data?.id) wrong.push(`not the same: ${again.text}`);
  };
  const customers = Array.from({ length: CUSTOMERS }, async () => {
    while (!isOver && next < MAX_TEXTS) {
      await gate.promise;
      const nth = next;
      next += 1;
      await send(nth);
    }
  });
  const open = () => {
    isShut = false;
    gate.resolve();
  };
  return {
    accepted,
    wrong,
    sent: () => next,
    look() {
      const isMuch = (waiting.get()?.n ?? 0) > MAX_WAITING;
      if (isMuch && !isShut) [isShut, gate] = [true, Promise.withResolvers<void>()];
      else if (!isMuch && isShut) open();
    },
    async stop() {
      isOver = true;
      open();
      await Promise.all(customers);
    },
  };
}

function openTexts({ app }: Instance): number {
  const query = "SELECT COUNT(*) AS n FROM sms_message WHERE status IN ('queued', 'sending', 'sent')";
  return app.db.sqlite.query<{ n: number }, []>(query).get()?.n ?? 0;
}

function expectOneEventEach({ app }: Instance): void {
  const { sqlite } = app.db;
  const failed = sqlite.query<{ n: number }, []>("SELECT COUNT(*) AS n FROM sms_message WHERE status = 'failed'").get();
  const events = sqlite.query<{ n: number; texts: number }, []>(EVENTS).get();
  expect(events?.n).toBe(events?.texts ?? -1);
  expect(events?.n).toBeGreaterThanOrEqual(failed?.n ?? 0);
}

const EVENTS = "SELECT COUNT(*) AS n, COUNT(DISTINCT resource) AS texts FROM event WHERE type = 'sms.failed'";

/** The last quarter takes no more than the second, in which all caches have filled. */
function expectFlat(megabytes: number[]): void {
  const quarter = Math.floor(megabytes.length / 4);
  const median = (part: number[]) => part.toSorted((x, y) => x - y)[Math.floor(part.length / 2)] ?? 0;
  const [second, last] = [megabytes.slice(quarter, 2 * quarter), megabytes.slice(-quarter)];
  expect(median(last)).toBeLessThanOrEqual(median(second) * 1.2 + 32);
}
