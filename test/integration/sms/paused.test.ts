// Delivery that waits for the operator, as after a backup was put back: emails, texts and calls of webhooks.
import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { startReceiver } from "../../support/fakes/receiver.ts";
import { startTexting } from "../../support/texting/world.ts";

test("while delivery is paused nothing goes out on any way, over a restart too, and all of it goes on afterwards", async () => {
  await using receiver = startReceiver();
  await using world = await startTexting();
  const { instance, smsc } = world;
  const { workspace, mx } = instance;
  await instance.app.pause.begin("a test put a backup back:");
  // A second reason does not hide the first.
  await instance.app.pause.begin("another.");
  expect(instance.app.pause.issue?.reason).toContain("a test put a backup back:");
  await workspace.call("POST", "/api/v1/webhooks", { body: { url: receiver.url, events: ["*"] } });
  const accepted = async () => {
    const email = await workspace.call("POST", "/api/v1/emails", { body: instance.email() });
    expect(email.status).toBe(202);
    return world.text();
  };
  const before = await accepted();
  await instance.restart();
  const after = await accepted();
  await smsc.until({ bound: 1 });
  await instance.app.worker.idle();
  await instance.app.webhooks.worker.idle();
  expect([mx.messages.length, receiver.calls.length, (await smsc.state()).counters.submits]).toEqual([0, 0, 0]);
  expect(world.segments().map(({ attempts }) => attempts)).toEqual([0, 0]);
  expect((await workspace.call("GET", "/ready")).body).toMatchObject({
    status: "ready",
    reason: null,
    issues: [{ component: "delivery" }],
  });
  await instance.app.pause.resume();
  for (const id of [before, after]) await world.until(id, ({ status }) => status === "delivered");
  await receiver.until(() => receiver.calls.some(({ event }) => event.type === "sms.delivered"));
  await mx.until(() => mx.messages.length === 2);
  expect((await workspace.call("GET", "/ready")).body.issues).toEqual([]);
  expect(instance.bugs).toEqual([]);
});

test("what waited in a database that was put back may have been sent since, and says so when it is sent", async () => {
  await using world = await startTexting();
  const { instance, smsc } = world;
  const { workspace, mx } = instance;
  const accepted = async () => {
    const email = await workspace.call("POST", "/api/v1/emails", { body: instance.email() });
    return { email: email.body.data.id as string, text: await world.text() };
  };
  await instance.app.pause.begin("a list was sent by mistake");
  const before = await accepted();
  await instance.app.stop(0);
  rmSync(join(instance.directory, "marker"));
  await instance.restart();
  const after = await accepted();
  await smsc.until({ bound: 1 });
  await instance.app.pause.resume();
  for (const { text } of [before, after]) await world.until(text, ({ status }) => status === "delivered");
  await mx.until(() => mx.messages.length === 2);
  await instance.app.worker.idle();
  const emailOf = async (id: string) => (await workspace.call("GET", `/api/v1/emails/${id}`)).body.data;
  expect(await emailOf(before.email)).toMatchObject({ status: "delivered", possibleDuplicate: true });
  expect(await emailOf(after.email)).toMatchObject({ status: "delivered", possibleDuplicate: false });
  expect(await world.show(before.text)).toMatchObject({ status: "delivered", possibleDuplicate: true });
  expect(await world.show(after.text)).toMatchObject({ status: "delivered", possibleDuplicate: false });
  expect((await smsc.state()).counters.submits).toBe(2);
  expect(instance.bugs).toEqual([]);
});
