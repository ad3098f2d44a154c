// When a machine may work without the lease, and when it may take it again afterwards.
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  bringAloneDatabase,
  noteStartWithoutLease,
  readAloneWish,
  removeAloneWish,
  requireNoSplit,
  writeAloneWish,
} from "../../../../src/backup/standby/alone.ts";
import type { LeaseRecord } from "../../../../src/backup/standby/lease.ts";
import { type Alone, newNode, readNodeState, writeNodeState } from "../../../../src/backup/standby/node-file.ts";
import type { TakeoverDeps } from "../../../../src/backup/standby/takeover.ts";
import type { LeaseObject } from "../../../../src/backup/standby/lease-object.ts";
import { getErrorMessage } from "../../../../src/platform/errors.ts";
import { defaultConfig } from "../../../../src/config/config.ts";

const RECORD: LeaseRecord = {
  ...{ term: 4, node: "b", host: "b.test", keyCheck: "k", lineage: "", isReleased: false, nonce: "theirs" },
};

const BEHIND_THEIRS: Alone = { after: "theirs", term: null, isStarted: false };
const UNREAD: Alone = { after: null, term: null, isStarted: true };

function inFolder<T>(use: (dataDir: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "pombo-alone-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const value = use(folder);
  if (value instanceof Promise) return value.finally(remove) as T;
  remove();
  return value;
}

/** `seen`: what the bucket answers; "away": nothing. */
function bring(
  dataDir: string,
  seen: LeaseRecord | null | "away",
  options: { isNewest?: boolean; hasDatabase?: boolean },
) {
  const { isNewest = false, hasDatabase = true } = options;
  if (hasDatabase) writeFileSync(join(dataDir, "pombo.db"), "");
  const object: LeaseObject = {
    async read() {
      if (seen === "away") throw new Error("no answer");
      return seen === null ? null : { etag: "", record: seen };
    },
    write: () => Promise.reject(new Error("nobody writes")),
  };
  const config = defaultConfig({ hostname: "mail.pombo.test", dataDir });
  // A record without a lineage: nothing is to be restored.
  const deps = { config, object } as unknown as TakeoverDeps & { object: LeaseObject };
  return bringAloneDatabase(readNodeState(dataDir) ?? newNode("a"), { isNewest }, deps);
}

test("without the bucket only a person can know which database is the newest", () =>
  inFolder(async (dataDir) => {
    const refused = await bring(dataDir, "away", {}).catch(getErrorMessage);
    expect(refused).toContain("--this-database-is-newest");
    expect(await bring(dataDir, "away", { isNewest: true })).toEqual({ after: null, term: null, isStarted: false });
  }));

test("a word about a database that is not there is not taken", () =>
  inFolder(async (dataDir) => {
    const asked = bring(dataDir, "away", { isNewest: true, hasDatabase: false });
    expect(await asked.catch(getErrorMessage)).toContain("cannot be read");
    expect(await bring(dataDir, null, { hasDatabase: false }).catch(getErrorMessage)).toContain(
      "there is no database, neither here nor in the replica",
    );
  }));

test("it remembers behind which record it went on, also over its own restarts", () =>
  inFolder(async (dataDir) => {
    const alone = await bring(dataDir, RECORD, { isNewest: true });
    expect(alone).toEqual(BEHIND_THEIRS);
    writeNodeState(dataDir, { ...newNode("a"), alone });
    expect(await bring(dataDir, "away", {})).toEqual(BEHIND_THEIRS);
    expect(await bring(dataDir, { ...RECORD, nonce: "another" }, {})).toEqual(BEHIND_THEIRS);
  }));

test("the lease is taken again only if no other machine has had it since", () => {
  const state = { ...newNode("a"), alone: BEHIND_THEIRS };
  requireNoSplit(newNode("a"), RECORD, false);
  requireNoSplit(state, null, false);
  requireNoSplit(state, RECORD, false);
  requireNoSplit({ ...state, alone: UNREAD }, RECORD, true);
  // The other had it when the bucket went away, and nobody since.
  requireNoSplit({ ...state, alone: { ...UNREAD, term: 4 } }, { ...RECORD, nonce: "renewed" }, false);
  expect(() => requireNoSplit({ ...state, alone: { ...UNREAD, term: 3 } }, RECORD, false)).toThrow("b.test");
  expect(() => requireNoSplit(state, { ...RECORD, nonce: "later" }, false)).toThrow(
    "b.test has had the lease since (term 4)",
  );
  expect(() => requireNoSplit({ ...state, alone: UNREAD }, RECORD, false)).toThrow("the other does not know");
});

test("a start without [standby] on such a machine is working alone, and on any other it is nothing", () =>
  inFolder((dataDir) => {
    noteStartWithoutLease(dataDir);
    expect(readNodeState(dataDir)).toBeNull();
    writeNodeState(dataDir, { ...newNode("a"), term: 3, nonces: ["own"] });
    noteStartWithoutLease(dataDir);
    expect(readNodeState(dataDir)).toEqual({
      ...{ node: "a", term: 3, nonces: ["own"], seen: null },
      alone: { after: null, term: null, isStarted: true },
    });
    writeNodeState(dataDir, { ...newNode("a"), alone: BEHIND_THEIRS });
    noteStartWithoutLease(dataDir);
    expect(readNodeState(dataDir)?.alone).toEqual(BEHIND_THEIRS);
  }));

test("the wish holds until it is taken back, and half a one starts nothing", () =>
  inFolder((dataDir) => {
    expect(readAloneWish(dataDir)).toBeNull();
    writeAloneWish(dataDir, { isNewest: true });
    expect(readAloneWish(dataDir)).toEqual({ isNewest: true });
    expect([removeAloneWish(dataDir), removeAloneWish(dataDir)]).toEqual([true, false]);
    writeFileSync(join(dataDir, "standby-alone.json"), '{"isNew');
    expect(() => readAloneWish(dataDir)).toThrow("Run pombo standby alone again, or delete it");
  }));
