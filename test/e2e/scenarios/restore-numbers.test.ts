// The machine dies in the moment in which a whole copy is in the replica and the single steps that it is made of are
// not. The restored one goes on with the same replica, in a lineage of its own: whatever happens to it, the next
// restore has what it has done.
import { expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { waitUntil } from "../../support/peers/process.ts";
import { runPombo } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { findDaemon, lastStep, lineagesIn, stopInOrder } from "./replicated.ts";
import { readEmails } from "./stored.ts";
import { call, createWorld, emailTo, type Served, type World } from "./world.ts";

const LIMIT_MS = 60_000;
/** From a commit to its step in the replica: two intervals of a second, and some. */
const COPYING_MS = 2_500;
/** In the daemon's counting of levels: single steps, their first summary, whole copies. */
const STEPS = 0;
const SUMMARY = 1;
const WHOLE = 9;

setDefaultTimeout(4 * LIMIT_MS);

const hasDaemon = await findDaemon();

async function accept(served: Served, world: World, subject: string): Promise<void> {
  const request = { method: "POST", path: "/api/v1/emails", body: emailTo("maria@one.test", subject) };
  expect((await call(served.url, world.key, request)).status).toBe(202);
}

/** When all was in the replica last, Unix ms. */
async function copiedAt(config: string): Promise<number> {
  const { stdout } = await runPombo(["status", "--json", "--config", config]);
  return Date.parse(JSON.parse(stdout).replication.lastAt ?? new Date(0).toISOString());
}

/** What does not change by a restore, which marks what waits. */
function contentOf(dataDir: string): string[] {
  return [...readEmails(dataDir)].map(([id, { subject, status }]) => `${id} ${subject} ${status}`).toSorted();
}

async function killBoth(served: Served, dataDir: string): Promise<void> {
  process.kill(Number(await Bun.file(join(dataDir, "litestream/pid")).text()), "SIGKILL");
  served.signal("SIGKILL");
  await served.ended;
}

test.skipIf(!hasDaemon)(
  "numbers that a whole copy has are not used again by a restored instance, however it ends",
  async () => {
    const place = mkdtempSync("/tmp/pombo-numbers-");
    await using _gone = { [Symbol.asyncDispose]: async () => rmSync(place, { recursive: true, force: true }) };
    const replica = join(place, "copies");
    const key = join(place, "recovery.key");
    await using mx = await startCountingMx();
    // Steps are copied so seldom that the first whole copy is ahead of them for seconds.
    const replication = { url: replica, sync_interval: "20s" };
    await using world = await createWorld({ mxPort: mx.port, settings: { replication } });
    cpSync(join(world.dataDir, "instance.key"), key);
    {
      await using first = await world.serve();
      let sent = 0;
      await waitUntil("a whole copy ahead of the steps", LIMIT_MS, async () => {
        await accept(first, world, `Email ${(sent += 1)}`);
        return lastStep(replica, WHOLE) > lastStep(replica, STEPS);
      });
      await killBoth(first, world.dataDir);
    }
    expect(lastStep(replica, WHOLE)).toBeGreaterThan(lastStep(replica, STEPS));
    rmSync(world.dataDir, { recursive: true });

    const restoreTo = async (name: string, sync: string) => {
      const dataDir = join(place, name);
      const changes = { "": { data_dir: dataDir }, replication: { url: replica, sync_interval: sync } };
      const config = world.writeConfig(`${name}.toml`, changes);
      const { code, stderr } = await runPombo(["restore", "--key-file", key, "--config", config]);
      expect({ code, stderr }).toMatchObject({ code: 0 });
      return { dataDir, config };
    };
    const second = await restoreTo("second", "1s");
    {
      await using served = await world.serve({ config: second.config });
      for (let index = 0; index < 20; index += 1) await accept(served, world, `After ${index}`);
      await waitUntil("a lineage of its own", LIMIT_MS, () => lineagesIn(replica).length === 2);
      // Killed, not stopped: nothing but what was copied by then.
      await accept(served, world, "Last");
      const acceptedAt = Date.now();
      await waitUntil("all is copied", LIMIT_MS, async () => (await copiedAt(second.config)) > acceptedAt + COPYING_MS);
      await killBoth(served, second.dataDir);
    }
    const third = await restoreTo("third", "1s");
    expect(contentOf(third.dataDir)).toEqual(contentOf(second.dataDir));
    {
      await using served = await world.serve({ config: third.config });
      await accept(served, world, "Third");
      await waitUntil("a summary", LIMIT_MS, () => lineagesIn(replica).length === 3 && lastStep(replica, SUMMARY) > 0);
      await stopInOrder(served);
    }
    const fourth = await restoreTo("fourth", "1s");
    expect(contentOf(fourth.dataDir)).toEqual(contentOf(third.dataDir));
    expect(contentOf(fourth.dataDir).filter((each) => each.includes(" Third "))).toHaveLength(1);
  },
);
