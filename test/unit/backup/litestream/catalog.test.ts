// The catalog of lineages: damaged, written by another, read by an instance that runs.
import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { writeCatalog } from "../../../../src/backup/litestream/catalog.ts";
import { getDaemonVersion } from "../../../../src/backup/litestream/executable.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { newId } from "../../../../src/platform/uuid.ts";
import { HOUR_MS, LIMIT_MS, makeReplicated, RETENTION_MS } from "./folder-replica.ts";

setDefaultTimeout(60_000);

const hasDaemon = getDaemonVersion() !== null;

test.skipIf(!hasDaemon)("a lineage that another writer of the catalog has dropped is listed again", async () => {
  using at = await makeReplicated();
  const pombo = await at.open("data");
  await pombo.lineages.prepare(null);
  await pombo.copy("0");
  const before = await pombo.catalog();
  await pombo.renew();
  await pombo.copy("1");
  const both = await pombo.catalog();
  expect(await writeCatalog(pombo.tools, before, LIMIT_MS)).toBeNull();
  expect(await pombo.restored()).toEqual(["0"]);
  await pombo.settle();
  expect((await pombo.catalog()).map(({ id }) => id)).toEqual(both.map(({ id }) => id));
  expect(await pombo.restored()).toEqual(["0", "1"]);
});

test.skipIf(!hasDaemon)("a catalog damaged while pombo runs is written anew from the list last read", async () => {
  using at = await makeReplicated();
  const pombo = await at.open("data");
  await pombo.lineages.prepare(null);
  await pombo.copy("1");
  await pombo.settle();
  const listed = await pombo.catalog();
  const folder = join(at.url, "catalog");
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }))
    if (name.endsWith(".ltx")) truncateSync(join(folder, name), 100);
  expect(await pombo.restored()).toBe("broken");
  at.clock.advance(HOUR_MS);
  // One failed read may be a moment's.
  for (let minute = 0; minute < 2; minute += 1) await pombo.settle();
  expect([await pombo.restored(), pombo.lineages.issue]).toEqual(["broken", null]);
  // Where the daemon may not write, the operator is asked.
  const { run } = pombo.tools;
  pombo.tools.run = (words, ...rest) =>
    words[0] === "replicate" ? Promise.resolve({ code: 1, out: "", err: "Error: no space left" }) : run(words, ...rest);
  await pombo.settle();
  expect(pombo.lineages.issue?.reason).toContain("Delete the folder or prefix catalog");
  pombo.tools.run = run;
  await pombo.settle();
  expect(await pombo.catalog()).toEqual(listed);
  expect(await pombo.restored()).toEqual(["1"]);
  expect(pombo.lineages.issue).toBeNull();
});

test.skipIf(!hasDaemon)("the catalog is read each hour, and when another has written it", async () => {
  using at = await makeReplicated();
  const pombo = await at.open("data");
  await pombo.lineages.prepare(null);
  await pombo.copy("1");
  for (let minute = 0; minute < 3; minute += 1) await pombo.settle();
  const { run } = pombo.tools;
  let reads = 0;
  pombo.tools.run = (words, ...rest) => {
    if (words.includes("-if-replica-exists")) reads += 1;
    return run(words, ...rest);
  };
  const readsOf = async () => {
    reads = 0;
    await pombo.settle();
    return reads;
  };
  expect(await readsOf()).toBe(0);
  at.clock.advance(HOUR_MS);
  expect([await readsOf(), await readsOf()]).toEqual([1, 0]);
  expect(await writeCatalog((await at.open("other")).tools, await pombo.catalog(), LIMIT_MS)).toBeNull();
  expect([await readsOf(), await readsOf()]).toEqual([1, 0]);
});

for (const [who, words] of [
  ["another instance", "Another instance of pombo (on vm2) writes to the replica"],
  ["another copy of this instance", "Another copy of this instance (on vm2) runs"],
] as const) {
  test.skipIf(!hasDaemon)(
    `${who} that begins to write to the replica is an issue, and nothing is deleted`,
    async () => {
      using at = await makeReplicated();
      const pombo = await at.open("data");
      await pombo.lineages.prepare(null);
      await pombo.copy("1");
      await pombo.settle();
      expect(pombo.lineages.issue).toBeNull();
      const [own] = await pombo.catalog();
      const instance = who === "another instance" ? "j" : "i";
      const id = newId(at.clock.now() + 1, systemRandom);
      const other = { ...own!, id, instance, boot: "x", host: "vm2", wholeAt: at.clock.now() };
      expect(await writeCatalog(pombo.tools, [own!, other], LIMIT_MS)).toBeNull();
      await pombo.settle();
      expect(pombo.lineages.issue).toMatchObject({ component: "replication", isAdvisory: true });
      expect(pombo.lineages.issue?.reason).toContain(words);
      expect(pombo.lineages.issue?.reason).toContain("pombo serve --take-over");
      at.clock.advance(2 * RETENTION_MS);
      await pombo.settle();
      expect(await pombo.catalog()).toEqual([own!, other]);
      expect(readdirSync(at.url)).toContain(own!.id);
      // The other one is gone from the list: nothing is wrong any more.
      expect(await writeCatalog(pombo.tools, [own!], LIMIT_MS)).toBeNull();
      await pombo.settle();
      expect(pombo.lineages.issue).toBeNull();
    },
  );
}

for (const removed of ["ltx/0", "ltx/9", "ltx"]) {
  test.skipIf(!hasDaemon)(
    `a catalog that lost ${removed} is read or written anew, and no restore finds an older one`,
    async () => {
      using at = await makeReplicated();
      const pombo = await at.open("data");
      for (let count = 0; count < 3; count += 1) {
        await pombo.renew();
        await pombo.copy("1");
      }
      await pombo.settle();
      rmSync(join(at.url, "catalog", removed), { recursive: true });
      // Where all its files are gone it is read three times, and then written anew with all that it listed.
      for (let read = 0; read < 2 && removed === "ltx"; read += 1) expect(await pombo.renew()).toContain("it is empty");
      expect(await pombo.renew()).toBeNull();
      expect(await pombo.catalog()).toHaveLength(4);
      await pombo.copy("2");
      expect(await pombo.restored()).toEqual(["1", "1", "1", "2"]);
    },
  );
}
