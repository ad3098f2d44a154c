import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { type Client, startInstance } from "../../support/fakes/instance.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { expectErrors, startHeld } from "../../support/api/kit.ts";

const EMAILS = "/api/v1/emails";
const DAY_MS = 24 * 60 * 60_000;
const LIMIT = 200_000;

const small = (config: { plans: Record<string, unknown> }) =>
  void Object.assign(config.plans["starter"] ?? {}, { storage: LIMIT });

/** Nothing compresses it. */
const html = (bytes: number) => randomBytes(bytes / 2).toString("hex");

const storedBy = async (client: Client): Promise<number> =>
  (await client.call("GET", "/api/v1/workspace/usage")).body.data.usage.storageBytes;

test("a workspace whose contents fill its plan is refused, and nobody else", async () => {
  await using pombo = await startInstance({ configure: small });
  const workspace = await pombo.newWorkspace("starter");
  await pombo.addDomain(workspace, "own.test");
  const send = (bytes: number) =>
    workspace.call("POST", EMAILS, { body: pombo.email({ from: "a@own.test", html: html(bytes), text: "t" }) });
  const answers = [];
  for (let n = 0; n < 5; n++) answers.push(await send(100_000));
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 402, 402]);
  expectErrors(answers[4] ?? answers[0]!, 402, [{ code: "PLAN_LIMIT_REACHED", message: "0.2 MiB for email contents" }]);
  const { limits, usage } = (await workspace.call("GET", "/api/v1/workspace/usage")).body.data;
  expect(limits.storageBytes).toBe(LIMIT);
  expect(usage.storageBytes).toBeWithin(150_000, LIMIT);
  // What was refused took no quota.
  expect(usage.emailsToday).toBe(3);
  const shown = await pombo.operator.call("GET", `/api/v1/operator/workspaces/${workspace.id}`);
  expect(shown.body.data.usage.storageBytes).toBe(usage.storageBytes);
  // A batch goes in whole or not at all; a small one still fits.
  const item = (bytes: number) => pombo.email({ from: "a@own.test", html: html(bytes), text: "t" });
  const batch = await workspace.call("POST", `${EMAILS}/batch`, { body: { emails: [item(1_000), item(100_000)] } });
  expectErrors(batch, 402, [{ code: "PLAN_LIMIT_REACHED" }]);
  expect((await send(1_000)).status).toBe(202);
  expect((await pombo.workspace.call("POST", EMAILS, { body: pombo.email({ html: html(100_000) }) })).status).toBe(202);
  const before = await storedBy(workspace);
  await pombo.restart();
  expect(await storedBy(workspace)).toBe(before);
});

test("contents that are removed make room again", async () => {
  await using held = await startHeld(Date.UTC(2026, 10, 1), { configure: small });
  const { pombo } = held;
  const workspace = await pombo.newWorkspace("starter");
  await pombo.addDomain(workspace, "own.test");
  const send = () =>
    workspace.call("POST", EMAILS, { body: pombo.email({ from: "a@own.test", html: html(150_000), text: "t" }) });
  expect([(await send()).status, (await send()).status, (await send()).status]).toEqual([202, 202, 402]);
  await held.advance(0);
  await pombo.app.worker.idle();
  held.clock.advance(31 * DAY_MS);
  await waitUntil("the contents are removed", 10_000, async () => (await storedBy(workspace)) === 0);
  expect((await send()).status).toBe(202);
});
