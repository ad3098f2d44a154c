import { expect, test } from "bun:test";
import { waitUntil } from "../peers/process.ts";
import { shiftedClock, startTexting, type TextWorld } from "./world.ts";

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
  await world.instance.app.texter.sweep();
  expect(await world.show(id)).toMatchObject({ status: "expired", credits: 0 });
});
