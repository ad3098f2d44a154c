// Lineages, with the real daemon's commands and a folder as the replica.
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspectReplica } from "../../../../src/backup/litestream/catalog.ts";
import { deletePrefix } from "../../../../src/backup/litestream/delete-prefix.ts";
import { getDaemonVersion } from "../../../../src/backup/litestream/executable.ts";
import { findExpired, findLocalLineage } from "../../../../src/backup/litestream/lineages.ts";
import { findGap, type Lineage } from "../../../../src/backup/litestream/replica.ts";
import type { DaemonTools } from "../../../../src/backup/litestream/tools.ts";
import type { ReplicationConfig } from "../../../../src/config/config.ts";
import { waitUntil } from "../../../support/peers/process.ts";
import { HOUR_MS, LIMIT_MS, makeReplicated, RETENTION_MS } from "./folder-replica.ts";

setDefaultTimeout(60_000);

const hasDaemon = getDaemonVersion() !== null;

const KEYS = { AWS_ACCESS_KEY_ID: "x", AWS_SECRET_ACCESS_KEY: "y" };

/** The daemon has the folder still; only deletions go to a bucket. */
function deleteInBucket(tools: DaemonTools, folder: string, to: { endpoint: string; keys: Record<string, string> }) {
  const { run } = tools;
  const bucket = "s3://copies/pombo";
  tools.replication = { ...tools.replication, url: bucket, endpoint: to.endpoint };
  tools.environment = to.keys;
  tools.run = (words, rest, how) => {
    const config = JSON.parse(how.config) as { dbs: { replica: { url: string } }[] };
    const dbs = config.dbs.map((db) => ({
      ...db,
      replica: { type: "file", path: db.replica.url.replace(bucket, folder) },
    }));
    return run(words, rest, { ...how, config: JSON.stringify({ ...config, dbs }) });
  };
}

test("steps lead on from the replica's last one where none between is missing", () => {
  expect(findGap([], { end: 0, copied: 0 })).toBeNull();
  expect(findGap([12], { end: 12, copied: 12 })).toBeNull();
  expect(findGap([9, 10, 11], { end: 8, copied: 8 })).toBeNull();
  expect(findGap([5], { end: 12, copied: 12 })).toBe("it ends at step 12, and what is here ends at 5");
  expect(findGap([], { end: 12, copied: 12 })).toBe("it ends at step 12, and what is here ends at 0");
  expect(findGap([9, 10, 12], { end: 8, copied: 8 })).toBe("step 11 was lost here before it was copied");
  expect(findGap([70], { end: 0, copied: 0 })).toBe("step 1 was lost here before it was copied");
  // A snapshot holds what was lost, and the daemon still waits for it.
  expect(findGap([9, 11, 12], { end: 12, copied: 9 })).toBe("step 10 was lost here before it was copied");
  expect(findGap([12, 13], { end: 12, copied: 12 })).toBeNull();
});

test("a lineage expires when one behind it has been whole for the retention, and never the last whole one", () => {
  const made = (id: string, wholeAt: number | null) => ({ id, wholeAt }) as Lineage;
  const all = [made("a", 0), made("b", null), made("c", 10 * HOUR_MS), made("d", null)];
  const expired = (now: number) => findExpired(all, now, RETENTION_MS).map(({ id }) => id);
  expect(expired(81 * HOUR_MS)).toEqual([]);
  expect(expired(82 * HOUR_MS)).toEqual(["a", "b"]);
  expect(expired(10_000 * HOUR_MS)).toEqual(["a", "b"]);
  // A clock that was set back.
  expect(expired(-HOUR_MS)).toEqual([]);
  expect(findExpired([made("a", null)], 10_000 * HOUR_MS, RETENTION_MS)).toEqual([]);
});

test.skipIf(!hasDaemon)("a restore takes the lineage before until the new one is whole, and then that", async () => {
  using at = await makeReplicated();
  const old = await at.open("old");
  expect(await old.lineages.prepare(null)).toBeNull();
  await old.copy("old");
  // Not recorded as whole yet: what a restore would find counts.
  expect(await old.restored()).toEqual(["old"]);
  await old.settle();
  const restored = await at.open("restored");
  expect(await restored.lineages.prepare(null)).toBeNull();
  expect(await old.restored()).toEqual(["old"]);
  await restored.copy("new");
  expect(await old.restored()).toEqual(["new"]);
  // The old machine was not gone: it writes to its own lineage, and to nothing else.
  await old.copy("too late");
  expect(await old.restored()).toEqual(["new"]);
  // Its next start finds that the replica went on elsewhere.
  expect(await old.lineages.prepare(null)).toBeNull();
  const begun = at.events.filter(({ name }) => name === "replication.lineage");
  expect(begun.map(({ fields }) => fields["reason"])).toEqual([
    "the replica is empty",
    "nothing here leads on from what is in the replica",
    "nothing here leads on from what is in the replica",
  ]);
});

test.skipIf(!hasDaemon)("a time is looked for in all lineages, from the newest to the oldest", async () => {
  using at = await makeReplicated();
  const pombo = await at.open("data");
  await pombo.lineages.prepare(null);
  await pombo.copy("1");
  const hoursAgo = (hours: number) => Date.now() - hours * HOUR_MS;
  for (const name of readdirSync(at.url, { recursive: true, encoding: "utf8" }))
    utimesSync(join(at.url, name), hoursAgo(2) / 1_000, hoursAgo(2) / 1_000);
  await pombo.renew();
  await pombo.copy("2");
  const [older, newer] = (await pombo.catalog()).map(({ id }) => id);
  const found = async (time: number | null) => (await inspectReplica(pombo.tools, { limitMs: LIMIT_MS, time })).replica;
  expect(await found(null)).toMatchObject({ kind: "backup", lineage: newer });
  expect(await found(hoursAgo(1))).toMatchObject({ kind: "backup", lineage: older });
  expect(await found(hoursAgo(3))).toEqual({ kind: "empty" });
  // One that began later is damaged: it does not stand in the way.
  await pombo.settle();
  for (const name of readdirSync(join(at.url, newer!), { recursive: true, encoding: "utf8" }))
    if (/\/0{15}1-[0-9a-f]+\.ltx$/.test(name)) rmSync(join(at.url, newer!, name));
  expect(await found(null)).toMatchObject({ kind: "broken", lineage: newer });
  expect(await found(hoursAgo(1))).toMatchObject({ kind: "backup", lineage: older });
});

test.skipIf(!hasDaemon)("a lineage that was whole and lost its files is not passed over in silence", async () => {
  using at = await makeReplicated();
  const first = await at.open("first");
  await first.lineages.prepare(null);
  await first.copy("1");
  await first.settle();
  await first.renew();
  await first.copy("2");
  await first.settle();
  rmSync(join(at.url, findLocalLineage(first.tools.places) ?? ""), { recursive: true });
  expect(await first.restored()).toBe("broken");
});

test.skipIf(!hasDaemon)("a lineage that began while the one before was inspected is not marked as whole", async () => {
  using at = await makeReplicated();
  const pombo = await at.open("data");
  await pombo.lineages.prepare(null);
  await pombo.copy("1");
  const inspected = await pombo.lineages.inspect();
  await pombo.renew();
  await pombo.lineages.settle(inspected.kind === "backup" ? inspected.lineage : "");
  expect(await pombo.catalog()).toMatchObject([{ wholeAt: at.clock.now() }, { wholeAt: null }]);
});

test.skipIf(!hasDaemon)(
  "the same lineage goes on after an end of any kind; an id sorts last, whatever the clock",
  async () => {
    using at = await makeReplicated();
    const pombo = await at.open("data");
    for (let start = 0; start < 3; start += 1) {
      expect(await pombo.lineages.prepare(null)).toBeNull();
      await pombo.copy(`${start}`);
    }
    expect(await pombo.catalog()).toHaveLength(1);
    at.clock.advance(-1_000 * HOUR_MS);
    await pombo.renew();
    const ids = (await pombo.catalog()).map(({ id }) => id);
    expect([ids.length, ids]).toEqual([2, ids.toSorted()]);
    expect(findLocalLineage(pombo.tools.places)).toBe(ids[1] ?? "");
  },
);

test.skipIf(!hasDaemon)(
  "an older lineage is deleted past the retention, counted from when the new one was whole",
  async () => {
    using at = await makeReplicated();
    const pombo = await at.open("data");
    await pombo.lineages.prepare(null);
    await pombo.copy("1");
    await pombo.settle();
    await pombo.renew();
    at.clock.advance(2 * RETENTION_MS);
    const [older = "", newer = ""] = (await pombo.catalog()).map(({ id }) => id);
    await pombo.copy("2");
    await pombo.settle();
    expect(readdirSync(at.url).toSorted()).toEqual([older, newer, "catalog"].toSorted());
    at.clock.advance(RETENTION_MS);
    await pombo.settle();
    await waitUntil("it is deleted", LIMIT_MS, async () => (await pombo.catalog()).length === 1);
    expect(readdirSync(at.url).toSorted()).toEqual([newer, "catalog"].toSorted());
    expect(await pombo.catalog()).toMatchObject([{ id: newer }]);
    expect(await pombo.restored()).toEqual(["1", "2"]);
  },
);

test.skipIf(!hasDaemon)(
  "while the replica cannot be seen, or not be written, no lineage is begun and no daemon runs",
  async () => {
    using at = await makeReplicated();
    const pombo = await at.open("data");
    writeFileSync(at.url, "in the way");
    expect(await pombo.lineages.prepare(null)).toContain("not a directory");
    rmSync(at.url);
    expect(await pombo.lineages.prepare(null)).toBeNull();
    await pombo.copy("1");
    const { run } = pombo.tools;
    pombo.tools.run = (words, ...rest) =>
      words[0] === "replicate"
        ? Promise.resolve({ code: 1, out: "", err: "Error: no space left" })
        : run(words, ...rest);
    const current = findLocalLineage(pombo.tools.places);
    expect(await pombo.renew()).toBe("no space left");
    expect(findLocalLineage(pombo.tools.places)).toBe(current);
    expect(await pombo.catalog()).toHaveLength(1);
    expect(existsSync(pombo.tools.places.config)).toBe(true);
  },
);

test.skipIf(!hasDaemon)(
  "new lineages are begun later each time, until one is whole; what they left is deleted",
  async () => {
    using at = await makeReplicated();
    const pombo = await at.open("data");
    const begins = async () => (await pombo.lineages.prepare("it is damaged")) === null;
    expect(await pombo.lineages.prepare(null)).toBeNull();
    await pombo.copy("1");
    await pombo.settle();
    const [whole] = await pombo.catalog();
    expect(await begins()).toBe(true);
    const MINUTE_MS = 60_000;
    for (const minutes of [10, 20, 40]) {
      expect(await pombo.lineages.prepare("it is damaged")).toContain(`a new lineage is begun in ${minutes} minutes`);
      at.steady.advance((minutes - 1) * MINUTE_MS);
      // A clock that was set changes nothing.
      at.clock.advance(-HOUR_MS);
      expect([pombo.lineages.renewalWaitMs, await begins()]).toEqual([MINUTE_MS, false]);
      at.steady.advance(MINUTE_MS);
      expect([pombo.lineages.renewalWaitMs, await begins()]).toEqual([0, true]);
    }
    // Of the four that were begun three never held anything; what is whole remains.
    const listed = async () => (await pombo.catalog()).map(({ id }) => id);
    const here = () => findLocalLineage(pombo.tools.places) ?? "";
    await waitUntil("they are deleted", LIMIT_MS, async () => (await listed()).length === 2);
    expect(await listed()).toEqual([whole?.id ?? "", here()]);
    expect(await pombo.restored()).toEqual(["1"]);
    await pombo.copy("2");
    await pombo.settle();
    // One that is damaged again and again as soon as it is whole would fill the replica too.
    expect(await begins()).toBe(false);
    at.steady.advance(160 * MINUTE_MS);
    await pombo.settle();
    expect(await begins()).toBe(true);
    await pombo.copy("3");
    await pombo.settle();
    expect([await begins(), await begins()]).toEqual([true, false]);
  },
);

test.skipIf(!hasDaemon)(
  "the lineage after the first of an empty replica does not wait, though that one was never whole",
  async () => {
    using at = await makeReplicated();
    const pombo = await at.open("data");
    expect(await pombo.lineages.prepare(null)).toBeNull();
    expect(await pombo.lineages.prepare("it is damaged")).toBeNull();
    expect(await pombo.lineages.prepare("it is damaged")).toContain("a new lineage is begun in 10 minutes");
  },
);

test.skipIf(!hasDaemon)(
  "a begin whose list arrived, though its write was told as failed, is no older state at the next start",
  async () => {
    using at = await makeReplicated();
    const pombo = await at.open("data");
    expect(await pombo.lineages.prepare(null)).toBeNull();
    const { run } = pombo.tools;
    pombo.tools.run = async (words, ...rest) => {
      const done = await run(words, ...rest);
      return words[0] === "replicate" ? { code: 1, out: "", err: "Error: the answer was lost" } : done;
    };
    expect(await pombo.renew()).toBe("the answer was lost");
    pombo.tools.run = run;
    const newest = (await pombo.catalog()).at(-1)?.id ?? "";
    expect(await pombo.catalog()).toHaveLength(2);
    expect(findLocalLineage(pombo.tools.places)).toBe(newest);
  },
);

test.skipIf(!hasDaemon)("a deletion that hangs holds up no daemon, and is done later", async () => {
  using at = await makeReplicated();
  const pombo = await at.open("data");
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  await using service = Bun.serve({
    port: 0,
    async fetch() {
      asked.resolve();
      await answer.promise;
      return new Response("<ListBucketResult></ListBucketResult>");
    },
  });
  await pombo.lineages.prepare(null);
  await pombo.copy("1");
  await pombo.settle();
  await pombo.renew();
  await pombo.copy("2");
  await pombo.settle();
  const [older, newer] = await pombo.catalog();
  deleteInBucket(pombo.tools, at.url, { endpoint: service.url.origin, keys: KEYS });
  at.clock.advance(2 * RETENTION_MS);
  await pombo.settle();
  await asked.promise;
  expect(await pombo.lineages.prepare(null)).toBeNull();
  expect(await pombo.catalog()).toEqual([older!, newer!]);
  answer.resolve();
  await waitUntil("it is gone", LIMIT_MS, async () => (await pombo.catalog()).length === 1);
});

test.skipIf(!hasDaemon)("where pombo cannot delete, the log names what the operator has to", async () => {
  using at = await makeReplicated();
  const pombo = await at.open("data");
  await pombo.lineages.prepare(null);
  await pombo.copy("1");
  await pombo.settle();
  await pombo.renew();
  await pombo.copy("2");
  await pombo.settle();
  const [older, newer] = await pombo.catalog();
  deleteInBucket(pombo.tools, at.url, { endpoint: "http://127.0.0.1:9", keys: {} });
  at.clock.advance(2 * RETENTION_MS);
  await pombo.settle();
  await waitUntil("it is not listed", LIMIT_MS, async () => (await pombo.catalog()).length === 1);
  expect(await pombo.catalog()).toMatchObject([{ id: newer!.id }]);
  const told = at.events.find(({ name }) => name === "replication.lineage_expired")?.fields;
  expect(told?.["words"]).toBe(`pombo cannot delete there: delete the folder or prefix s3://copies/pombo/${older!.id}`);
  expect(readdirSync(at.url)).toContain(older!.id);
});

test("a service that does not answer ends a deletion at its limit", async () => {
  await using service = Bun.serve({ port: 0, fetch: () => new Promise<Response>(() => undefined) });
  const replication = { url: "s3://copies/pombo", endpoint: service.url.origin, region: "x" } as ReplicationConfig;
  const tools = { replication, environment: KEYS } as unknown as DaemonTools;
  await expect(deletePrefix(tools, "a", 300)).rejects.toThrow("did not end within 0.3 s");
});

test.skipIf(!hasDaemon)("a begin that is cut off leaves nothing here that is older than the catalog says", async () => {
  using at = await makeReplicated();
  const pombo = await at.open("data");
  await pombo.lineages.prepare(null);
  const { run } = pombo.tools;
  let isWritten = false;
  pombo.tools.run = (words, ...rest) => {
    if (isWritten) throw new Error("cut off");
    isWritten = words[0] === "replicate";
    return run(words, ...rest);
  };
  await expect(pombo.renew()).rejects.toThrow("cut off");
  pombo.tools.run = run;
  const [, newest] = await pombo.catalog();
  expect(findLocalLineage(pombo.tools.places)).toBe(newest?.id ?? "");
});
