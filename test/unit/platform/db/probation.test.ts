import { beforeEach, expect, test } from "bun:test";
import { Committer } from "../../../../src/platform/db/group-commit.ts";
import { type Db, openDatabase } from "../../../../src/platform/db/open.ts";
import { UpdateProbation } from "../../../../src/platform/db/update-probation.ts";
import { type InstanceSettings, openInstanceSettings } from "../../../../src/platform/db/instance-settings.ts";

let db: Db;
let settings: InstanceSettings;
let committer: Committer;
beforeEach(() => {
  db = openDatabase(":memory:");
  settings = openInstanceSettings(db);
  settings.set("update_probation", "an update");
  db.listeners.push(new UpdateProbation(db, settings));
  committer = new Committer(db);
});

const probation = () => settings.get("update_probation");
const change = () => settings.set("operator_key_hash", "1");

test("what only reads leaves the probation on, and the first change ends it in its own transaction", async () => {
  await committer.commit(() => probation());
  expect(probation()).toBe("an update");
  await committer.commit(() => {
    change();
    expect(probation()).toBe("an update");
  });
  expect(probation()).toBe("");
});

test("a change that is rolled back is none: alone, beside others, and with its whole transaction", async () => {
  const refused = () => {
    change();
    throw new Error("refused");
  };
  await expect(committer.commit(refused)).rejects.toThrow("refused");
  await Promise.allSettled([committer.commit(refused), committer.commit(() => probation()), committer.commit(refused)]);
  db.sqlite.run("CREATE TEMP TRIGGER full BEFORE UPDATE ON instance BEGIN SELECT RAISE(ROLLBACK, 'full'); END");
  await Promise.allSettled([committer.commit(() => settings.set("update_probation", "changed"))]);
  db.sqlite.run("DROP TRIGGER full");
  expect(probation()).toBe("an update");
  await committer.commit(() => probation());
  expect(probation()).toBe("an update");
  await Promise.allSettled([committer.commit(refused), committer.commit(change)]);
  expect(probation()).toBe("");
});

test("it ends once", async () => {
  await committer.commit(change);
  settings.set("update_probation", "another");
  await committer.commit(change);
  expect(probation()).toBe("another");
});

test("what every start notes about itself is no change", async () => {
  await committer.commit(() => settings.set("marker", "{}"));
  await Promise.all([
    committer.commit(() => settings.set("last_write", "1")),
    committer.commit(() => settings.set("marker", "{ }")),
  ]);
  expect(probation()).toBe("an update");
  await committer.commit(change);
  expect(probation()).toBe("");
});
