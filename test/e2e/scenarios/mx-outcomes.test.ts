// What DNS says of the recipient's domain, how long an email is tried, whom a hard bounce shuts out,
// addresses beyond ASCII, and a signing key that cannot be read.
import { expect, setDefaultTimeout, test } from "bun:test";
import { ALL_CAPABILITIES } from "../../support/fakes/mx.ts";
import { HOSTNAME } from "../../support/fakes/instance.ts";
import { attemptsOf, deliver, HOUR_MS, MINUTE_MS, pass, record, startStill, suppressedAddresses } from "./mail.ts";

setDefaultTimeout(30_000);

const MISSING: { what: string; to: string; enhanced: string }[] = [
  { what: "does not exist", to: "maria@missing.example", enhanced: "5.1.2" },
  { what: "has a null MX", to: "maria@null-mx.example", enhanced: "5.1.10" },
  { what: "has neither MX nor address", to: "maria@bare.example", enhanced: "5.1.2" },
];

for (const { what, to, enhanced } of MISSING) {
  test(`a domain that ${what} is believed after ten minutes and two answers, not before; then the recipient is suppressed`, async () => {
    await using pombo = await startStill({ retryMs: [4 * MINUTE_MS] });
    pombo.dns.zone["null-mx.example"] = { MX: [[0, "."]] };
    pombo.dns.zone["bare.example"] = { TXT: ["nothing here"] };
    const email = await deliver(pombo, to);
    for (let minutes = 0; minutes < 9; minutes += 1) {
      expect(await record(pombo, email.id)).toMatchObject({ status: "delivery_delayed", bounce: null, sentAt: null });
      await pass(pombo, MINUTE_MS);
    }
    expect(suppressedAddresses(pombo)).toEqual([]);
    await pass(pombo, 6 * MINUTE_MS);
    const bounced = await record(pombo, email.id);
    expect(bounced).toMatchObject({
      status: "bounced",
      sentAt: null,
      bounce: { type: "permanent", category: "bad_domain", smtpCode: null, enhancedCode: enhanced, mx: null },
    });
    expect(bounced.failedReason).toStartWith(enhanced);
    expect(suppressedAddresses(pombo)).toEqual([to]);
    expect(pombo.mx.connections).toEqual([]);
    expect(pombo.bugs).toEqual([]);
  });
}

test("a missing domain is not believed while our own name does not resolve either, and one that comes back gets its mail", async () => {
  await using pombo = await startStill({ retryMs: [4 * MINUTE_MS] });
  delete pombo.dns.zone[HOSTNAME];
  const email = await deliver(pombo, "maria@missing.example");
  for (let minutes = 0; minutes < 60; minutes += 2) await pass(pombo, 2 * MINUTE_MS);
  expect(await record(pombo, email.id)).toMatchObject({ status: "delivery_delayed" });
  pombo.dns.zone["missing.example"] = { MX: [[10, "mx.example.com"]] };
  await pass(pombo, 5 * MINUTE_MS);
  expect(await record(pombo, email.id)).toMatchObject({ status: "delivered", failedReason: null });
  expect(suppressedAddresses(pombo)).toEqual([]);
});

test("a DNS failure is only a delay, however long it lasts", async () => {
  await using pombo = await startStill({ retryMs: [HOUR_MS] });
  pombo.dns.faults["example.com"] = "servfail";
  const email = await deliver(pombo, "maria@example.com");
  expect(attemptsOf(pombo, email.id)).toMatchObject([{ stage: "dns", category: "no_answer", outcome: "deferred" }]);
  for (let hours = 0; hours < 24; hours += 1) await pass(pombo, HOUR_MS);
  expect(await record(pombo, email.id)).toMatchObject({ status: "delivery_delayed", bounce: null });
  delete pombo.dns.faults["example.com"];
  await pass(pombo, 2 * HOUR_MS);
  expect(await record(pombo, email.id)).toMatchObject({ status: "delivered" });
});

test("an email is tried for its lifetime, then failed with 4.4.7 and the last answer; nobody is suppressed", async () => {
  await using pombo = await startStill({ mx: { rcpt: "451 4.2.1 The mailbox is busy" } });
  const email = await deliver(pombo, "maria@example.com");
  for (let hours = 0; hours < 71; hours += 1) await pass(pombo, HOUR_MS);
  const waiting = await record(pombo, email.id);
  expect(waiting.status).toBe("delivery_delayed");
  const tries = attemptsOf(pombo, email.id).length;
  // §1.4: 1m 5m 10m 15m 30m 1h 2h 4h, then every 6h.
  expect(tries).toBeGreaterThanOrEqual(17);
  expect(tries).toBeLessThanOrEqual(22);
  await pass(pombo, HOUR_MS);
  await pass(pombo, HOUR_MS);
  const failed = await record(pombo, email.id);
  expect(failed).toMatchObject({
    status: "failed",
    failedReason: "4.4.7 Not delivered within 72 h; last answer: 451 4.2.1 The mailbox is busy (mx.example.com)",
    bounce: { type: "transient", category: "expired" },
    nextAttemptAt: null,
  });
  expect(failed.attempts).toBe(attemptsOf(pombo, email.id).length);
  expect(suppressedAddresses(pombo)).toEqual([]);
  const connections = pombo.mx.connections.length;
  await pass(pombo, 24 * HOUR_MS);
  expect(pombo.mx.connections).toHaveLength(connections);
});

test("a hard bounce shuts the recipient out: the next send is 422, what still waited becomes suppressed, other workspaces are free", async () => {
  await using pombo = await startStill({ mx: { rcpt: "450 4.2.0 Later" } });
  const waiting = await deliver(pombo, "Maria@Example.com");
  pombo.mx.script = { rcpt: "550 5.1.1 No such user" };
  expect(await deliver(pombo, "maria@example.com")).toMatchObject({ status: "bounced" });

  const refused = await pombo.workspace.call("POST", "/api/v1/emails", {
    body: pombo.email({ to: "MARIA@example.com" }),
  });
  expect(refused.status).toBe(422);
  expect(refused.body.errors[0]).toMatchObject({ code: "RECIPIENT_SUPPRESSED", field: "to" });
  const connections = pombo.mx.connections.length;
  await pass(pombo, 2 * MINUTE_MS);
  const suppressed = await record(pombo, waiting.id);
  expect(suppressed).toMatchObject({ status: "suppressed", attempts: 1, bounce: null, nextAttemptAt: null });
  expect(suppressed.failedReason).toContain("suppressed");
  expect(pombo.mx.connections).toHaveLength(connections);

  const other = await pombo.newWorkspace();
  await pombo.addDomain(other, "outra.test");
  const free = await other.call("POST", "/api/v1/emails", { body: pombo.email({ from: "a@outra.test" }) });
  expect(free.status).toBe(202);
  await pombo.app.worker.idle();
});

test("a recipient at an international domain is addressed by its A-label", async () => {
  await using pombo = await startStill({ mx: { capabilities: ["PIPELINING"] } });
  pombo.dns.zone["xn--caf-dma.example"] = { MX: [[10, "mx.example.com"]] };
  const email = await deliver(pombo, "maria@Café.example");
  expect(email).toMatchObject({ status: "delivered", to: "maria@Café.example" });
  expect(pombo.mx.messages[0]?.to).toEqual(["maria@xn--caf-dma.example"]);
  expect(pombo.mx.connections[0]?.commands.find((line) => line.startsWith("MAIL"))).not.toContain("SMTPUTF8");
});

test("a local part beyond ASCII goes with SMTPUTF8 where that is offered, and bounces without suppression where it is not", async () => {
  await using pombo = await startStill();
  expect(await deliver(pombo, "josé@example.com")).toMatchObject({ status: "delivered" });
  expect(pombo.mx.connections[0]?.commands.find((line) => line.startsWith("MAIL"))).toContain(" SMTPUTF8");
  expect(pombo.mx.messages[0]?.to).toEqual(["josé@example.com"]);

  pombo.mx.script = { capabilities: ALL_CAPABILITIES.filter((name) => name !== "SMTPUTF8") };
  pombo.clock.advance(MINUTE_MS);
  const refused = await deliver(pombo, "andré@example.com");
  expect(refused).toMatchObject({ status: "bounced", bounce: { category: "protocol", enhancedCode: "5.6.7" } });
  expect(pombo.mx.messages).toHaveLength(1);
  expect(suppressedAddresses(pombo)).toEqual([]);
  // The session is fit for others.
  expect(await deliver(pombo, "maria@example.com")).toMatchObject({ status: "delivered" });
});

test("what cannot be signed is not sent: it waits with the reason, and goes signed once the key can be read", async () => {
  await using pombo = await startStill({ retryMs: [MINUTE_MS] });
  const { sqlite } = pombo.app.db;
  sqlite.run("CREATE TEMP TABLE kept AS SELECT * FROM dkim_key");
  for (const damage of ["X'00'", "zeroblob(length(private_key))", "private_key || X'00'"]) {
    sqlite.run(`UPDATE dkim_key SET private_key = CAST(${damage} AS BLOB)`);
    const email = await deliver(pombo, "maria@example.com");
    expect(email.status).toBe("delivery_delayed");
    expect(email.lastReply).toStartWith("Not sent, because it could not be signed: ");
    expect(attemptsOf(pombo, email.id)).toMatchObject([{ stage: null, category: "unknown", outcome: "deferred" }]);
    expect(pombo.mx.connections).toEqual([]);
  }
  const waiting = await deliver(pombo, "joao@example.com");
  sqlite.run(
    "UPDATE dkim_key SET private_key = (SELECT kept.private_key FROM kept WHERE kept.selector = dkim_key.selector)",
  );
  await pass(pombo, 2 * MINUTE_MS);
  expect(await record(pombo, waiting.id)).toMatchObject({ status: "delivered", attempts: 2 });
  expect(pombo.mx.messages).toHaveLength(4);
  for (const message of pombo.mx.messages) expect(message.content.toString()).toStartWith("DKIM-Signature: ");
  expect(suppressedAddresses(pombo)).toEqual([]);
  expect(pombo.bugs).toEqual([]);
});
