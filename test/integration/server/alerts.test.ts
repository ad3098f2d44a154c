// Alerts of a whole instance, whose time stands still: from what is wrong to the email, the call and the SMS that say so.

import { expect, setDefaultTimeout, test } from "bun:test";
import { DNS, QUOTA, URGENT, endAlerts, startAlerts } from "../../support/api/alerts-kit.ts";
import { DAY, HOUR, MINUTE } from "../../support/api/webhook-kit.ts";
import { HOSTNAME, type Json } from "../../support/fakes/instance.ts";
import { startReceiver, verify } from "../../support/fakes/receiver.ts";

setDefaultTimeout(30_000);
endAlerts();

function showMinute(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace("T", " ");
}

test("a trouble is told after two minutes, once a day again, and its end; the call is a Standard Webhook with a text for chats", async () => {
  // The independent library compares with the machine's clock.
  const startMs = Math.floor(Date.now() / MINUTE - 2) * MINUTE;
  const { pass, troubles, told, receiver, secret, held } = await startAlerts([{}], { startMs });
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
  const { pass, troubles, mailed, held } = await startAlerts([{ kind: "email", to: ["maria@example.com"] }]);
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

test("a kill between two looks tells nothing twice, and what was not told yet is", async () => {
  const { pass, troubles, told, restart, receiver } = await startAlerts([{}]);
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

test("who wants problems only gets no warning, and one call says all that began at once", async () => {
  await using other = startReceiver();
  const { pass, troubles, told } = await startAlerts([{ least: "problem" }, { to: [other.url] }]);
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
  const { pass, troubles } = await startAlerts([], {
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
  const { pass, told, held } = await startAlerts([{}]);
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
  const { pass, told, mailed, held, receiver } = await startAlerts([{}, { kind: "email", to: ["maria@example.com"] }]);
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
  const { pass, mailed, held } = await startAlerts([{ kind: "email", to: ["maria@example.com"] }]);
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
  const { pass, troubles, held, receiver } = await startAlerts([{}]);
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
  const { pass, troubles, told, receiver, held } = await startAlerts([{ least: "problem" }]);
  troubles.push(URGENT);
  await pass(3 * MINUTE);
  expect(told()).toEqual(["alert.began test.urgent"]);
  troubles.splice(0, 1, { ...URGENT, level: "warning" });
  await pass(2 * DAY, 5 * MINUTE);
  expect(told()).toHaveLength(1);
  expect([receiver.calls.length, held.pombo.bugs]).toEqual([1, []]);
});

test("after a restart what waits for its way does not go before that trouble was looked for again", async () => {
  const { pass, troubles, mailed, restart } = await startAlerts([{ kind: "email", to: ["maria@example.com"] }]);
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
