import { expect, test } from "bun:test";
import type { Instance } from "../../support/fakes/instance.ts";
import { errorItems, expectErrors, type ExpectedFault, startHeld } from "../../support/api/kit.ts";
import { NOON } from "../../support/api/one-email.ts";

const EMAILS = "/api/v1/emails";

const ask = (pombo: Instance, method: string, rest: string, body?: unknown) =>
  pombo.operator.call(
    method,
    `/api/v1/operator/workspaces/${pombo.workspace.id}${rest}`,
    body === undefined ? {} : { body },
  );

test("a blocked workspace's sends are refused with the reason, single and batch, and its lists go on", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  const { workspace } = pombo;
  const other = await pombo.newWorkspace();
  await pombo.addDomain(other, "other.test");
  const key = { "idempotency-key": "one" };
  const first = await workspace.call("POST", EMAILS, { body: pombo.email(), headers: key });
  expect(first.status).toBe(202);
  const blocked = await ask(pombo, "POST", "/block", { reason: "The invoice is open" });
  expect(blocked.body.data.blocks).toEqual([
    { by: "operator", reason: "The invoice is open", since: "2026-11-21T12:00:00.000Z", holdsQueue: false },
  ]);
  for (const path of [EMAILS, `${EMAILS}/batch`]) {
    const body = path === EMAILS ? pombo.email() : { emails: [pombo.email()] };
    const refused = await workspace.call("POST", path, { body });
    expectErrors(refused, 403, [{ code: "SENDING_BLOCKED", message: "since 2026-11-21: The invoice is open" }]);
    expect(errorItems(refused)[0]?.hint).toContain("operator");
  }
  // After the replay, before the domain is looked at.
  const replayed = await workspace.call("POST", EMAILS, { body: pombo.email(), headers: key });
  expect([replayed.status, replayed.text]).toEqual([202, first.text]);
  const unknown = await workspace.call("POST", EMAILS, { body: pombo.email({ from: "a@unknown.test" }) });
  expectErrors(unknown, 403, [{ code: "SENDING_BLOCKED" }]);
  expect((await workspace.call("GET", EMAILS)).body.meta.total).toBe(1);
  expect((await other.call("POST", EMAILS, { body: pombo.email({ from: "a@other.test" }) })).status).toBe(202);
  // A refused key is free for another try.
  const again = { body: pombo.email(), headers: { "idempotency-key": "two" } };
  expectErrors(await workspace.call("POST", EMAILS, again), 403, [{ code: "SENDING_BLOCKED" }]);
  const lifted = await ask(pombo, "POST", "/unblock");
  expect([lifted.status, lifted.body.data.blocks]).toEqual([200, []]);
  const sent = await workspace.call("POST", EMAILS, again);
  expect([sent.status, sent.headers.get("idempotent-replayed")]).toEqual([202, null]);
  expect(pombo.events.filter(({ name }) => name.endsWith("blocked"))).toEqual([
    {
      name: "workspace.blocked",
      fields: { workspace: workspace.id, hold: false, reason: "The invoice is open" },
    },
    { name: "workspace.unblocked", fields: { workspace: workspace.id } },
  ]);
});

test("a second block replaces reason and hold, and counts from the first", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  const blockOf = async (body: unknown) => (await ask(pombo, "POST", "/block", body)).body.data.blocks[0];
  await blockOf({ reason: "First", hold: true });
  await held.advance(60_000);
  const second = { by: "operator", since: "2026-11-21T12:00:00.000Z" };
  expect(await blockOf({ reason: "Second" })).toEqual({ ...second, reason: "Second", holdsQueue: false });
  expect(await blockOf({ hold: true })).toEqual({ ...second, reason: null, holdsQueue: true });
  const wrong: [unknown, ...ExpectedFault[]][] = [
    [{ hold: "yes" }, { field: "hold" }],
    [{ reason: "" }, { field: "reason" }],
    [{ reason: "a\u0000" }, { field: "reason" }],
    [{ reason: "x".repeat(501) }, { field: "reason" }],
    [{ until: 5 }, { field: "until" }],
  ];
  for (const [body, ...faults] of wrong) expectErrors(await ask(pombo, "POST", "/block", body), 422, faults);
  expect((await ask(pombo, "POST", "/unblock")).body.data.blocks).toEqual([]);
  // What is not blocked is unblocked in vain.
  expect((await ask(pombo, "POST", "/unblock")).status).toBe(200);
});

test("a block for its rates refuses too, beside the operator's own, and is lifted with it", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  // Set by who counts them, through the same row.
  const reason = "21 of 200 emails bounced hard";
  pombo.app.db.sqlite.query("UPDATE workspace SET rate_blocked_at = ?, rate_block_reason = ?").run(NOON, reason);
  await pombo.restart();
  const send = () => pombo.workspace.call("POST", EMAILS, { body: pombo.email() });
  const refused = await send();
  expectErrors(refused, 403, [{ code: "SENDING_BLOCKED", message: reason }]);
  expect(errorItems(refused)[0]?.hint).toMatch(/operator to lift this/);
  await ask(pombo, "POST", "/block", { reason: "Looking into it" });
  expectErrors(await send(), 403, [{ code: "SENDING_BLOCKED", message: "Looking into it" }]);
  expect((await ask(pombo, "GET", "")).body.data.blocks).toEqual([
    { by: "operator", reason: "Looking into it", since: "2026-11-21T12:00:00.000Z", holdsQueue: false },
    { by: "rate", reason, since: "2026-11-21T12:00:00.000Z", holdsQueue: false },
  ]);
  await ask(pombo, "POST", "/unblock");
  expect((await send()).status).toBe(202);
});
