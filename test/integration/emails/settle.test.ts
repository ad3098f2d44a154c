import { expect, test } from "bun:test";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { drop } from "../../support/fakes/mx.ts";

async function final(pombo: Instance, id: string) {
  for (const deadline = Date.now() + 10_000; ;) {
    const { data } = (await pombo.workspace.call("GET", `/api/v1/emails/${id}`)).body;
    if (!["queued", "sending", "delivery_delayed"].includes(data.status) || Date.now() > deadline) return data;
  }
}

test("an email whose answer is lost again and again is sent three times, then given up and marked (R28)", async () => {
  await using pombo = await startInstance({
    mx: { dot: drop() },
    configure: (config) => (config.email.retryScheduleMs = [20]),
  });
  const sent = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  const email = await final(pombo, sent.body.data.id);
  expect(email).toMatchObject({ status: "failed", attempts: 3, possibleDuplicate: true });
  expect(email.failedReason).toContain("it may have been delivered");
  expect(pombo.mx.messages).toHaveLength(3);
  // It never suppresses.
  expect((await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() })).status).toBe(202);
});

test("what the log shows of a refusal holds no whole address, not even in the server's own words", async () => {
  await using pombo = await startInstance({
    mx: { rcpt: "550 5.1.1 <maria@example.com>: no such user (for loja@loja.test)" },
    configure: (config) => (config.log.addresses = "redacted"),
  });
  const sent = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  await final(pombo, sent.body.data.id);
  await pombo.app.worker.idle();
  const bounced = pombo.events.find(({ name }) => name === "email.bounced");
  expect(bounced?.fields["to"]).toBe("m***@example.com");
  expect(bounced?.fields["detail"]).toContain("<m***@example.com>");
  expect(JSON.stringify(pombo.events)).not.toMatch(/maria@|loja@/);
});

test("what the server does not take is told in our words, and nowhere as the server's", async () => {
  await using pombo = await startInstance({ mx: { capabilities: ["SIZE 100"] } });
  const sent = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  const email = await final(pombo, sent.body.data.id);
  const reason = /^Not sent to mx\.example\.com: the message has \d+ bytes and the server takes 100$/;
  expect(email).toMatchObject({ status: "bounced", failedReason: expect.stringMatching(reason) });
  expect(email.bounce).toMatchObject({ category: "policy", smtpCode: null, enhancedCode: "5.3.4", mx: null });
  const { body } = await pombo.workspace.call("GET", `/api/v1/emails/${sent.body.data.id}/events`);
  expect(body.data.at(-1)).toMatchObject({
    type: "email.bounced",
    host: "mx.example.com",
    code: null,
    reply: expect.stringMatching(/^Not sent: the message has/),
  });
});

test("a server's words beyond ASCII come to the record as they are", async () => {
  await using pombo = await startInstance({ mx: { rcpt: "550 5.1.1 O usuário não existe" } });
  const sent = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  const email = await final(pombo, sent.body.data.id);
  expect(email.failedReason).toBe("550 5.1.1 O usuário não existe (mx.example.com)");
});
