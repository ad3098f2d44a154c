// The operator's status: what it says of an instance that is well, and of one that is not.
import { expect, test } from "bun:test";
import type { Instance, Json } from "../../support/fakes/instance.ts";
import { startInstance } from "../../support/fakes/instance.ts";
import { linkConfig } from "../../support/texting/world.ts";
import { startHeld } from "../../support/api/kit.ts";
import { TO } from "./texts.ts";

const START = Date.parse("2026-03-01T08:00:00Z");

async function statusOf(pombo: Instance): Promise<Json> {
  const { status, body } = await pombo.operator.call("GET", "/api/v1/operator/status");
  expect(status).toBe(200);
  return body.data;
}

test("of an instance that is well it says what waits, what happened lately and how large it is", async () => {
  await using held = await startHeld(START, {
    mx: { rcpt: (command) => (command.includes("later") ? "451 4.7.1 Later" : "250 2.1.5 Ok") },
  });
  const { pombo } = held;
  for (const to of ["maria@example.com", "later@example.com"])
    await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ to }) });
  await pombo.app.worker.idle();
  const seen = await statusOf(pombo);
  expect(seen).toMatchObject({
    startedAt: new Date(START).toISOString(),
    ready: true,
    issues: [],
    paused: null,
    queue: {
      emails: { waiting: 1, running: 0, delayed: 1, oldestAt: new Date(START).toISOString() },
      sms: { waiting: 0, isMinimum: false, oldestAt: null },
      webhooks: { waiting: 0, isMinimum: false, oldestAt: null },
    },
    lastMinutes: { minutes: 5, accepted: 2, delivered: 1, deferred: 1, bounced: 0, failed: 0 },
    blockedSites: { count: 0, sites: [] },
    workspaces: { blocked: 0, held: 0, some: [] },
    replication: null,
  });
  expect(seen.disk.databaseBytes).toBeGreaterThan(0);
  expect(seen.disk.freeBytes).toBeGreaterThan(0);
  held.clock.advance(6 * 60_000);
  await pombo.app.worker.idle();
  expect((await statusOf(pombo)).lastMinutes).toMatchObject({ accepted: 0, delivered: 0 });
});

test("a disk that is full is a trouble, with what to do; who is held is named, and is none", async () => {
  let freeBytes = 10 ** 12;
  await using pombo = await startInstance({
    readFree: () => ({ freeBytes, freeInodesPercent: 50 }),
    configure: (config) => (config.disk.minFreeBytes = 1_000_000),
  });
  const path = `/api/v1/operator/workspaces/${pombo.workspace.id}/block`;
  await pombo.operator.call("POST", path, { body: { hold: true, reason: "unpaid" } });
  const held = await statusOf(pombo);
  expect(held.issues).toEqual([]);
  expect(held.workspaces).toEqual({
    blocked: 1,
    held: 1,
    some: [{ id: pombo.workspace.id, name: "Test", held: true, by: "operator", reason: "unpaid" }],
  });
  freeBytes = 0;
  await pombo.restart();
  const full = await statusOf(pombo);
  expect([full.ready, full.issues]).toEqual([
    false,
    [{ component: "disk", reason: expect.stringContaining("free"), since: expect.any(String) }],
  ]);
});

test("a route of texts none of whose links is bound is a trouble", async () => {
  await using pombo = await startInstance({
    configure(config) {
      const [route] = config.sms.routes;
      if (route === undefined) throw new Error("no route");
      // Nobody listens there.
      route.links = [linkConfig(1)];
    },
  });
  await pombo.enableSms(pombo.workspace);
  await pombo.workspace.call("POST", "/api/v1/sms", { body: { to: TO, body: "Olá" } });
  const seen = await statusOf(pombo);
  expect(seen.sms).toEqual([{ route: "test", links: 1, bound: 0, reason: seen.sms[0].reason }]);
  expect(seen.issues).toEqual([
    { component: "sms", reason: expect.stringContaining("No link of the SMS route test is bound"), since: null },
  ]);
  expect(seen.queue.sms).toMatchObject({ waiting: 1, isMinimum: false, oldestAt: expect.any(String) });
});
