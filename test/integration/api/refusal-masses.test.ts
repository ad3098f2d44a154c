// Refusals in masses, with mail of several workspaces to one mail server: what one of them does is not the others'.

import { expect, setDefaultTimeout, test } from "bun:test";
import { bounce, GONE } from "../../support/inbound/messages.ts";
import type { Instance, Workspace } from "../../support/fakes/instance.ts";
import { attempted, startAtNoon } from "../../support/api/one-email.ts";

setDefaultTimeout(30_000);

const rcpt = (command: string) => (command.includes("gone") ? GONE : "250 2.1.5 Ok");

async function neighbour(pombo: Instance): Promise<Workspace> {
  const workspace = await pombo.newWorkspace();
  await pombo.addDomain(workspace, "vizinho.test");
  return workspace;
}

async function batchTo(pombo: Instance, workspace: Workspace, from: string, recipients: string[]): Promise<string[]> {
  const emails = recipients.map((to) => pombo.email({ from, to }));
  const { status, body } = await workspace.call("POST", "/api/v1/emails/batch", { body: { emails } });
  expect(status).toBe(202);
  await pombo.app.worker.idle();
  return body.data.map(({ id }: { id: string }) => id);
}

async function suppressedBy(workspace: Workspace): Promise<string[]> {
  const { body } = await workspace.call("GET", "/api/v1/suppressions");
  return body.data.map(({ address }: { address: string }) => address);
}

function heldOf({ app }: Instance): Record<string, number> {
  const rows = app.db.sqlite
    .query<{ uid: string; n: number }, []>(
      "SELECT w.uid, COUNT(*) AS n FROM suppression_held h JOIN workspace w ON w.id = h.workspace_id GROUP BY w.uid",
    )
    .all();
  return Object.fromEntries(rows.map(({ uid, n }) => [uid, n]));
}

test("a workspace's bad addresses at a site lift no other's suppression, nor keep its next from being made", async () => {
  await using held = await startAtNoon({ rcpt });
  const { pombo } = held;
  const other = await neighbour(pombo);
  await batchTo(pombo, other, "a@vizinho.test", ["gone@example.com"]);
  const bad = Array.from({ length: 22 }, (_, n) => `gone${n}@example.com`);
  await batchTo(pombo, pombo.workspace, "a@loja.test", bad);
  await batchTo(pombo, other, "a@vizinho.test", ["gone-too@example.com"]);
  expect(await suppressedBy(other)).toEqual(["gone-too@example.com", "gone@example.com"]);
  expect([await suppressedBy(pombo.workspace), heldOf(pombo)]).toEqual([[], { [pombo.workspace.id]: 22 }]);
});

test("so with domains that DNS does not know", async () => {
  await using held = await startAtNoon();
  const { pombo, clock } = held;
  const other = await neighbour(pombo);
  await batchTo(pombo, other, "a@vizinho.test", ["maria@nowhere.test"]);
  const bad = Array.from({ length: 22 }, (_, n) => `maria@nowhere${n}.test`);
  await batchTo(pombo, pombo.workspace, "a@loja.test", bad);
  // A missing domain is believed after the second answer.
  for (let n = 0; n < 6; n++) {
    clock.advance(5 * 60_000);
    await pombo.app.worker.idle();
  }
  expect(await suppressedBy(other)).toEqual(["maria@nowhere.test"]);
  expect(heldOf(pombo)[other.id]).toBeUndefined();
});

test("so with what comes back by mail", async () => {
  await using held = await startAtNoon();
  const { pombo } = held;
  const other = await neighbour(pombo);
  const [theirs = ""] = await batchTo(pombo, other, "a@vizinho.test", ["gone@example.com"]);
  await pombo.app.receive(bounce(theirs));
  for (let n = 0; n < 22; n++) await pombo.app.receive(bounce(await attempted(pombo, { to: `gone${n}@example.com` })));
  expect([await suppressedBy(other), heldOf(pombo)]).toEqual([["gone@example.com"], { [pombo.workspace.id]: 22 }]);
});
