import { expect, test } from "bun:test";
import { startInstance } from "../fakes/instance.ts";

test("an accepted email reaches the recipient's MX and is told as delivered", async () => {
  await using pombo = await startInstance();
  const sent = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  expect(sent.status).toBe(202);
  await pombo.mx.until(() => pombo.mx.messages.length === 1);
  await pombo.app.worker.idle();
  const { body } = await pombo.workspace.call("GET", `/api/v1/emails/${sent.body.data.id}`);
  expect(body.data).toMatchObject({ status: "delivered", attempts: 1, failedReason: null });
  expect(pombo.bugs).toEqual([]);
});
