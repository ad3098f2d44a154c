// What is decided again when a scheduled email is due, and what ends it before.

import { expect, test } from "bun:test";
import type { Instance } from "../../support/fakes/instance.ts";
import { ask, HOUR, MINUTE, recordOf, send, startAtNoon } from "../../support/api/one-email.ts";
import { at, DAY, kept, queueOf } from "../../support/api/scheduled.ts";

const block = (pombo: Instance, body: unknown) =>
  pombo.operator.call("POST", `/api/v1/operator/workspaces/${pombo.workspace.id}/block`, { body });

test("when it is due a block does not stop it, and the operator's hold makes it wait", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const [first, second] = [await send(pombo, { sendAt: at(HOUR) }), await send(pombo, { sendAt: at(2 * HOUR) })];
  expect((await block(pombo, {})).status).toBe(200);
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  expect((await recordOf(pombo, first)).status).toBe("delivered");
  await block(pombo, { hold: true });
  await held.advance(2 * HOUR);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, second)).toMatchObject({ status: "scheduled", attempts: 0 });
  expect(await queueOf(pombo)).toMatchObject({
    waiting: 1,
    scheduled: 0,
    destinations: [{ held: 1, oldestAt: at(2 * HOUR) }],
  });
  await pombo.operator.call("POST", `/api/v1/operator/workspaces/${pombo.workspace.id}/unblock`);
  await pombo.app.worker.idle();
  expect((await recordOf(pombo, second)).status).toBe("delivered");
});

test("held, it expires on its time, also behind older mail that expires later", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const lifetime = pombo.config.email.lifetimeMs;
  const far = await send(pombo, { sendAt: at(20 * DAY) });
  const near = await send(pombo, { sendAt: at(HOUR) });
  await block(pombo, { hold: true });
  await held.advance(HOUR + lifetime);
  for (let turns = 0; turns < 50 && (await recordOf(pombo, near)).status === "scheduled"; turns += 1)
    await held.advance(MINUTE);
  expect(await recordOf(pombo, near)).toMatchObject({ status: "failed", attempts: 0, bounce: { category: "expired" } });
  expect((await recordOf(pombo, far)).status).toBe("scheduled");
  expect(kept(pombo)).toEqual({ failed: 1, scheduled: 1 });
});

test("a domain that is not verified any more delays it until its lifetime is over", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const [first, second] = [await send(pombo, { sendAt: at(HOUR) }), await send(pombo, { sendAt: at(HOUR) })];
  const setDomain = (status: string) => pombo.app.db.sqlite.run("UPDATE domain SET status = ?", [status]);
  for (const name of Object.keys(pombo.dns.zone)) if (name.endsWith("loja.test")) delete pombo.dns.zone[name];
  setDomain("failed");
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  for (const id of [first, second])
    expect(await recordOf(pombo, id)).toMatchObject({
      status: "delivery_delayed",
      attempts: 1,
      lastReply: expect.stringContaining("loja.test is not verified any more"),
    });
  expect(pombo.mx.connections).toEqual([]);
  setDomain("verified");
  expect((await ask(pombo, first, "retry")).status).toBe(202);
  await pombo.app.worker.idle();
  expect((await recordOf(pombo, first)).status).toBe("delivered");
  setDomain("failed");
  await held.advance(74 * HOUR);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, second)).toMatchObject({ status: "failed", bounce: { category: "expired" } });
});

test("a recipient who came to be suppressed ends it as suppressed, without an attempt", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const id = await send(pombo, { sendAt: at(HOUR) });
  await pombo.workspace.call("POST", "/api/v1/suppressions", { body: { address: "maria@example.com" } });
  expect((await recordOf(pombo, id)).status).toBe("scheduled");
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  expect(await recordOf(pombo, id)).toMatchObject({ status: "suppressed", attempts: 0 });
  expect(pombo.mx.connections).toEqual([]);
});

test("a deleted domain fails it at once, an erased recipient cancels it, a deleted workspace leaves nothing", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const domainId = await pombo.addDomain(pombo.workspace, "gone.test");
  const failed = await send(pombo, { from: "a@gone.test", sendAt: at(HOUR) });
  await pombo.workspace.call("DELETE", `/api/v1/domains/${domainId}`);
  const erased = await send(pombo, { to: "erased@example.com", sendAt: at(HOUR) });
  expect((await pombo.workspace.call("DELETE", "/api/v1/recipients/erased%40example.com")).body.data).toMatchObject({
    canceledEmails: 1,
  });
  expect((await recordOf(pombo, erased)).status).toBe("canceled");
  for (let turns = 0; turns < 100 && (await recordOf(pombo, failed)).status === "scheduled"; turns += 1)
    await held.advance(1);
  expect(await recordOf(pombo, failed)).toMatchObject({
    status: "failed",
    failedReason: "The sending domain was deleted before this email could be delivered",
  });
  await send(pombo, { sendAt: at(HOUR) });
  expect(kept(pombo)).toEqual({ failed: 1, canceled: 1, scheduled: 1 });
  await pombo.operator.call("DELETE", `/api/v1/operator/workspaces/${pombo.workspace.id}`);
  const left = () => pombo.app.db.sqlite.query<{ n: number }, []>("SELECT COUNT(*) AS n FROM email_queue").get()?.n;
  for (let turns = 0; turns < 200 && left() !== 0; turns += 1) await held.advance(MINUTE);
  expect(left()).toBe(0);
  await held.advance(2 * HOUR);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toEqual([]);
  expect(pombo.bugs).toEqual([]);
});

test("after a restore what has come due waits for the operator; a drop by time leaves what is for later", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const [due, later] = [await send(pombo, { sendAt: at(MINUTE) }), await send(pombo, { sendAt: at(5 * HOUR) })];
  await pombo.app.pause.begin("the database was put back.");
  await held.restart();
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toEqual([]);
  const { paused } = (await pombo.operator.call("GET", "/api/v1/operator/status")).body.data;
  const body = { queuedBefore: paused.restorePoint };
  expect((await pombo.operator.call("POST", "/api/v1/operator/queue/drop", { body })).body.data.changed.email).toBe(1);
  expect((await recordOf(pombo, due)).status).toBe("failed");
  await pombo.operator.call("POST", "/api/v1/operator/queue/resume");
  await held.advance(4 * HOUR);
  await pombo.app.worker.idle();
  expect((await recordOf(pombo, later)).status).toBe("delivered");
});

test("it is listed with its state for the operator, dropped by its id, and kept over a restart", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const [first, second] = [await send(pombo, { sendAt: at(HOUR) }), await send(pombo, { sendAt: at(HOUR) })];
  const messages = (await pombo.operator.call("GET", "/api/v1/operator/queue/messages")).body.data;
  expect(messages).toMatchObject([
    { id: first, state: "scheduled", nextAttemptAt: at(HOUR), attempts: 0 },
    { id: second, state: "scheduled" },
  ]);
  const dropped = await pombo.operator.call("POST", "/api/v1/operator/queue/drop", { body: { ids: [first] } });
  expect(dropped.body.data.changed.email).toBe(1);
  await held.restart();
  expect(kept(pombo)).toEqual({ failed: 1, scheduled: 1 });
  await held.advance(HOUR);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toHaveLength(1);
});
