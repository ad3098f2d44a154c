import { expect, test } from "bun:test";
import { ReplicaProgress } from "../../../src/backup/replica-progress.ts";

const LIMIT_MS = 1_000;

/** A database, and a daemon that copies it, or is blind. */
function start() {
  const at = { lineage: "a" as string | null, changes: 0, transaction: 5, copied: 5, isBlind: false, isAway: false };
  const events: string[] = [];
  const commit = () => {
    at.changes += 1;
    at.transaction += 1;
  };
  const progress = new ReplicaProgress({
    sync() {
      if (!at.isBlind) at.copied = at.transaction;
      return Promise.resolve(at.isAway ? null : at.copied);
    },
    lineage: () => at.lineage,
    changes: () => at.changes,
    change: () => Promise.resolve(commit()),
    log: { event: (name) => void events.push(name) },
  });
  return { at, events, commit, advance: () => progress.advance(LIMIT_MS) };
}

test("what is copied is in the lineage that is written to", async () => {
  const { advance, commit } = start();
  expect(await advance()).toBe("a");
  commit();
  expect(await advance()).toBe("a");
  expect(await advance()).toBe("a");
});

test("a daemon that sees no change is not believed, from its first word on, nor later", async () => {
  const early = start();
  early.at.isBlind = true;
  expect(await early.advance()).toBe(null);
  const late = start();
  expect(await late.advance()).toBe("a");
  late.at.isBlind = true;
  late.commit();
  expect(await late.advance()).toBe(null);
  expect(await late.advance()).toBe(null);
  expect(late.events).toEqual(["replication.blind"]);
  late.at.isBlind = false;
  expect(await late.advance()).toBe("a");
});

test("rows that were changed and rolled back are no reason to doubt", async () => {
  const { at, advance, events } = start();
  expect(await advance()).toBe("a");
  at.changes += 3;
  expect(await advance()).toBe("a");
  expect(events).toEqual([]);
});

test("without a daemon, without a lineage, and while the lineage changes nothing is known", async () => {
  const { at, advance } = start();
  at.isAway = true;
  expect(await advance()).toBe(null);
  at.isAway = false;
  at.lineage = null;
  expect(await advance()).toBe(null);
  at.lineage = "b";
  const advanced = advance();
  at.lineage = "c";
  expect(await advanced).toBe(null);
  expect(await advance()).toBe("c");
});
