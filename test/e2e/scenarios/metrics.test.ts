// What an operator sees at /metrics after mail of every fate, over the real listener; and that the
// listener is in nobody's way.
import { expect, setDefaultTimeout, test } from "bun:test";
import { createServer, type AddressInfo } from "node:net";
import { fakeClock, type FakeClock } from "../../support/fakes/clock.ts";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import type { MxScript } from "../../support/fakes/mx.ts";
import { readMetrics, type Metrics } from "../../support/metrics/reader.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { runPombo, spawnPombo } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { deliver, send } from "./mail.ts";
import { bugsOf, createWorld } from "./world.ts";

setDefaultTimeout(30_000);

/** How long the queue's figures are taken for fresh. */
const FRESH_MS = 10_000;

const BY_RECIPIENT: MxScript = {
  rcpt: (command) => {
    if (command.includes("gone")) return "550 5.1.1 No such user";
    return command.includes("busy") ? "451 4.2.1 The mailbox is busy" : "250 Ok";
  },
};

async function startWatched(mx: MxScript = BY_RECIPIENT): Promise<Instance & { clock: FakeClock }> {
  const clock = fakeClock();
  const pombo = await startInstance({
    clock,
    mx,
    configure: (config) => void (config.metrics.listen = { address: "127.0.0.1", port: 0 }),
  });
  const end = pombo[Symbol.asyncDispose].bind(pombo);
  return Object.assign(pombo, {
    clock,
    async [Symbol.asyncDispose]() {
      const mover = setInterval(() => clock.advance(60_000), 5);
      await end();
      clearInterval(mover);
    },
  });
}

async function scrape(url: string | null): Promise<Metrics> {
  const answer = await fetch(url ?? "");
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return readMetrics(await answer.text());
}

/** How many values a histogram has. */
function countForWorkspace({ families }: Metrics, name: string): number {
  const family = families.find((each) => each.name === name);
  expect([name, family?.type]).toEqual([name, "HISTOGRAM"]);
  return Number(family?.metrics[0]?.count);
}

test("a delivered, a bounced and a deferred email are each counted once, with their attempts", async () => {
  await using pombo = await startWatched();
  for (const to of ["maria@example.com", "gone@example.com", "busy@example.com"]) await deliver(pombo, to);
  const read = await scrape(pombo.app.metricsUrl);
  expect(read.value("pombo_emails_accepted_total")).toBe(3);
  expect(read.value("pombo_emails_finished_total", { status: "delivered" })).toBe(1);
  expect(read.value("pombo_emails_finished_total", { status: "bounced", category: "invalid_recipient" })).toBe(1);
  expect(read.value("pombo_emails_finished_total", { status: "bounced", category: "policy" })).toBe(0);
  expect(read.labelsOf("pombo_emails_deferred_total", "category")).toHaveLength(14);
  const deferred = read
    .labelsOf("pombo_emails_deferred_total", "category")
    .map((category) => read.value("pombo_emails_deferred_total", { category }) ?? 0);
  expect(deferred.reduce((sum, count) => sum + count)).toBe(1);
  for (const [name, count] of Object.entries({ delivered: 1, deferred: 1, bounced: 1, failed: 0, unknown: 0 }))
    expect([name, read.value("pombo_email_attempts_total", { outcome: name })]).toEqual([name, count]);
  for (const status of ["sent", "suppressed", "canceled", "complained"])
    expect([status, read.value("pombo_emails_finished_total", { status })]).toEqual([status, 0]);
  expect(pombo.bugs).toEqual([]);
});

test("what was refused, replayed or rolled back is not counted as accepted", async () => {
  await using pombo = await startWatched();
  const headers = { "idempotency-key": "once" };
  const body = pombo.email({ to: "gone@example.com" });
  for (const _ of [1, 2]) await pombo.workspace.call("POST", "/api/v1/emails", { body, headers });
  await pombo.app.worker.idle();
  const suppressed = await pombo.workspace.call("POST", "/api/v1/emails", { body });
  expect(suppressed.status).toBe(422);
  pombo.app.db.sqlite.run("PRAGMA query_only = ON");
  expect((await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() })).status).toBe(503);
  pombo.app.db.sqlite.run("PRAGMA query_only = OFF");
  const emails = [pombo.email(), pombo.email(), pombo.email()];
  const before = await scrape(pombo.app.metricsUrl);
  expect(before.value("pombo_emails_accepted_total")).toBe(1);
  expect(before.value("pombo_commits_failed_total")).toBeGreaterThanOrEqual(1);
  expect(before.value("pombo_ready")).toBe(0);
  pombo.clock.advance(1_000);
  await waitUntil("the guard opens", 5_000, () => Promise.resolve(pombo.app.guard.blockedReason === null));
  expect((await pombo.workspace.call("POST", "/api/v1/emails/batch", { body: { emails } })).status).toBe(202);
  const after = await scrape(pombo.app.metricsUrl);
  expect(after.value("pombo_emails_accepted_total")).toBe(4);
  expect(after.value("pombo_ready")).toBe(1);
  expect(after.value("pombo_http_requests_total", { class: "5xx" })).toBe(1);
  expect(after.value("pombo_http_requests_total", { class: "4xx" })).toBe(1);
});

test("an email that was canceled, and one whose recipient was suppressed meanwhile, are counted as such", async () => {
  await using pombo = await startWatched();
  const busy = await deliver(pombo, "busy@example.com");
  expect((await pombo.workspace.call("POST", `/api/v1/emails/${busy.id}/cancel`)).status).toBe(200);
  await deliver(pombo, "busy2@example.com");
  pombo.app.db.sqlite.run(
    "INSERT INTO suppression (workspace_id, channel, address, reason, created_at) SELECT id, 'email', 'busy2@example.com', 'manual', 0 FROM workspace",
  );
  pombo.clock.advance(2 * 60_000);
  await pombo.app.worker.idle();
  const read = await scrape(pombo.app.metricsUrl);
  expect(read.value("pombo_emails_finished_total", { status: "canceled" })).toBe(1);
  expect(read.value("pombo_emails_finished_total", { status: "suppressed" })).toBe(1);
});

test("the queue's depth and the age of its oldest email are told by site", async () => {
  await using pombo = await startWatched({ rcpt: "451 4.2.1 Busy" });
  // One site for two destinations, and another.
  pombo.dns.zone["example.org"] = { MX: [[10, "mx.example.com"]] };
  pombo.dns.zone["other.test"] = { MX: [[10, "mx.other.test"]] };
  pombo.dns.zone["mx.other.test"] = { A: ["127.0.0.1"] };
  const empty = await scrape(pombo.app.metricsUrl);
  expect(empty.labelsOf("pombo_queue_depth", "site")).toEqual(["other"]);
  expect(empty.value("pombo_queue_depth", { site: "other" })).toBe(0);
  expect(empty.value("pombo_queue_oldest_message_age_seconds", { site: "other" })).toBe(0);
  await deliver(pombo, "one@example.com");
  pombo.clock.advance(30_000);
  await deliver(pombo, "two@example.org");
  await deliver(pombo, "three@other.test");
  const read = await scrape(pombo.app.metricsUrl);
  expect(read.value("pombo_queue_depth", { site: "mx.example.com" })).toBe(2);
  expect(read.value("pombo_queue_oldest_message_age_seconds", { site: "mx.example.com" })).toBe(30);
  expect(read.value("pombo_queue_depth", { site: "mx.other.test" })).toBe(1);
  expect(read.value("pombo_queue_oldest_message_age_seconds", { site: "mx.other.test" })).toBe(0);
  // Counted again when the figures are not fresh any more; until then the age alone goes on.
  await pombo.app.committer.commit(() => void pombo.app.db.sqlite.run("DELETE FROM email_queue"));
  pombo.clock.advance(FRESH_MS - 1);
  const stale = await scrape(pombo.app.metricsUrl);
  expect(stale.value("pombo_queue_depth", { site: "mx.example.com" })).toBe(2);
  expect(stale.value("pombo_queue_oldest_message_age_seconds", { site: "mx.example.com" })).toBe(39.999);
  pombo.clock.advance(1);
  expect((await scrape(pombo.app.metricsUrl)).labelsOf("pombo_queue_depth", "site")).toEqual(["other"]);
});

test("attempts under way and sessions are told while they last", async () => {
  await using pombo = await startWatched({ rcpt: { kind: "stall" } });
  await send(pombo, "maria@example.com");
  await pombo.mx.until(() =>
    pombo.mx.connections.some(({ commands }) => commands.some((line) => line.startsWith("RCPT"))),
  );
  const read = await scrape(pombo.app.metricsUrl);
  expect(read.value("pombo_email_attempts_in_progress")).toBe(1);
  expect(read.value("pombo_smtp_sessions", { state: "busy" })).toBe(1);
  expect(read.value("pombo_smtp_sessions", { state: "idle" })).toBe(0);
  expect(read.value("pombo_sites_blocked")).toBe(0);
  expect(read.value("pombo_queue_depth", { site: "mx.example.com" })).toBe(1);
});

test("a process tells of its commits, its loop, its files and itself, and its start names the address", async () => {
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  await using served = await world.serve();
  const url = /"metrics":"([^"]+)"/.exec(served.stdout())?.[1] ?? "";
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
  await fetch(`${served.url}/health`);
  let read = await scrape(url);
  // The loop is measured every tenth of a second.
  for (const until = Date.now() + 10_000; Date.now() < until; read = await scrape(url)) {
    if (countForWorkspace(read, "pombo_event_loop_lag_seconds") > 0) break;
  }
  expect(read.value("pombo_http_requests_total", { class: "2xx" })).toBeGreaterThanOrEqual(1);
  expect(countForWorkspace(read, "pombo_event_loop_lag_seconds")).toBeGreaterThan(0);
  expect(read.value("pombo_database_wal_size_bytes")).toBeGreaterThanOrEqual(0);
  for (const name of [
    "pombo_ready",
    "pombo_database_size_bytes",
    "pombo_disk_free_bytes",
    "process_resident_memory_bytes",
    "process_heap_bytes",
    "process_cpu_seconds_total",
    "process_start_time_seconds",
  ])
    expect([name, read.value(name)! > 0]).toEqual([name, true]);
  expect(read.labelsOf("pombo_build_info", "version")[0]).toMatch(/^\d+\.\d+\.\d+/);
  // The API does not show them.
  expect((await fetch(`${served.url}/metrics`)).status).toBe(404);
  served.signal("SIGTERM");
  expect(await served.ended).toMatchObject({ code: 0 });
  expect(bugsOf(served)).toEqual([]);
});

test("commits and requests are measured as soon as there are some", async () => {
  await using pombo = await startWatched();
  await deliver(pombo, "maria@example.com");
  const read = await scrape(pombo.app.metricsUrl);
  for (const name of [
    "pombo_commit_duration_seconds",
    "pombo_commit_batch_size",
    "pombo_http_request_duration_seconds",
  ])
    expect([name, countForWorkspace(read, name) > 0]).toEqual([name, true]);
});

test('a metrics port in use stops the start in one sentence with the way out, and "" turns them off', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as AddressInfo;
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  const refused = await runPombo([
    "serve",
    "--config",
    world.writeConfig("taken.toml", { metrics: { listen: `127.0.0.1:${port}` } }),
  ]);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toBe(
    `Port ${port} on 127.0.0.1 is in use by another program. Stop that one, or choose another port ([metrics] listen; "" turns the metrics off).\n`,
  );
  await using off = spawnPombo(["serve", "--config", world.writeConfig("off.toml", { metrics: { listen: "" } })]);
  await off.until("it serves", () => off.stdout().includes('"event":"pombo.started"'));
  expect(off.stdout()).toContain('"metrics":null');
  await new Promise((resolve) => taken.close(resolve));
});

test("sandboxes take no metrics port, so that several run side by side", async () => {
  const started = [1, 2].map(() => spawnPombo(["dev", "--port", "0", "--json"]));
  try {
    for (const child of started) await child.until("it is ready", () => child.stdout().includes('"url"'));
  } finally {
    for (const child of started) {
      child.signal("SIGTERM");
      await child.ended;
    }
  }
});
