// Mail that leaves through a relay, and what else leaves beside it.
import { expect, setDefaultTimeout, test } from "bun:test";
import type { MxScript } from "../../support/fakes/mx.ts";
import { attemptsOf, deliver, HOUR_MS, MINUTE_MS, pass, record, send } from "./mail.ts";
import { ACCOUNTS, startRelayed, USERNAME, USUAL } from "./relay-world.ts";

setDefaultTimeout(30_000);

test("what the relay accepts is sent, and not delivered", async () => {
  await using world = await startRelayed();
  const { pombo, relay } = world;
  const email = await deliver(pombo, "maria@example.com");
  expect(email).toMatchObject({ status: "sent", deliveredAt: null, failedReason: null, attempts: 1, bounce: null });
  expect(email.sentAt).not.toBeNull();
  expect(attemptsOf(pombo, email.id)).toEqual([
    {
      number: 1,
      outcome: "sent",
      stage: "dot",
      category: null,
      code: 250,
      host: "relay.test",
      tls: expect.stringMatching(/^TLSv1/),
    },
  ]);
  const [message] = relay.messages;
  expect(message).toMatchObject({ to: ["maria@example.com"], isTls: true });
  expect(message?.content.toString()).toStartWith("DKIM-Signature: ");
  expect(pombo.events.find(({ name }) => name === "email.sent")?.fields).toMatchObject({ to: "maria@example.com" });

  // Another recipient's domain, the same session.
  pombo.dns.zone["example.org"] = { MX: [[10, "mx.example.com"]] };
  expect(await deliver(pombo, "joao@example.org")).toMatchObject({ status: "sent" });
  expect(relay.connections.map(({ user, serverName }) => [user, serverName])).toEqual([[USERNAME, "relay.test"]]);
  expect(pombo.mx.connections).toEqual([]);
});

test("the recipient's domain is not looked up, and a private address is no hindrance", async () => {
  await using world = await startRelayed({ table: { host: "127.0.0.1" } });
  const { pombo, relay } = world;
  pombo.config.email.allowPrivateRanges = [];
  await pombo.restart();
  const asked = pombo.dns.queries.length;
  expect(await deliver(pombo, "maria@nowhere.example")).toMatchObject({ status: "sent" });
  expect(pombo.dns.queries.slice(asked)).toEqual([]);
  expect(relay.messages).toHaveLength(1);
});

test("a relay with implicit TLS, and one without TLS on this machine", async () => {
  for (const [script, tls] of [
    [{ tls: "good", isImplicitTls: true, accounts: ACCOUNTS }, "implicit"],
    [{ tls: "none", accounts: ACCOUNTS }, "none"],
  ] as const) {
    await using world = await startRelayed({ script, table: { tls } });
    expect(await deliver(world.pombo, "maria@example.com")).toMatchObject({ status: "sent" });
    expect(world.relay.connections[0]).toMatchObject({ user: USERNAME, isTls: tls === "implicit" });
  }
});

test("a relay for some sending domains takes theirs, and the rest goes straight to the recipient's server", async () => {
  await using world = await startRelayed({ transport: "direct", table: { domains: ["outra.test"] } });
  const { pombo, relay } = world;
  await pombo.addDomain(pombo.workspace, "outra.test");
  expect(await deliver(pombo, "maria@example.com")).toMatchObject({ status: "delivered" });
  expect(await deliver(pombo, "maria@example.com", { from: "a@outra.test" })).toMatchObject({ status: "sent" });
  expect([pombo.mx.messages.length, relay.messages.length]).toEqual([1, 1]);
});

test("a relay that does not let us in holds up its own mail only, and is left in peace", async () => {
  const script: MxScript = { tls: "good", accounts: {} };
  await using world = await startRelayed({ script, transport: "direct", table: { domains: ["outra.test"] } });
  const { pombo, relay } = world;
  await pombo.addDomain(pombo.workspace, "outra.test");
  const ids = [];
  for (let at = 1; at <= 20; at += 1) ids.push(await send(pombo, `user${at}@example.com`, { from: "a@outra.test" }));
  await pombo.app.worker.idle();
  // Those that a site may have at once in the beginning.
  expect(relay.connections.length).toBeLessThanOrEqual(5);
  // The same workspace, the same recipients' domain.
  expect(await deliver(pombo, "maria@example.com")).toMatchObject({ status: "delivered" });

  relay.script = USUAL;
  for (let minutes = 0; minutes < 60; minutes += 1) await pass(pombo, MINUTE_MS);
  for (const id of ids) expect(await record(pombo, id)).toMatchObject({ status: "sent" });
  expect(relay.messages).toHaveLength(20);
});

test("what was queued for the recipient's server goes by the relay once the configuration says so, and the reverse", async () => {
  await using world = await startRelayed({ transport: "direct", table: { domains: ["outra.test"] } });
  const { pombo, relay } = world;
  pombo.mx.script = { rcpt: "451 4.3.0 Not now" };
  const email = await deliver(pombo, "maria@example.com");
  const [table] = pombo.config.relay;
  if (table === undefined) throw new Error("the configuration has no relay");
  [pombo.config.email.transport, table.domains] = ["relay", []];
  relay.script = { ...USUAL, rcpt: "451 4.3.0 Not now" };
  await pombo.restart();
  await pass(pombo, HOUR_MS);
  expect(await record(pombo, email.id)).toMatchObject({ status: "delivery_delayed", attempts: 2 });
  const second = await deliver(pombo, "joao@example.com");
  expect(second.lastReply).toContain("relay.test");

  [pombo.config.email.transport, table.domains] = ["direct", ["outra.test"]];
  pombo.mx.script = {};
  await pombo.restart();
  await pass(pombo, HOUR_MS);
  for (const { id } of [email, second]) expect(await record(pombo, id)).toMatchObject({ status: "delivered" });
  expect(relay.messages).toEqual([]);
});

test("a start without the password's file is refused, naming it", async () => {
  await using world = await startRelayed();
  const { pombo } = world;
  const [table] = pombo.config.relay;
  if (table === undefined) throw new Error("the configuration has no relay");
  table.passwordFile = "/does/not/exist";
  await expect(pombo.restart()).rejects.toThrow("/does/not/exist (relay[0].password_file) cannot be read");
  table.passwordFile = null;
  await pombo.restart();
  expect(await deliver(pombo, "maria@example.com")).toMatchObject({ status: "sent" });
});
