import { expect, test } from "bun:test";
import { instance } from "../../../../../src/platform/db/schema/schema.ts";
import { type TemporaryDatabase, temporaryDatabase, turn } from "../../../../support/db/temporary.ts";

// Which closures share a transaction, and when they are run a second time.

const insert = (of: TemporaryDatabase, name: string) => of.db.orm.insert(instance).values({ name, value: "" }).run();

const names = (of: TemporaryDatabase) =>
  of.db.orm
    .select({ name: instance.name })
    .from(instance)
    .all()
    .map((row) => row.name);

test("a closure that throws has its neighbours run again, and those after it for a while run once", async () => {
  using of = temporaryDatabase();
  const { commit } = of.committer;
  let runs = 0;
  const beside = async () => {
    const neighbour = commit(() => {
      runs += 1;
      insert(of, `neighbour ${runs}`);
    });
    const thrown = commit(() => {
      insert(of, "gone");
      throw new Error("no");
    });
    await Promise.allSettled([neighbour, thrown]);
    return runs;
  };
  expect(await beside()).toBe(2);
  for (let batch = 0; batch < 63; batch++) expect(await beside()).toBe(3 + batch);
  // That was the last of them: from here on it is believed again that nobody throws.
  expect(await beside()).toBe(67);
  expect(names(of)).toHaveLength(65);
  expect(names(of)).not.toContain("gone");
});

test("a transaction waits for the next turns while each brings more, and then no longer", async () => {
  // It waits for five milliseconds at the most, which a turn of a busy machine may take alone: once in many is enough.
  const seen: number[][] = [];
  while (seen.length < 50 && seen.at(-1)?.length !== 1) {
    const batches: number[] = [];
    using of = temporaryDatabase({ committed: (_, closures) => batches.push(closures) });
    const { commit } = of.committer;
    const all: Promise<void>[] = [];
    for (const amount of [3, 2, 1]) {
      for (let i = 0; i < amount; i++) {
        const name = `row ${all.length}`;
        all.push(commit(() => void insert(of, name)));
      }
      await turn();
    }
    await Promise.all(all);
    seen.push(batches);
  }
  expect(seen.at(-1)).toEqual([6]);
});

test("a closure alone waits for nobody", async () => {
  const batches: number[] = [];
  using of = temporaryDatabase({ committed: (_, closures) => batches.push(closures) });
  const { commit } = of.committer;
  const first = commit(() => insert(of, "first"));
  await turn();
  const second = commit(() => insert(of, "second"));
  await Promise.all([first, second]);
  expect(batches).toEqual([1, 1]);
});

test("closures that come turn after turn keep nobody waiting for more than some milliseconds", async () => {
  const batches: number[] = [];
  let now = 0;
  using of = temporaryDatabase({ committed: (_, closures) => batches.push(closures), now: () => now });
  const { commit } = of.committer;
  const all = [commit(() => insert(of, "row 0"))];
  while (batches.length === 0 && now < 100) {
    const name = `row ${all.length}`;
    all.push(commit(() => insert(of, name)));
    // Each turn takes a millisecond.
    now += 1;
    await turn();
  }
  expect(now).toBeLessThan(10);
  await Promise.all(all);
});

test("a closure that must not wait takes with it what is queued, and is told of first", async () => {
  const batches: number[] = [];
  using of = temporaryDatabase({ committed: (_, closures) => batches.push(closures) });
  const { commit, commitSoon } = of.committer;
  const told: string[] = [];
  const tell = (name: string) => () => void told.push(name);
  const all = [
    commit(() => insert(of, "first")).then(tell("first")),
    commit(() => insert(of, "second")).then(tell("second")),
  ];
  // Its turn brings more: without the next one it would go on gathering.
  await turn();
  all.push(commit(() => insert(of, "third")).then(tell("third")));
  all.push(commitSoon(() => insert(of, "soon")).then(tell("soon")));
  await turn();
  expect(batches).toEqual([4]);
  await Promise.all(all);
  expect(told[0]).toBe("soon");
  expect(names(of)).toHaveLength(4);
});

test("a closure alone that throws leaves nothing behind, and is run once", async () => {
  using of = temporaryDatabase();
  const { commit } = of.committer;
  let runs = 0;
  const thrown = commit(() => {
    runs += 1;
    insert(of, "gone");
    throw new Error("no");
  });
  await expect(thrown).rejects.toThrow("no");
  await commit(() => insert(of, "kept"));
  expect([runs, names(of)]).toEqual([1, ["kept"]]);
});
