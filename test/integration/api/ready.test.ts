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
  await waitUntil("the database is well again", 5_000, async () => (await ready(pombo)).body.issues.length === 1);
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
  expect((await ready(pombo)).status).toBe(200);
  const sent = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  expect(sent.status).toBe(202);
  await waitUntil("DNS is missed", 5_000, async () => (await ready(pombo)).status === 503);
  expect((await ready(pombo)).body.issues).toMatchObject([
    { component: "dns", reason: expect.stringContaining("[dns] servers") },
  ]);
  expect(pombo.events.map(({ name }) => name)).toContain("dns.silent");
  pombo.config.dns.servers = [own!];
  await pombo.restart();
  expect((await ready(pombo)).status).toBe(200);
});
