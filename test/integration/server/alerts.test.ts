// Alerts of a whole instance, whose time stands still: from what is wrong to the email, the call and the SMS that say so.

import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Config } from "../../../src/config/config.ts";
import type { Trouble } from "../../../src/modules/alerts/index.ts";
import { type HeldInstance, startHeld } from "../../support/api/kit.ts";
import { allowLoopback, DAY, HOUR, MINUTE, NOON, SECOND } from "../../support/api/webhook-kit.ts";
import { HOSTNAME, type Json } from "../../support/fakes/instance.ts";
import { type Receiver, startReceiver, verify } from "../../support/fakes/receiver.ts";

setDefaultTimeout(30_000);

const DNS: Trouble = {
  id: "test.dns",
  level: "problem",
  what: "DNS does not answer.",
  step: "Look at it.",
  via: "mail",
};
const MAIL = { kind: "email" as const, to: ["maria@example.com"] };
const QUOTA: Trouble = { id: "test.quota", level: "warning", what: "A quota is used up.", step: null };

interface Options {
  startMs?: number;
  configure?: (config: Config, receiver: Receiver) => void;
}

interface World extends AsyncDisposable {
  held: HeldInstance;
  receiver: Receiver;
  /** What is wrong. */
  troubles: Trouble[];
  secret(): Promise<string>;
  /** Moves the time on, with a look at each step. */
  pass(ms: number, stepMs?: number): Promise<void>;
  /** The texts that the webhook was told. */
  told(): string[];
  /** The subjects of the emails that the recipient got. */
  mailed(): string[];
  restart(): Promise<void>;
}

let world: World | null = null;
afterEach(async () => {
  await world?.[Symbol.asyncDispose]();
  world = null;
});

async function start(
  alerts: Partial<Config["alerts"][number]>[],
  { startMs = NOON, configure = () => undefined }: Options = {},
): Promise<World> {
  const receiver = startReceiver();
  const troubles: Trouble[] = [];
  const held = await startHeld(startMs, {
    configure(config) {
      allowLoopback(config);
      config.alerts = alerts.map((alert) => ({
        kind: "webhook" as const,
        to: [receiver.url],
        least: "warning" as const,
        from: null,
        route: null,
        ...alert,
      }));
      configure(config, receiver);
    },
  });
  const { pombo, clock } = held;
  pombo.app.alerts.addSource(() => world?.troubles ?? []);
  const made: World = {
    held,
    receiver,
    troubles,
    async secret() {
      const { body } = await pombo.operator.call("GET", "/api/v1/operator/alerts/secrets");
      return body.data.webhooks[0].secret;
    },
    async pass(ms, stepMs = 15 * SECOND) {
      for (let left = ms; left > 0; left -= stepMs) {
        clock.advance(Math.min(left, stepMs));
        await pombo.app.alerts.idle();
        await pombo.app.worker.idle();
        // What nobody here waits for, such as the disk guard's tries.
        await new Promise<void>((next) => setImmediate(next));
      }
    },
    told: () => receiver.calls.map(({ event }) => `${event.event} ${event.data.alerts.map((each: Json) => each.id)}`),
    mailed: () =>
      pombo.mx.messages.map(({ stuffed }) => {
        const unfolded = stuffed.toString().replaceAll(/\r\n(?=[ \t])/g, "");
        return /^Subject: (.*)\r$/m.exec(unfolded)?.[1] ?? "(none)";
      }),
    async restart() {
      await held.restart();
      pombo.app.alerts.addSource(() => world?.troubles ?? []);
    },
    async [Symbol.asyncDispose]() {
      await held[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
    },
  };
  world = made;
  await pombo.app.alerts.idle();
  return made;
}

function showMinute(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace("T", " ");
}

test("a trouble is told after two minutes, once a day again, and its end; the call is a Standard Webhook with a text for chats", async () => {
  // The independent library compares with the machine's clock.
  const startMs = Math.floor(Date.now() / MINUTE - 2) * MINUTE;
  const { pass, troubles, told, receiver, secret, held } = await start([{}], { startMs });
  troubles.push(DNS);
  await pass(2 * MINUTE);
  expect(told()).toEqual([]);
  await pass(MINUTE);
  expect(told()).toEqual(["alert.began test.dns"]);
  const [call] = receiver.calls;
  if (call === undefined) throw new Error("no call");
  verify(call, await secret());
  expect(call.event.text).toBe(
    `pombo at ${HOSTNAME}\n\nProblem since ${showMinute(startMs)} UTC:\nDNS does not answer.\nWhat to do: Look at it.`,
  );
  expect(call.event).toMatchObject({ content: call.event.text, allowed_mentions: { parse: [] } });
  // Mattermost refuses a type that it does not know.
  expect(call.event.type).toBeUndefined();
  await pass(DAY - 5 * MINUTE, 5 * MINUTE);
  expect(told()).toHaveLength(1);
  await pass(6 * MINUTE);
  expect(told()).toEqual(["alert.began test.dns", "alert.reminded test.dns"]);
  troubles.length = 0;
  await pass(3 * MINUTE);
  expect(told().at(-1)).toBe("alert.ended test.dns");
  await pass(HOUR);
  expect(told()).toHaveLength(3);
  expect(held.pombo.bugs).toEqual([]);
});

test("an email goes from pombo at the host name, with a return path there; what is wrong with mail waits until mail works", async () => {
  const { pass, troubles, mailed, held } = await start([{ kind: "email", to: ["maria@example.com"] }]);
  troubles.push(QUOTA);
  await pass(3 * MINUTE);
  expect(mailed()).toEqual([`[warning] ${HOSTNAME}: A quota is used up`]);
  const [message] = held.pombo.mx.messages;
  expect(message?.from).toMatch(/^b\+\w+@mail\.pombo\.test$/);
  expect(message?.stuffed.toString()).toContain(`From: pombo <pombo@${HOSTNAME}>\r\n`);
  troubles.push(DNS);
  await pass(10 * MINUTE);
  expect(mailed()).toHaveLength(1);
  troubles.pop();
  await pass(10 * MINUTE);
  expect(mailed().slice(1)).toEqual([`[ended] ${HOSTNAME}: DNS does not answer`]);
  expect(held.pombo.bugs).toEqual([]);
});

const URGENT: Trouble = { id: "test.urgent", level: "problem", what: "Something is on fire.", step: null };

test("a kill between two looks tells nothing twice, and what was not told yet is", async () => {
  const { pass, troubles, told, restart, receiver } = await start([{}]);
  troubles.push(URGENT);
  await pass(3 * MINUTE);
  expect(told()).toEqual(["alert.began test.urgent"]);
  await restart();
  await pass(10 * MINUTE);
  expect(told()).toHaveLength(1);
  // It may have taken it: the process ends before it answers well.
  troubles.push(QUOTA);
  receiver.answer = () => new Response(null, { status: 503 });
  await pass(3 * MINUTE);
  expect(receiver.calls.length).toBeGreaterThan(1);
  await restart();
  const before = receiver.calls.length;
  receiver.answer = () => new Response(null, { status: 204 });
  await pass(2 * MINUTE);
  const calls = receiver.calls.slice(1);
  expect(new Set(calls.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  expect(new Set(calls.map(({ body }) => body)).size).toBe(1);
  await pass(10 * MINUTE);
  expect(receiver.calls).toHaveLength(before + 1);
});

test("a webhook that hangs is given up after fifteen seconds, and holds up neither mail nor another webhook", async () => {
  await using other = startReceiver();
  const { pass, troubles, mailed, receiver, held } = await start([
    {},
    { to: [other.url] },
    { kind: "email", to: ["maria@example.com"] },
  ]);
  receiver.answer = () => new Promise<Response>(() => undefined);
  troubles.push(URGENT);
  // Its call is under way, so that nobody waits for the end of what alerts do.
  const { clock, pombo } = held;
  for (let passed = 0; passed < 3 * MINUTE && other.calls.length === 0; passed += 15 * SECOND) {
    clock.advance(15 * SECOND);
    for (let turn = 0; turn < 50; turn += 1) await new Promise<void>((next) => setImmediate(next));
  }
  await other.until(() => other.calls.length === 1);
  await receiver.until(() => receiver.calls.length === 1);
  await pombo.app.worker.idle();
  expect(mailed()).toEqual([`[problem] ${HOSTNAME}: Something is on fire`]);
  clock.advance(16 * SECOND);
  receiver.answer = () => new Response(null, { status: 204 });
  await pass(MINUTE);
  expect(receiver.calls).toHaveLength(2);
  expect(receiver.calls[1]?.headers["webhook-id"]).toBe(receiver.calls[0]?.headers["webhook-id"] ?? "");
});

test("a redirect is not followed, and others hear of the webhook that does not take alerts", async () => {
  await using elsewhere = startReceiver();
  const { pass, troubles, mailed, told, receiver, held } = await start([{}, MAIL]);
  receiver.answer = () => Response.redirect(elsewhere.url, 307);
  troubles.push(URGENT);
  await pass(10 * MINUTE);
  expect(elsewhere.calls).toEqual([]);
  expect(mailed()).toEqual([
    `[problem] ${HOSTNAME}: Something is on fire`,
    expect.stringContaining(`${HOSTNAME}: The webhook for alerts at 127.0.0.1`),
  ]);
  const { body } = await held.pombo.operator.call("GET", "/api/v1/operator/alerts");
  expect(body.data.receivers[0]).toMatchObject({
    failure: expect.stringContaining("redirect"),
    waiting: expect.any(Number),
  });
  const before = receiver.calls.length;
  receiver.answer = () => new Response(null, { status: 200 });
  await pass(HOUR);
  const ended = expect.stringMatching(/^alert.ended alerts.webhook./);
  expect(told().slice(before)).toEqual(["alert.began test.urgent", ended]);
});

test("a webhook that failed for more than a week, and has nothing else to hear, is found to work again", async () => {
  const { pass, troubles, mailed, told, receiver } = await start([{}, MAIL]);
  receiver.answer = () => new Response(null, { status: 503 });
  troubles.push(QUOTA);
  await pass(10 * MINUTE);
  troubles.length = 0;
  await pass(9 * DAY, HOUR);
  const before = receiver.calls.length;
  receiver.answer = () => new Response(null, { status: 204 });
  await pass(3 * HOUR, MINUTE);
  expect(mailed().at(-1)).toContain("[ended]");
  expect(mailed().at(-1)).toContain("The webhook for alerts at 127.0.0.1");
  // Its own trouble was the call that showed it, and then comes its end.
  expect(told().slice(before)).toHaveLength(2);
});

test("an address inside is not called", async () => {
  const { pass, troubles, receiver, held } = await start([{}], {
    configure: (config) => void (config.webhooks.allowPrivateRanges = []),
  });
  troubles.push(URGENT);
  await pass(3 * MINUTE);
  expect(receiver.calls).toEqual([]);
  const { body } = await held.pombo.operator.call("GET", "/api/v1/operator/alerts");
  expect(body.data.receivers[0].failure).toContain("a loopback address");
});

test("who wants problems only gets no warning, and one call says all that began at once", async () => {
  await using other = startReceiver();
  const { pass, troubles, told } = await start([{ least: "problem" }, { to: [other.url] }]);
  troubles.push(URGENT, QUOTA, DNS);
  await pass(3 * MINUTE);
  expect(told()).toEqual(["alert.several test.urgent,test.dns"]);
  expect(other.calls[0]?.event.data.alerts.map(({ id }: Json) => id)).toEqual([
    "test.urgent",
    "test.quota",
    "test.dns",
  ]);
});

test("a heartbeat is asked for every minute, stops with a problem and goes on after it", async () => {
  let beats = 0;
  await using watchman = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch(request) {
      beats += Number(request.method === "GET");
      return new Response("OK");
    },
  });
  const { pass, troubles } = await start([], {
    configure: (config) => void (config.alertsHeartbeat.url = `http://127.0.0.1:${watchman.port}/ping/1`),
  });
  await pass(10 * MINUTE);
  expect(beats).toBeGreaterThanOrEqual(10);
  expect(beats).toBeLessThanOrEqual(11);
  troubles.push(QUOTA);
  await pass(10 * MINUTE);
  expect(beats).toBeGreaterThanOrEqual(20);
  troubles.push(URGENT);
  await pass(5 * MINUTE);
  const before = beats;
  await pass(10 * MINUTE);
  expect(beats).toBe(before);
  troubles.length = 0;
  await pass(20 * MINUTE);
  expect(beats).toBeGreaterThan(before + 10);
});

test("five wrong operator keys, a blocked workspace and a used-up quota are told", async () => {
  const { pass, told, held } = await start([{}]);
  const { operator, newWorkspace, config } = held.pombo;
  config.plans["launch"] = { ...config.plans["launch"]!, emailsPerDay: 1 };
  for (let tries = 0; tries < 4; tries += 1)
    await operator.call("GET", "/api/v1/operator/status", { key: `svc_${"x".repeat(43)}` });
  await pass(3 * MINUTE);
  expect(told()).toEqual([]);
  await operator.call("GET", "/api/v1/operator/status", { key: `svc_${"x".repeat(43)}` });
  await pass(3 * MINUTE);
  expect(told()).toEqual(["alert.began operator_key.failed"]);
  const { id } = held.pombo.workspace;
  await held.pombo.app.committer.commit(() =>
    held.pombo.app.db.sqlite.run(
      "UPDATE workspace SET rate_blocked_at = 1, rate_block_reason = 'too many bounces' WHERE uid = ?",
      [id],
    ),
  );
  const small = await newWorkspace("launch");
  await held.pombo.addDomain(small, "small.test");
  const sent = await small.call("POST", "/api/v1/emails", { body: held.pombo.email({ from: "a@small.test" }) });
  expect(sent.status).toBe(202);
  await pass(3 * MINUTE);
  expect(told().at(-1)).toBe(`alert.several workspace.blocked.${id},workspace.quota.${small.id}`);
  await pass(DAY / 2 + HOUR, 5 * MINUTE);
  expect(told()).toContain(`alert.ended workspace.quota.${small.id}`);
});

test("on a disk that cannot be written a webhook hears of it, once, and the rest follows when it can", async () => {
  const { pass, told, mailed, held, receiver } = await start([{}, { kind: "email", to: ["maria@example.com"] }]);
  const { app } = held.pombo;
  const { sqlite } = app.db;
  sqlite.run("PRAGMA query_only = 1");
  await app.committer.commit(() => sqlite.run("UPDATE workspace SET name = 'x'")).catch(() => undefined);
  app.guard.raise(new Error("the disk is full"));
  await pass(5 * MINUTE);
  expect(told()).toEqual(["alert.began ready.database"]);
  expect(mailed()).toEqual([]);
  sqlite.run("PRAGMA query_only = 0");
  await pass(20 * MINUTE);
  expect(told()).toEqual(["alert.began ready.database", "alert.ended ready.database"]);
  expect(mailed()).toEqual([expect.stringContaining(`[ended] ${HOSTNAME}: the database cannot be written`)]);
  expect(receiver.calls).toHaveLength(2);
});

test("where nobody has a webhook, what began on a disk that cannot be written is told once it can", async () => {
  const { pass, mailed, held } = await start([{ kind: "email", to: ["maria@example.com"] }]);
  const { app } = held.pombo;
  app.db.sqlite.run("PRAGMA query_only = 1");
  await app.committer.commit(() => app.db.sqlite.run("UPDATE workspace SET name = 'x'")).catch(() => undefined);
  app.guard.raise(new Error("the disk is full"));
  await pass(HOUR, MINUTE);
  expect(mailed()).toEqual([]);
  app.db.sqlite.run("PRAGMA query_only = 0");
  await pass(HOUR, MINUTE);
  expect(mailed()).toEqual([expect.stringContaining(`[ended] ${HOSTNAME}: the database cannot be written`)]);
});

test("a call that was taken while the disk cannot be written is not made again and again", async () => {
  const { pass, troubles, held, receiver } = await start([{}]);
  const { app } = held.pombo;
  receiver.answer = () => new Response(null, { status: 503 });
  troubles.push(QUOTA);
  await pass(4 * MINUTE);
  const id = receiver.calls.at(-1)?.headers["webhook-id"];
  receiver.answer = () => new Response(null, { status: 204 });
  app.db.sqlite.run("PRAGMA query_only = 1");
  await app.committer.commit(() => app.db.sqlite.run("UPDATE workspace SET name = 'x'")).catch(() => undefined);
  app.guard.raise(new Error("the disk is full"));
  const before = receiver.calls.length;
  await pass(2 * HOUR, MINUTE);
  const again = receiver.calls.slice(before).filter(({ headers }) => headers["webhook-id"] === id);
  expect([id === undefined, again.length]).toEqual([false, 1]);
  app.db.sqlite.run("PRAGMA query_only = 0");
});

test("a problem that eased is no problem any more: the heartbeat goes on, and a reminder says what it is now", async () => {
  const { pass, troubles, told, receiver, held } = await start([{ least: "problem" }]);
  troubles.push(URGENT);
  await pass(3 * MINUTE);
  expect(told()).toEqual(["alert.began test.urgent"]);
  troubles.splice(0, 1, { ...URGENT, level: "warning" });
  await pass(2 * DAY, 5 * MINUTE);
  expect(told()).toHaveLength(1);
  expect([receiver.calls.length, held.pombo.bugs]).toEqual([1, []]);
});

test("the secret path of a webhook is not repeated where its server does not know it", async () => {
  const { pass, troubles, receiver, held } = await start([{}]);
  receiver.answer = ({ path }) => new Response(`Cannot POST ${path}`, { status: 404 });
  troubles.push(QUOTA);
  await pass(10 * MINUTE);
  expect(receiver.calls.length).toBeGreaterThan(1);
  const { text } = await held.pombo.operator.call("GET", "/api/v1/operator/alerts");
  expect(text).toContain("answered 404: Cannot POST …");
  expect(JSON.stringify([held.pombo.events, text])).not.toContain("/hook");
});

test("after a restart what waits for its way does not go before that trouble was looked for again", async () => {
  const { pass, troubles, mailed, restart } = await start([{ kind: "email", to: ["maria@example.com"] }]);
  troubles.push(DNS, QUOTA);
  await pass(HOUR);
  // It is found by a look of its own, some minutes after a start.
  troubles.splice(0, 1);
  await restart();
  await pass(2 * MINUTE);
  expect(mailed()).toEqual([]);
  troubles.push(DNS);
  await pass(10 * MINUTE);
  expect(mailed()).toEqual([]);
  troubles.pop();
  await pass(20 * MINUTE);
  expect(mailed()).toEqual([`[warning] ${HOSTNAME}: A quota is used up`, `[ended] ${HOSTNAME}: DNS does not answer`]);
});
