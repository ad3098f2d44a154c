import { expect, test } from "bun:test";
import { waitUntil } from "../../support/peers/process.ts";
import { shiftedClock, startTexting, type TextWorld } from "../../support/texting/world.ts";

function ask({ instance }: TextWorld, what: "block" | "unblock", body: object = {}) {
  return instance.operator.call("POST", `/api/v1/operator/workspaces/${instance.workspace.id}/${what}`, { body });
}

/** Everything before it has been dispatched: links take a neighbour's text. */
async function passThrough(world: TextWorld): Promise<void> {
  const neighbour = await world.instance.newWorkspace();
  await world.instance.enableSms(neighbour);
  const id = await world.text({}, neighbour);
  await waitUntil("the neighbour's text is delivered", 15_000, async () => {
    const { body } = await neighbour.call("GET", `/api/v1/sms/${id}`);
    return body.data.status === "delivered";
  });
}

test("texts of a held workspace wait, those of others go, and go out when it is released", async () => {
  await using world = await startTexting();
  await world.smsc.until({ bound: 1 });
  await world.smsc.tell("drop", { how: "fin" });
  await world.smsc.tell("door", { isOpen: false });
  await world.smsc.untilAtMost({ open: 0 });
  const ids = await Promise.all([1, 2, 3].map(() => world.text()));
  expect((await ask(world, "block", { hold: true })).status).toBe(200);
  await world.smsc.tell("door", { isOpen: true });
  await passThrough(world);
  for (const id of ids) expect(await world.show(id)).toMatchObject({ status: "queued" });
  // It holds over a restart.
  await world.instance.restart();
  await passThrough(world);
  for (const id of ids) expect(await world.show(id)).toMatchObject({ status: "queued" });
  expect(
    (await world.instance.workspace.call("POST", "/api/v1/sms", { body: { to: "+258841234567", body: "x" } })).status,
  ).toBe(403);
  expect((await ask(world, "unblock")).status).toBe(200);
  for (const id of ids) await world.until(id, ({ status }) => status === "delivered");
  expect((await world.smsc.state()).counters.submits).toBe(5);
  expect(world.instance.bugs).toEqual([]);
});

test("a block without hold lets go out what was accepted", async () => {
  await using world = await startTexting();
  await world.smsc.until({ bound: 1 });
  await world.smsc.tell("drop", { how: "fin" });
  await world.smsc.tell("door", { isOpen: false });
  await world.smsc.untilAtMost({ open: 0 });
  const id = await world.text();
  await ask(world, "block");
  await world.smsc.tell("door", { isOpen: true });
  await world.until(id, ({ status }) => status === "delivered");
});

test("the time of a held text goes on: it expires, and its credit comes back", async () => {
  const clock = shiftedClock();
  await using world = await startTexting({ script: { bind: { kind: "none" } }, instance: { clock } });
  const id = await world.text();
  await ask(world, "block", { hold: true });
  clock.shift(25 * 3_600_000);
  await world.instance.app.sms.sweep();
  expect(await world.show(id)).toMatchObject({ status: "expired", credits: 0 });
});

for (const isHeld of [false, true])
  test(`${isHeld ? "held texts" : "texts"} of a deleted workspace do not go while its emails are waited for`, async () => {
    await using world = await startTexting();
    await world.smsc.until({ bound: 1 });
    await world.smsc.tell("drop", { how: "fin" });
    await world.smsc.tell("door", { isOpen: false });
    await world.smsc.untilAtMost({ open: 0 });
    await world.text();
    const { workspace, operator, app } = world.instance;
    if (isHeld) await ask(world, "block", { hold: true });
    // An email that is being sent: until it is done, nothing else of the workspace is removed.
    app.db.sqlite.run(`
      INSERT INTO email_queue (id, lane_id, workspace_id, domain_id, created_at, next_at, expires_at, in_flight)
      SELECT 1, 1, id, 1, 0, 0, 9, 1 FROM workspace WHERE uid = '${workspace.id}'`);
    expect((await operator.call("DELETE", `/api/v1/operator/workspaces/${workspace.id}`)).status).toBe(200);
    await world.smsc.tell("door", { isOpen: true });
    await passThrough(world);
    const states = app.db.sqlite.query("SELECT state FROM sms_segment ORDER BY message_id").values();
    expect(states).toEqual([["ready"], ["delivered"]]);
    expect((await world.smsc.state()).counters.submits).toBe(1);
  });
