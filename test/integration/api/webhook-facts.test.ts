import { expect, test } from "bun:test";
import type { Instance } from "../../support/fakes/instance.ts";
import { type Receiver, startReceiver } from "../../support/fakes/receiver.ts";
import { faultsOfEvents } from "./documented-events.ts";
import { type HeldInstance, startHeld } from "../../support/api/kit.ts";
import { allowLoopback, NOON } from "../../support/api/webhook-kit.ts";

/** A held instance whose workspace tells `receiver` of everything. */
async function startTold(receiver: Receiver, options: Parameters<typeof startHeld>[1] = {}): Promise<HeldInstance> {
  const held = await startHeld(NOON, {
    ...options,
    configure(config) {
      allowLoopback(config);
      options.configure?.(config);
    },
  });
  const { workspace } = held.pombo;
  await workspace.call("POST", "/api/v1/webhooks", { body: { url: receiver.url, events: ["*"] } });
  return held;
}

const typesOf = (receiver: Receiver) => receiver.calls.map(({ event }) => event.type as string);
const find = (receiver: Receiver, type: string) => receiver.calls.find(({ event }) => event.type === type)?.event;
const send = (pombo: Instance, changes = {}) =>
  pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email(changes) });

test("a suppression that is made and lifted is told, by hand and by a hard bounce", async () => {
  await using receiver = startReceiver();
  await using held = await startTold(receiver, { mx: { rcpt: "550 5.1.1 No such user" } });
  const { pombo } = held;
  await pombo.workspace.call("POST", "/api/v1/suppressions", { body: { address: "Ana@Example.com" } });
  // There already: nothing happened.
  await pombo.workspace.call("POST", "/api/v1/suppressions", { body: { address: "ana@example.com" } });
  await pombo.workspace.call("DELETE", "/api/v1/suppressions/ana%40example.com");
  await send(pombo);
  await receiver.until(() => typesOf(receiver).filter((type) => type === "suppression.created").length === 2);
  const told = receiver.calls.filter(({ event }) => event.type.startsWith("suppression."));
  expect(told.map(({ event }) => [event.type, event.data.address, event.data.reason])).toEqual([
    ["suppression.created", "ana@example.com", "manual"],
    ["suppression.deleted", "ana@example.com", "manual"],
    ["suppression.created", "maria@example.com", "hard_bounce"],
  ]);
  await receiver.until(() => find(receiver, "email.bounced") !== undefined);
  expect(find(receiver, "email.bounced").data).toMatchObject({
    status: "bounced",
    bounce: { category: "invalid_recipient" },
  });
  expect(await faultsOfEvents(pombo, receiver)).toEqual([]);
});

test("four fifths of a quota and the whole of it are told once each", async () => {
  await using receiver = startReceiver();
  await using held = await startTold(receiver, {
    configure: (config) => void Object.assign(config.plans["scale"] ?? {}, { emailsPerDay: 10 }),
  });
  const { pombo } = held;
  for (let count = 0; count < 11; count += 1) await send(pombo);
  await receiver.until(() => typesOf(receiver).filter((type) => type === "workspace.quota_warning").length === 2);
  const told = receiver.calls.filter(({ event }) => event.type === "workspace.quota_warning");
  expect(told.map(({ event }) => event.data)).toEqual([
    { period: "day", percent: 80, used: 8, limit: 10 },
    { period: "day", percent: 100, used: 10, limit: 10 },
  ]);
  expect(await faultsOfEvents(pombo, receiver)).toEqual([]);
});

test("a block for its rates is told by the transaction that sets it, and so is half the way to it, once a day", async () => {
  await using receiver = startReceiver();
  await using held = await startTold(receiver, { mx: { rcpt: "550 5.1.1 No such user" } });
  const { pombo } = held;
  for (let number = 0; number < 20; number += 1) {
    await send(pombo, { to: `user${number}@example.com` });
    await pombo.app.worker.idle();
  }
  await receiver.until(() => find(receiver, "workspace.sending_blocked") !== undefined);
  expect(await faultsOfEvents(pombo, receiver)).toEqual([]);
  expect(find(receiver, "workspace.sending_blocked").data).toMatchObject({
    workspaceId: pombo.workspace.id,
    reason: expect.stringContaining("bounced hard"),
  });
  const warnings = receiver.calls.filter(({ event }) => event.type === "workspace.sending_warning");
  expect(warnings.map(({ event }) => event.data)).toEqual([
    { workspaceId: pombo.workspace.id, reason: expect.stringContaining("10 of 10 emails answered") },
  ]);
});

test("a domain that comes to be verified is told", async () => {
  await using receiver = startReceiver();
  await using held = await startTold(receiver);
  await held.pombo.addDomain(held.pombo.workspace, "second.test");
  await receiver.until(() => find(receiver, "domain.verified") !== undefined);
  expect(find(receiver, "domain.verified").data).toMatchObject({ domain: "second.test", status: "verified" });
  expect(await faultsOfEvents(held.pombo, receiver)).toEqual([]);
});

test("what a rolled-back transaction did is not told", async () => {
  await using receiver = startReceiver();
  await using held = await startTold(receiver);
  const { pombo } = held;
  // The second item's recipient is suppressed: the whole batch is refused.
  await pombo.workspace.call("POST", "/api/v1/suppressions", { body: { address: "gone@example.com" } });
  const answer = await pombo.workspace.call("POST", "/api/v1/emails/batch", {
    body: { emails: [pombo.email(), pombo.email({ to: "gone@example.com" })] },
  });
  expect(answer.status).toBe(422);
  await receiver.until(() => find(receiver, "suppression.created") !== undefined);
  await pombo.app.webhooks.worker.idle();
  expect(typesOf(receiver)).toEqual(["suppression.created"]);
});
