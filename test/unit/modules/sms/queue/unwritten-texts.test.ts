import { expect, test } from "bun:test";
import { smsSegments } from "../../../../../src/platform/db/schema/sms.ts";
import { isStorageError } from "../../../../../src/platform/db/storage-error.ts";
import { buildUncertainBatch } from "../../../../../src/modules/sms/gateway/resolve-uncertain.ts";
import { FailedSmsWrites } from "../../../../../src/modules/sms/queue/failed-writes.ts";
import { temporaryDatabase, turn } from "../../../../support/db/temporary.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";
import { addMessage, addWorkspace, openLedger } from "../../../../support/sms/rows.ts";
import type { SegmentRow } from "../../../../../src/modules/sms/queue/segment-read-store.ts";

const MINUTE = 60_000;

/** So many texts in doubt, the first due first; deciding fails for as long as `isBroken`. */
async function start(count: number, isBroken: (row: SegmentRow) => boolean) {
  const of = temporaryDatabase();
  const sms = openLedger(of.db);
  const { commit } = of.committer;
  const clock = fakeClock();
  let bugs = 0;
  const log = { event: () => undefined, error: (_: string, error: unknown) => void (bugs += +!isStorageError(error)) };
  const failedWrites = new FailedSmsWrites({ messages: sms.messages, commit, clock, log, nudge: () => undefined });
  const decided: number[] = [];
  const responses = {
    resolve(row: SegmentRow, now: number) {
      if (isBroken(row)) throw new TypeError("a bug");
      decided.push(row.messageId);
      sms.segments.unknown(row, { now, giveUpAt: now + 1_000 * MINUTE });
      return [];
    },
  };
  await commit(() => {
    addWorkspace(sms, count);
    for (let id = 1; id <= count; id++) addMessage(sms, 1, { segment: { nextAt: id } });
    of.db.orm.update(smsSegments).set({ state: "unknown" }).run();
    sms.forget(null);
  });
  return {
    decided,
    failedWrites,
    bugs: () => bugs,
    look: () => failedWrites.run(buildUncertainBatch(clock.now(), { sms, responses })),
    async advance(ms: number) {
      clock.advance(ms);
      await turn(20);
    },
    [Symbol.dispose]() {
      failedWrites.stop();
      of[Symbol.dispose]();
    },
  };
}

test("a thousand texts that a bug keeps from being decided keep no later one from it", async () => {
  let isBroken = true;
  using on = await start(1_003, ({ messageId }) => isBroken && messageId <= 1_001);
  const counts: number[] = [];
  for (let look = 0; look < 4; look++) counts.push(await on.look());
  expect(counts).toEqual([500, 500, 3, 0]);
  expect([on.decided, on.failedWrites.size, on.bugs()]).toEqual([[1_002, 1_003], 1_001, 1_001]);
  isBroken = false;
  await on.advance(MINUTE);
  expect([on.decided.length, on.failedWrites.size]).toEqual([1_003, 0]);
});

test("where a bug keeps all of them, a look remains bounded, and so do those that are kept", async () => {
  using on = await start(6_200, () => true);
  for (let look = 0; look < 14; look++) expect(await on.look()).toBeLessThanOrEqual(500);
  expect(on.failedWrites.size).toBe(5_500);
});
