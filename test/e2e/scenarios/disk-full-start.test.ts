// Starts on a disk without a free byte: pombo starts, answers reads, refuses sends and says why, and goes on by itself
// with the space. What a mail server had taken when the disk ran full is recorded then, and not sent again.
import { expect, setDefaultTimeout, test } from "bun:test";
import { waitUntil } from "../../support/peers/process.ts";
import { runPombo, within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { hasSmallDisks, mountSmallDisk, type SmallDisk } from "./small-disk.ts";
import { bugsOf, call, createWorld, emailTo, hasLogged, type Served, type World } from "./world.ts";

const DISK_MIB = 16;
const LIMIT_MS = 20_000;

setDefaultTimeout(120_000);
if (!hasSmallDisks) {
  console.warn(
    "SKIPPED: the full disk needs a mount namespace (root, or unprivileged user namespaces), which this machine does not permit.",
  );
}

const post = (served: Served, world: World, subject: string) =>
  call(served.url, world.key, { method: "POST", path: "/api/v1/emails", body: emailTo("a@one.test", subject) });

/** The records of all emails. */
async function listRecords(served: Served, world: World) {
  const { data } = (await call(served.url, world.key, { path: "/api/v1/emails?limit=100" })).body;
  const ids = (data as { id: string }[]).map(({ id }) => id);
  const records = ids.map(
    async (id) => (await call(served.url, world.key, { path: `/api/v1/emails/${id}` })).body.data,
  );
  return (await Promise.all(records)) as { status: string; attempts: number; possibleDuplicate: boolean }[];
}

/** It started on the full disk; then there is room. */
async function expectRefusesThenGoesOn(served: Served, world: World, disk: SmallDisk): Promise<void> {
  expect((await call(served.url, world.key, { path: "/health" })).status).toBe(200);
  expect((await call(served.url, world.key, { path: "/api/v1/emails" })).status).toBe(200);
  const refused = await post(served, world, "on the full disk");
  expect(refused.status).toBe(503);
  expect(refused.body.errors[0]).toMatchObject({ code: "UNAVAILABLE" });
  const ready = await call(served.url, world.key, { path: "/ready" });
  expect(ready.status).toBe(503);
  expect(ready.body.reason).toMatch(/disk/);
  expect(hasLogged(served, "disk.failed")).toBe(true);
  const status = await runPombo(["status", "--config", world.configFile], { through: disk.enter });
  expect(`${status.stdout}${status.stderr}`).toMatch(/disk/);
  disk.clear();
  await waitUntil(
    "it is ready",
    LIMIT_MS,
    async () => (await call(served.url, world.key, { path: "/ready" })).status === 200,
  );
  expect((await post(served, world, "with room again")).status).toBe(202);
}

for (const minFree of ["0B", "4MiB"]) {
  test.skipIf(!hasSmallDisks)(
    `a disk that is full after a stop: the start serves, refuses sends and goes on with the space ([disk] min_free = ${minFree})`,
    async () => {
      await using mx = await startCountingMx();
      await using world = await createWorld({ mxPort: mx.port, settings: { disk: { min_free: minFree } } });
      await using disk = await mountSmallDisk(world.dataDir, DISK_MIB);
      disk.fill();
      await using served = await world.serve({ through: disk.enter });
      await expectRefusesThenGoesOn(served, world, disk);
      await within(
        LIMIT_MS,
        "the email",
        mx.until(() => mx.arrivals.length === 1),
      );
      expect(bugsOf(served)).toEqual([]);
      served.signal("SIGTERM");
      expect(await served.ended).toEqual({ code: 0, signal: null });
    },
  );
}

test.skipIf(!hasSmallDisks)(
  "nobody signs in before the start is recorded, since the database may be one of an earlier time; sessions count then",
  async () => {
    await using mx = await startCountingMx();
    await using world = await createWorld({ mxPort: mx.port });
    await using disk = await mountSmallDisk(world.dataDir, DISK_MIB);
    const ask = async ({ url }: Served, path: string, cookie: string, body?: object) =>
      fetch(`${url}/api/v1/auth/${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { "sec-fetch-site": "same-origin", "content-type": "application/json", cookie },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const person = { email: "ana@example.com", name: "Ana", password: "quatro pombos no telhado" };
    let cookie: string;
    let link = "";
    {
      await using served = await world.serve({ through: disk.enter });
      const makeLink = async (): Promise<string> => {
        const path = "/api/v1/operator/dashboard-link";
        return (await call(served.url, world.operatorKey, { method: "POST", path })).body.data.url.split("#")[1];
      };
      link = await makeLink();
      const used = await ask(served, "links/use", "", { token: await makeLink(), ...person });
      cookie = used.headers.getSetCookie()[0]?.split(";")[0] ?? "";
      expect((await ask(served, "me", cookie)).status).toBe(200);
      served.signal("SIGTERM");
      await served.ended;
    }
    disk.fill();
    await using served = await world.serve({ through: disk.enter });
    const { email, password } = person;
    const asked = () =>
      Promise.all([
        ask(served, "me", cookie),
        ask(served, "session", "", { email, password }),
        // These only read, which a full disk does not keep them from.
        ask(served, "session", "", { email, password: "wrong" }),
        ask(served, "links/inspect", "", { token: link }),
      ]);
    for (const answer of await asked()) {
      expect(answer.status).toBe(503);
      expect(await answer.json()).toMatchObject({
        errors: [{ code: "UNAVAILABLE", message: expect.stringContaining("starting") }],
      });
    }
    disk.clear();
    await waitUntil("the session counts", LIMIT_MS, async () => (await ask(served, "me", cookie)).status === 200);
    expect((await asked()).map(({ status }) => status)).toEqual([200, 200, 401, 200]);
  },
);

test.skipIf(!hasSmallDisks)("a start on a full disk that finds no room until its stop ends in time", async () => {
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  await using disk = await mountSmallDisk(world.dataDir, DISK_MIB);
  disk.fill();
  for (let start = 1; start <= 2; start += 1) {
    await using served = await world.serve({ through: disk.enter });
    expect((await call(served.url, world.key, { path: "/ready" })).status).toBe(503);
    served.signal("SIGTERM");
    expect(await within(10_000, "its end", served.ended)).toEqual({ code: 0, signal: null });
    expect(bugsOf(served)).toEqual([]);
  }
});

test.skipIf(!hasSmallDisks)("a replicated instance begins to replicate once there is room", async () => {
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  // The daemon's executable is in the data directory.
  const config = world.writeConfig("replicated.toml", {
    replication: { url: `file://${world.folder}/replica`, sync_interval: "200ms" },
  });
  await using disk = await mountSmallDisk(world.dataDir, 256);
  {
    await using served = await world.serve({ config, through: disk.enter });
    served.signal("SIGTERM");
    await within(LIMIT_MS, "its end", served.ended);
  }
  disk.fill();
  await using served = await world.serve({ config, through: disk.enter });
  await expectRefusesThenGoesOn(served, world, disk);
  await waitUntil("it replicates", LIMIT_MS, async () => {
    const { data } = (await call(served.url, world.operatorKey, { path: "/api/v1/operator/status" })).body;
    return typeof data.replication?.lastAt === "string";
  });
  expect(bugsOf(served)).toEqual([]);
});

for (const end of ["SIGKILL", "SIGTERM"] as const) {
  test.skipIf(!hasSmallDisks)(
    `emails taken by the mail server when the disk ran full are delivered once, unmarked, after ${end} and a start on the full disk`,
    async () => {
      const TAKEN = 3;
      const answers = Promise.withResolvers<void>();
      await using mx = await startCountingMx(async () => {
        await answers.promise;
        return "250 2.0.0 Ok";
      });
      await using world = await createWorld({ mxPort: mx.port });
      await using disk = await mountSmallDisk(world.dataDir, DISK_MIB);
      await using first = await world.serve({ through: disk.enter });
      for (let number = 1; number <= TAKEN; number += 1)
        expect((await post(first, world, `taken ${number}`)).status).toBe(202);
      await within(
        LIMIT_MS,
        "the messages",
        mx.until(() => mx.arrivals.length === TAKEN),
      );
      disk.fill();
      answers.resolve();
      await first.until("the disk is full", () => hasLogged(first, "disk.failed"));
      await waitUntil("all answers are there", LIMIT_MS, () => mx.arrivals.every((each) => each.answeredAt !== null));
      // What asks for a transaction now comes after the answers that were there before it.
      expect((await post(first, world, "on the full disk")).status).toBe(503);
      expect(new Set((await listRecords(first, world)).map(({ status }) => status))).toEqual(new Set(["sending"]));
      first.signal(end);
      await within(70_000, "its end", first.ended);
      // A stop empties the write-ahead log.
      disk.fill();

      await using second = await world.serve({ through: disk.enter });
      await expectRefusesThenGoesOn(second, world, disk);
      await waitUntil("all are delivered", LIMIT_MS, async () =>
        (await listRecords(second, world)).every(({ status }) => status === "delivered"),
      );
      for (const email of await listRecords(second, world))
        expect(email).toMatchObject({ attempts: 1, possibleDuplicate: false });
      // Those, and the one that was sent with room again.
      expect([mx.arrivals.length, mx.distinct]).toEqual([TAKEN + 1, TAKEN + 1]);
      expect(bugsOf(second)).toEqual([]);
    },
  );
}
