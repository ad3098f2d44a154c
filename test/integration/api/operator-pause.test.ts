// The operator pauses delivery and lets it go on; and what a drop says while delivery waits for a restore.
import { expect, test } from "bun:test";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";

const QUEUE = "/api/v1/operator/queue";

async function ask(pombo: Instance, verb: string, body?: unknown): Promise<Json> {
  const answer = await pombo.operator.call("POST", `${QUEUE}/${verb}`, body === undefined ? {} : { body });
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  return answer.body.data;
}

async function send(pombo: Instance): Promise<string> {
  const { status, body } = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  expect(status).toBe(202);
  return body.data.id;
}

const statusOf = async (pombo: Instance) => (await pombo.operator.call("GET", "/api/v1/operator/status")).body.data;
const stateOf = async (pombo: Instance, id: string) =>
  (await pombo.workspace.call("GET", `/api/v1/emails/${id}`)).body.data;

test("what is accepted during a pause waits, over a restart too, until delivery is resumed", async () => {
  await using pombo = await startInstance();
  expect((await ask(pombo, "pause", { reason: "our address is on a list" })).paused).toMatchObject({
    reason: "our address is on a list",
    restorePoint: null,
  });
  await send(pombo);
  await pombo.restart();
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toEqual([]);
  const { ready, issues } = await statusOf(pombo);
  expect({ ready, issues }).toMatchObject({ ready: true, issues: [{ component: "delivery" }] });
  expect(issues[0].reason).toStartWith("Delivery is paused: our address is on a list. Accepted");
  expect(await ask(pombo, "resume")).toEqual({ paused: null });
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toHaveLength(1);
  expect((await statusOf(pombo)).issues).toEqual([]);
  expect(await ask(pombo, "resume")).toEqual({ paused: null });
  expect(pombo.events.filter(({ name }) => name === "delivery.resumed")).toHaveLength(1);
});

test("what is dropped while delivery waits for a restore may have been delivered, and says so", async () => {
  await using pombo = await startInstance();
  await ask(pombo, "pause", {});
  const [first, second] = [await send(pombo), await send(pombo)];
  await ask(pombo, "drop", { ids: [first] });
  expect((await stateOf(pombo, first)).failedReason).toBe("Dropped by the operator");
  await pombo.app.pause.begin("the database was put back.");
  const { paused } = await statusOf(pombo);
  expect(Date.parse(paused.restorePoint)).toBeGreaterThan(0);
  // A word of the operator's own does not make another pause of it.
  expect((await ask(pombo, "pause", { reason: "looking" })).paused.restorePoint).toBe(paused.restorePoint);
  expect((await ask(pombo, "drop", { queuedBefore: paused.restorePoint })).changed.email).toBe(1);
  expect(await stateOf(pombo, second)).toMatchObject({
    status: "failed",
    failedReason: "dropped after a restore; may have been delivered",
  });
});
