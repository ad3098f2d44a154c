import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { OutcomeJournal } from "../../../../src/platform/queue/outcome-journal.ts";

let folder = "";
let file = "";
const events: string[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pombo-outcomes-"));
  file = join(folder, "outcomes.journal");
  events.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** As a start opens it; what an earlier one has left is there, killed or not. */
function openJournal(): OutcomeJournal {
  const journal = new OutcomeJournal(file, { event: (name) => void events.push(name) });
  journal.open();
  return journal;
}

const attempt = (id: number) => ({ id, attempt: 2, startedAt: 1_000 });
const row = (id: number, changes = {}) => ({ id, attempts: 2, startedAt: 1_000, ...changes });

describe("an outcome", () => {
  test("is there after a kill, for its very attempt only", () => {
    openJournal().add(attempt(7), "delivered");
    const next = openJournal();
    expect(next.find(row(7))).toBe("delivered");
    for (const other of [row(8), row(7, { attempts: 3 }), row(7, { startedAt: 999 }), row(7, { startedAt: null })])
      expect(next.find(other)).toBeNull();
  });

  test("is gone once it is recorded, or once its row is no longer in flight, and its place is used again", () => {
    const journal = openJournal();
    const { size } = statSync(file);
    for (let id = 1; id <= 3_000; id += 1) {
      journal.add(attempt(id), "delivered");
      journal.remove(id);
    }
    journal.add(attempt(1), "one");
    journal.add(attempt(2), "two");
    journal.retain(new Set([2]));
    const next = openJournal();
    expect([next.find(row(1)), next.find(row(2))]).toEqual([null, "two"]);
    expect(statSync(file).size).toBe(size);
  });

  test("beyond what there is place for is not kept, and neither is one that is too long", () => {
    const journal = openJournal();
    journal.add(attempt(1), "x".repeat(3_000));
    for (let id = 2; id <= 1_100; id += 1) journal.add(attempt(id), "delivered");
    const next = openJournal();
    expect(next.find(row(1))).toBeNull();
    expect(next.find(row(1_025))).toBe("delivered");
    expect(next.find(row(1_026))).toBeNull();
  });
});

test("the file has all its blocks from the first use on, and only its owner reads it", () => {
  openJournal();
  const { blocks, size, mode } = statSync(file);
  expect(blocks * 512).toBeGreaterThanOrEqual(size);
  expect(mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(["outcomes.journal"]);
});

test("an entry that was cut off is no entry, and a file of another size is made anew", () => {
  const journal = openJournal();
  journal.add(attempt(1), "one");
  const bytes = readFileSync(file);
  bytes.fill("\n", 20, 2_048);
  writeFileSync(file, bytes);
  expect(openJournal().find(row(1))).toBeNull();
  truncateSync(file, 100);
  const next = openJournal();
  next.add(attempt(1), "one");
  expect(openJournal().find(row(1))).toBe("one");
});

test("where the file cannot be used nothing is kept, which is logged", () => {
  symlinkSync("/dev/null", file);
  const journal = openJournal();
  journal.add(attempt(1), "one");
  expect(journal.find(row(1))).toBeNull();
  expect(events[0]).toBe("outcomes.unwritable");
});
