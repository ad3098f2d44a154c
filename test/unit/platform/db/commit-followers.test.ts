import { expect, test } from "bun:test";
import { instance } from "../../../../src/platform/db/schema/schema.ts";
import type { StorageError } from "../../../../src/platform/db/storage-error.ts";
import type { TransactionListener } from "../../../../src/platform/db/open.ts";
import { type TemporaryDatabase, temporaryDatabase } from "../../../support/db/temporary.ts";

// What followers write before the COMMIT is the closures' own: a bug there is one closure's, not the storage's.

const insert = (of: TemporaryDatabase, name: string) => of.db.orm.insert(instance).values({ name, value: "" }).run();

const names = (of: TemporaryDatabase) =>
  of.db.orm
    .select({ name: instance.name })
    .from(instance)
    .all()
    .map((row) => row.name);

/** Writes before the COMMIT what the closures of a batch have noted. */
class Notes implements TransactionListener {
  readonly #write: (name: string) => void;
  #ofClosure: string[] = [];
  #ofBatch: string[] = [];
  onCommit?: () => void;

  constructor(write: (name: string) => void) {
    this.#write = write;
  }

  note(name: string): void {
    this.#ofClosure.push(name);
  }

  onRelease(): void {
    this.#ofBatch.push(...this.#ofClosure);
    this.#ofClosure = [];
  }

  onRollbackTo(): void {
    this.#ofClosure = [];
  }

  beforeCommit(): void {
    for (const name of this.#ofBatch.splice(0)) this.#write(name);
  }

  onRollback(): void {
    this.onRollbackTo();
    this.#ofBatch = [];
  }
}

function followed(poison: string, error = new TypeError("a bug")) {
  const failures: StorageError[] = [];
  const batches: number[] = [];
  const bugs: unknown[] = [];
  const of = temporaryDatabase({
    failed: (failure) => failures.push(failure),
    committed: (_, closures) => batches.push(closures),
    internalError: (bug) => bugs.push(bug),
  });
  const notes = new Notes((name) => {
    if (name === poison) throw error;
    insert(of, `of ${name}`);
  });
  of.db.listeners.push(notes);
  const order: string[] = [];
  const commit = (name: string) =>
    of.committer.commit(() => {
      insert(of, name);
      notes.note(name);
      order.push(name);
    });
  return { of, failures, batches, bugs, notes, order, commit, error };
}

test("of 300 closures the one whose follower has a bug rejects with it, the others are written, and no storage is to blame", async () => {
  const { of, failures, batches, commit, error } = followed("211");
  using _ = of;
  const all = Array.from({ length: 300 }, (__, i) => `${i}`);
  const ends = await Promise.allSettled(all.map(commit));
  const rejected = ends.flatMap((end, i) => (end.status === "rejected" ? [[i, end.reason as unknown]] : []));
  expect(rejected).toEqual([[211, error]]);
  expect(names(of).toSorted()).toEqual(
    all
      .filter((name) => name !== "211")
      .flatMap((name) => [name, `of ${name}`])
      .toSorted(),
  );
  expect(failures).toEqual([]);
  // One after the other would be a transaction each.
  expect(batches.length).toBeLessThan(20);
});

test("they are written in the order in which they came, and the next batches are whole again", async () => {
  const { of, batches, order, commit } = followed("5");
  using _ = of;
  await Promise.allSettled(Array.from({ length: 16 }, (__, i) => commit(`${i}`)));
  const last = new Map(order.map((name, at) => [name, at]));
  const at = (i: number) => last.get(`${i}`) ?? -1;
  for (let i = 1; i < 16; i++) expect(at(i)).toBeGreaterThan(at(i - 1));
  batches.length = 0;
  await Promise.all(Array.from({ length: 64 }, (__, i) => commit(`next ${i}`)));
  await Promise.all(Array.from({ length: 64 }, (__, i) => commit(`last ${i}`)));
  expect(batches.slice(-1)).toEqual([64]);
});

test("one alone rejects at once, and nothing of it is kept", async () => {
  const { of, failures, commit, error } = followed("alone");
  using _ = of;
  expect(await commit("alone").catch((thrown: unknown) => thrown)).toBe(error);
  expect([names(of), failures]).toEqual([[], []]);
  await commit("next");
  expect(names(of)).toEqual(["next", "of next"]);
});

test("storage that fails under a follower is trouble with the storage", async () => {
  const { of, failures, commit } = followed("none");
  using _ = of;
  of.db.sqlite.run("PRAGMA query_only = 1");
  const ends = await Promise.allSettled([commit("a"), commit("b")]);
  of.db.sqlite.run("PRAGMA query_only = 0");
  expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(failures).toHaveLength(1);
});

test("a follower that throws when all is durable keeps nobody waiting, and is told as a bug", async () => {
  const { of, bugs, notes, commit, failures, error } = followed("none");
  using _ = of;
  notes.onCommit = () => {
    throw error;
  };
  await commit("a");
  expect([names(of), bugs, failures]).toEqual([["a", "of a"], [error], []]);
});
