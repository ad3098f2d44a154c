import { expect, test } from "bun:test";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { startFakeDns } from "../../support/fakes/dns-server.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { TIMESTAMP } from "../../support/api/kit.ts";

const ready = (pombo: Instance) => pombo.operator.call("GET", "/ready", { key: null });

test("an instance that works is ready, and there is no issue", async () => {
  await using pombo = await startInstance();
  expect(await ready(pombo)).toMatchObject({ status: 200, body: { status: "ready", reason: null, issues: [] } });
});

test("a low disk is told as its part, with what it means and since when", async () => {
  await using pombo = await startInstance({
    readFree: () => ({ freeBytes: 10 * 1024 ** 2, freeInodesPercent: 100 }),
  });
  pombo.config.disk.minFreeBytes = 1024 ** 3;
  await pombo.restart();
  const { status, body } = await ready(pombo);
  expect(status).toBe(503);
  expect(body.status).toBe("not ready");
  expect(body.issues).toEqual([
    {
      component: "disk",
      reason:
        "the disk has 10 MiB free, less than [disk] min_free (1024 MiB). Nothing new is accepted until there is room; what is queued is sent.",
      since: expect.stringMatching(TIMESTAMP),
    },
  ]);
  expect(body.reason).toBe(body.issues[0].reason);
});

test("a database that cannot be written is told beside a low disk, and both keep their beginning", async () => {
  await using pombo = await startInstance({ readFree: () => ({ freeBytes: 10, freeInodesPercent: 100 }) });
  pombo.config.disk.minFreeBytes = 1024;
  await pombo.restart();
  pombo.app.db.sqlite.run("PRAGMA query_only = ON");
  await pombo.app.committer.commit(() => void pombo.app.db.sqlite.run("DELETE FROM usage")).catch(() => undefined);
  const first = (await ready(pombo)).body;
  expect(first.issues).toMatchObject([
    { component: "database", reason: expect.stringContaining("SQLITE_READONLY") },
    { component: "disk", reason: expect.stringContaining("[disk] min_free") },
  ]);
  await pombo.app.committer.commit(() => void pombo.app.db.sqlite.run("DELETE FROM usage")).catch(() => undefined);
  expect((await ready(pombo)).body.issues).toEqual(first.issues);
  pombo.app.db.sqlite.run("PRAGMA query_only = OFF");
  await waitUntil("the database is well again", 15_000, async () => (await ready(pombo)).body.issues.length === 1);
});

test("nothing that /ready says names a path, and it needs no key", async () => {
  await using pombo = await startInstance({
    readFree: () => {
      throw new Error("ENOENT: no such file or directory, statfs '/srv/pombo/data'");
    },
  });
  const { status, text, body } = await ready(pombo);
  expect(status).toBe(503);
  expect(text).not.toContain("/srv");
  expect(body.issues).toMatchObject([{ component: "disk", reason: expect.stringContaining("ENOENT: no such file") }]);
});

test("while no DNS server answers the instance accepts mail and is not ready", async () => {
  const gone = await startFakeDns();
  await gone.close();
  await using pombo = await startInstance();
  const [own] = pombo.config.dns.servers;
  pombo.config.dns.servers = [gone.address];
  await pombo.restart();
  // Before any mail: the start looks.
  await waitUntil("DNS is missed", 15_000, async () => (await ready(pombo)).status === 503);
  const sent = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  expect(sent.status).toBe(202);
  expect((await ready(pombo)).body.issues).toMatchObject([
    { component: "dns", reason: expect.stringContaining("[dns] servers") },
  ]);
  expect(pombo.events.map(({ name }) => name)).toContain("dns.silent");
  pombo.config.dns.servers = [own!];
  await pombo.restart();
  expect((await ready(pombo)).status).toBe(200);
});

async function sendTo(pombo: Instance, recipients: string[]): Promise<void> {
  for (const to of recipients) {
    const { status } = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ to }) });
    expect(status).toBe(202);
  }
}

test("three sites that cannot be reached, and none that can, are an issue with its cure until one answers", async () => {
  await using pombo = await startInstance();
  const { port } = pombo.mx;
  const closed = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  closed.stop(true);
  pombo.config.email.destinationPort = closed.port;
  await pombo.restart();
  for (const site of ["one", "two", "three"]) {
    pombo.dns.zone[`${site}.test`] = { MX: [[10, `mx.${site}.test`]] };
    pombo.dns.zone[`mx.${site}.test`] = { A: ["127.0.0.1"] };
  }
  await sendTo(pombo, ["a@one.test", "b@one.test", "c@two.test"]);
  const deferred = () => pombo.events.filter(({ name }) => name === "email.delivery_delayed").length;
  await waitUntil("all are deferred", 15_000, () => deferred() === 3);
  expect((await ready(pombo)).body.issues).toEqual([]);
  await sendTo(pombo, ["d@three.test"]);
  await waitUntil("it is an issue", 15_000, async () => (await ready(pombo)).body.issues.length === 1);
  // What is accepted is kept, so that the instance is ready.
  const { status, body } = await ready(pombo);
  expect(status).toBe(200);
  const reason = expect.stringMatching(/port 25: 3 sites .* ask it to open port 25 outwards, or send through a relay/);
  expect(body.issues).toEqual([{ component: "delivery", reason, since: expect.stringMatching(TIMESTAMP) }]);
  pombo.config.email.destinationPort = port;
  await pombo.restart();
  expect((await ready(pombo)).body.issues).toEqual([]);
});

test("ten refusals for reputation within an hour, and a tenth of all answers, are an issue", async () => {
  const refusal = "550 5.7.1 This message was identified as spam";
  await using pombo = await startInstance({
    mx: { rcpt: (command) => (command.includes("blocked") ? refusal : "250 Ok") },
  });
  const ended = () => pombo.events.filter(({ name }) => ["email.delivered", "email.bounced"].includes(name)).length;
  const refused = (count: number) => Array.from({ length: count }, (_, n) => `blocked${n}@example.com`);
  await sendTo(pombo, [...refused(9), "maria@example.com"]);
  await waitUntil("ten are over", 10_000, () => ended() === 10);
  expect((await ready(pombo)).body.issues).toEqual([]);
  await sendTo(pombo, ["blocked10@example.com"]);
  await waitUntil("eleven are over", 10_000, () => ended() === 11);
  const { status, body } = await ready(pombo);
  expect(status).toBe(200);
  expect(body.issues).toMatchObject([
    {
      component: "delivery",
      reason: expect.stringMatching(/^10 of 11 emails were refused .* mx\.example\.com 550 5\.7\.1\./),
    },
  ]);
});
