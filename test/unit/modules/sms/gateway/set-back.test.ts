import { expect, test } from "bun:test";
import { SkippedRows } from "../../../../../src/platform/db/skipped-rows.ts";
import { Sweeper, type SweeperDeps } from "../../../../../src/modules/sms/gateway/sweep.ts";
import { MessageClock } from "../../../../../src/modules/sms/queue/message-clock.ts";
import { temporaryDatabase } from "../../../../support/db/temporary.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";
import { addMessage, addWorkspace, openLedger } from "../../../../support/sms/rows.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LIFE = 5 * MINUTE;

test("a text that was accepted while the emails' queue followed a set-back clock lives no shorter for it", async () => {
  using of = temporaryDatabase();
  const sms = openLedger(of.db);
  const { commit } = of.committer;
  const steady = fakeClock(0);
  let offset = 1_000 * HOUR;
  const wall = { now: () => steady.now() + offset, after: steady.after };
  const clock = new MessageClock(wall, steady);
  const expiryOf = (id: number) => sms.messages.byId(id)?.expiresAt;
  const accept = () =>
    commit(() => {
      const createdAt = clock.now();
      return addMessage(sms, 1, { message: { workspaceId, createdAt, expiresAt: createdAt + LIFE } });
    });
  const workspaceId = await commit(() => addWorkspace(sms, 10));
  const log: SweeperDeps["log"] = { event: () => undefined, error: (_, error) => expect(error).toBeUndefined() };
  const sweeper = new Sweeper({
    sms,
    routes: new Map(),
    responses: {},
    receipts: { recount: () => undefined },
    duplicates: { forget: () => undefined, oldest: 0 },
    receiptGraceMs: HOUR,
    backlog: { look: () => undefined },
    dispatcher: { forgetTimers: () => undefined, nudge: () => undefined },
    failedWrites: { run: () => Promise.resolve(0) },
    skipped: new SkippedRows({ commit, clock, log, component: "sms" }),
    commit,
    clock,
    log,
  } as unknown as SweeperDeps);
  const before = await accept();
  steady.advance(MINUTE);
  offset -= HOUR;
  // Each second, as ever.
  await sweeper.sweep();
  const during = await accept();
  const due = clock.now() + LIFE;
  for (let second = 0; second < 10; second += 1) {
    steady.advance(1_000);
    await sweeper.sweep();
  }
  await sweeper.followSetBack(() => undefined);
  expect(expiryOf(during)).toBe(due);
  expect(expiryOf(before)).toBe(due - MINUTE);
});
