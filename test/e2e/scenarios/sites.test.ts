// Sites over a whole instance: what blocks one, what a blocked one costs, and how it comes back.
import { expect, setDefaultTimeout, test } from "bun:test";
import { type Mx, startMx } from "../../support/fakes/mx.ts";
import type { Instance } from "../../support/fakes/instance.ts";
import { within } from "./child.ts";
import { attemptsOf, HOUR_MS, MINUTE_MS, pass, record, startStill, suppressedAddresses } from "./mail.ts";

setDefaultTimeout(30_000);

const LIMIT_MS = 10_000;
const OTHER = "127.0.0.2";

/** Accepts mail for `domain` on an address of its own. */
async function neighbour(pombo: Instance, domain: string, host = `mx.${domain}`): Promise<Mx> {
  pombo.dns.zone[domain] = { MX: [[10, host]] };
  pombo.dns.zone[host] = { A: [OTHER] };
  return startMx({}, { address: OTHER, port: pombo.mx.port });
}

async function sendBatch(pombo: Instance, domain: string, count: number): Promise<string[]> {
  const emails = Array.from({ length: count }, (_, n) => pombo.email({ to: `user${n}@${domain}` }));
  const { body } = await pombo.workspace.call("POST", "/api/v1/emails/batch", { body: { emails } });
  return body.data.map(({ id }: { id: string }) => id);
}

const blocks = (pombo: Instance) => pombo.events.filter(({ name }) => name === "site.blocked");

test("a site that refuses connections is blocked after five, its other messages are not tried, and all arrive when it is back (R33)", async () => {
  await using pombo = await startStill({ retryMs: [MINUTE_MS, 5 * MINUTE_MS] });
  // Nobody listens there.
  pombo.dns.zone["dead.test"] = { MX: [[10, "mx.dead.test"]] };
  pombo.dns.zone["mx.dead.test"] = { A: [OTHER] };
  const ids = await sendBatch(pombo, "dead.test", 60);
  // One after another, a second apart: an unreached lane tries one at a time.
  for (let second = 0; second < 8; second++) {
    await within(LIMIT_MS, "the attempts", pombo.app.worker.idle());
    pombo.clock.advance(1_100);
  }
  await within(LIMIT_MS, "the block", pombo.app.worker.idle());
  const [block] = blocks(pombo);
  expect(block?.fields).toMatchObject({ site: "mx.dead.test", reason: expect.stringContaining("mx.dead.test") });
  const records = await Promise.all(ids.map((id) => record(pombo, id)));
  const tried = records.filter(({ attempts }) => attempts > 0);
  expect(tried).toHaveLength(5);
  // The rest costs nothing: not counted, not delayed, not failed.
  expect(records.filter(({ status }) => status === "queued")).toHaveLength(55);

  const mx = await startMx({}, { address: OTHER, port: pombo.mx.port });
  for (let minute = 0; minute < 12 && mx.messages.length < 60; minute++) await pass(pombo, MINUTE_MS);
  expect(mx.messages).toHaveLength(60);
  expect(pombo.events.some(({ name }) => name === "site.unblocked")).toBe(true);
  await mx.close();
});

test("a site that sends us away with 421 rests, and its neighbour does not (R25)", async () => {
  await using pombo = await startStill({ retryMs: [10 * MINUTE_MS] });
  const mx = await neighbour(pombo, "busy.test");
  mx.script = { mail: "421 4.3.2 too busy" };
  const [first] = await sendBatch(pombo, "busy.test", 1);
  await within(LIMIT_MS, "the first", pombo.app.worker.idle());
  const waiting = await sendBatch(pombo, "busy.test", 10);
  const healthy = await sendBatch(pombo, "example.com", 10);
  await within(LIMIT_MS, "the healthy ones", pombo.app.worker.idle());
  expect(pombo.mx.messages).toHaveLength(healthy.length);
  expect(mx.connections).toHaveLength(1);
  mx.script = {};
  await pass(pombo, 6_000);
  expect(mx.messages).toHaveLength(waiting.length);
  expect(await record(pombo, first ?? "")).toMatchObject({ status: "delivery_delayed", attempts: 1 });
  await mx.close();
});

test("a provider's word suspends its site for hours, and retrying by hand does not get past it (R32)", async () => {
  await using pombo = await startStill({ retryMs: [MINUTE_MS] });
  const mx = await neighbour(pombo, "yahoo.test", "mta5.am0.yahoodns.net");
  mx.script = { mail: "421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to user complaints" };
  const [id] = await sendBatch(pombo, "yahoo.test", 1);
  await within(LIMIT_MS, "the refusal", pombo.app.worker.idle());
  expect(blocks(pombo)[0]?.fields["reason"]).toContain("[TSS04]");
  mx.script = {};
  expect((await pombo.workspace.call("POST", `/api/v1/emails/${id}/retry`)).status).toBe(202);
  await pass(pombo, HOUR_MS);
  expect(mx.messages).toHaveLength(0);
  await pass(pombo, HOUR_MS + MINUTE_MS);
  expect(mx.messages).toHaveLength(1);
  expect(attemptsOf(pombo, id ?? "")).toHaveLength(2);
  await mx.close();
});

test("a site in which hardly anybody exists any more bounces, and suppresses nobody before the operator has looked", async () => {
  await using pombo = await startStill({ mx: { rcpt: "550 5.1.1 No such user" } });
  const ids = await sendBatch(pombo, "example.com", 40);
  await within(LIMIT_MS, "the bounces", pombo.app.worker.idle());
  for (const id of ids)
    expect(await record(pombo, id)).toMatchObject({ status: "bounced", bounce: { category: "invalid_recipient" } });
  expect(suppressedAddresses(pombo)).toEqual([]);
  const held = pombo.app.db.sqlite.query("SELECT address, site FROM suppression_held ORDER BY address").all();
  expect(held).toHaveLength(40);
  expect(held[0]).toEqual({ address: "user0@example.com", site: "mx.example.com" });
  expect(pombo.events.some(({ name }) => name === "suppressions.held")).toBe(true);
});

test("a few who do not exist among many who do are suppressed", async () => {
  let count = 0;
  await using pombo = await startStill({
    mx: { rcpt: () => (++count % 4 === 0 ? "550 5.1.1 No such user" : "250 ok") },
  });
  await sendBatch(pombo, "example.com", 100);
  await within(LIMIT_MS, "all", pombo.app.worker.idle());
  expect(suppressedAddresses(pombo)).toHaveLength(25);
});

test("a provider that asks for few messages in a connection gets no more (R31)", async () => {
  await using pombo = await startStill({
    configure: (config) => {
      config.site = [{ mx: ["example.com"], maxSessions: 1, messagesPerSession: 3, tlsRequired: false }];
    },
  });
  await sendBatch(pombo, "example.com", 10);
  await within(LIMIT_MS, "all", pombo.app.worker.idle());
  expect(pombo.mx.connections.map(({ messages }) => messages.length)).toEqual([3, 3, 3, 1]);
});

test("a site that must have TLS gets nothing in clear text (R17)", async () => {
  await using pombo = await startStill({
    configure: (config) => {
      config.site = [{ mx: ["mx.example.com"], maxSessions: 0, messagesPerSession: 0, tlsRequired: true }];
    },
  });
  const [id] = await sendBatch(pombo, "example.com", 1);
  await within(LIMIT_MS, "the attempt", pombo.app.worker.idle());
  expect(pombo.mx.messages).toHaveLength(0);
  expect(await record(pombo, id ?? "")).toMatchObject({ status: "delivery_delayed", attempts: 1 });
  const tried = pombo.app.db.sqlite.query<{ reply: string }, []>("SELECT reply FROM attempt").all();
  expect(tried).toEqual([{ reply: "TLS is required and the server does not offer it" }]);
});
