import { expect, test } from "bun:test";
import { Checkpoints, checkpointLog } from "../../../../src/platform/db/checkpoints.ts";
import { Committer } from "../../../../src/platform/db/group-commit.ts";
import { takeOverSync } from "../../../../src/platform/db/log-sync.ts";
import { instance } from "../../../../src/platform/db/schema/schema.ts";
import { answerCalls, type Calls, type OpenThread } from "../../../../src/platform/worker-threads/worker-thread.ts";
import { openThread } from "../../../../src/server/start-mail-worker.ts";
import { temporaryDatabase, type TemporaryDatabase } from "../../../support/db/temporary.ts";

/** Two thousand pages. */
const BIG = "x".repeat(8_000_000);

interface LogState {
  log: number;
  checkpointed: number;
}

function open(of: TemporaryDatabase, thread: OpenThread) {
  const { sqlite } = of.db;
  const log = { event: () => undefined };
  const checkpoints = new Checkpoints({ sqlite, databaseFile: of.file, openThread: thread, log });
  of.db.listeners.push(checkpoints);
  const sync = takeOverSync(sqlite);
  const { commit } = new Committer(of.db, {}, sync);
  const select = sqlite.prepare<LogState, []>("PRAGMA wal_checkpoint(NOOP)");
  return {
    checkpoints,
    write: (name: string, value: string) => commit(() => void of.db.orm.insert(instance).values({ name, value }).run()),
    state: () => ({ ...select.get() }),
    async [Symbol.asyncDispose]() {
      await checkpoints.stop();
      sync.close();
    },
  };
}

test("a log of 16 MB is checkpointed by the thread, and begins anew", async () => {
  using of = temporaryDatabase();
  await using on = open(of, openThread);
  for (let nth = 0; nth < 3; nth++) await on.write(`big ${nth}`, BIG);
  expect(on.state()).toMatchObject({ checkpointed: 0 });
  expect(on.state().log).toBeGreaterThan(4_000);
  await on.write("fourth", "");
  await on.checkpoints.stop();
  expect(on.state().checkpointed).toBe(on.state().log ?? Number.NaN);
  await on.write("after", "");
  expect(on.state().log).toBeLessThan(20);
  expect(of.db.sqlite.query("SELECT COUNT(*) AS count FROM instance").get()).toEqual({ count: 5 });
  expect(of.db.sqlite.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
});

test("what is committed while the thread copies is copied after it", async () => {
  using of = temporaryDatabase();
  let meanwhile: () => Promise<void> = () => Promise.resolve();
  const run = async ({ checkpointFile }: { checkpointFile: string }) => {
    checkpointLog(checkpointFile);
    await meanwhile();
  };
  await using on = open(of, () => threadHere(run));
  meanwhile = () => on.write("meanwhile", "");
  for (let nth = 0; nth < 3; nth++) await on.write(`big ${nth}`, BIG);
  await on.write("fourth", "");
  await on.checkpoints.stop();
  expect(on.state().checkpointed).toBe(on.state().log ?? Number.NaN);
});

test("without a thread commits go on, and checkpoint a log that is four times as long", async () => {
  using of = temporaryDatabase();
  const none: OpenThread = () => {
    throw new Error("no threads left");
  };
  await using on = open(of, none);
  for (let nth = 0; nth < 7; nth++) await on.write(`big ${nth}`, BIG);
  expect(on.state()).toMatchObject({ checkpointed: 0 });
  for (let nth = 7; nth < 10; nth++) await on.write(`big ${nth}`, BIG);
  expect(on.state().log).toBeLessThan(8_000);
});

/** A thread that is this one. */
function threadHere(run: (input: never) => unknown): ReturnType<OpenThread> {
  const listeners: ((event: MessageEvent) => void)[] = [];
  return {
    postMessage(calls: Calls) {
      void answerCalls(calls, run).then((data) => {
        for (const listener of listeners) listener({ data } as MessageEvent);
      });
    },
    addEventListener(type: string, listener: never) {
      if (type === "message") listeners.push(listener);
    },
    terminate: () => undefined,
    unref: () => undefined,
  };
}
