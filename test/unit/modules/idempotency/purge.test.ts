import { expect, test } from "bun:test";
import { createPurge } from "../../../../src/platform/db/purge.ts";
import { openIdempotencyStore } from "../../../../src/modules/idempotency/store.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";
import { temporaryDatabase, turn } from "../../../support/db/temporary.ts";

const NOON = Date.UTC(2026, 10, 21, 12);
const HOUR_MS = 60 * 60 * 1000;
const EVERY_MS = 10 * 60_000;

function start() {
  const temporary = temporaryDatabase();
  const { db, committer } = temporary;
  const clock = fakeClock(NOON);
  const idempotency = openIdempotencyStore(db);
  const bugs: unknown[] = [];
  const log = { event: () => undefined, error: (_: string, error: unknown) => void bugs.push(error) };
  const { commit } = committer;
  const purge = createPurge({ commit, clock, log }, "idempotency", () => idempotency.purge(clock.now() - HOUR_MS));
  void purge.start();
  const insert = (key: string, createdAt: number) =>
    idempotency.insert(
      { workspaceId: 1, domainId: 0, operation: "emails", key },
      { requestHash: Buffer.alloc(32), response: "{}" },
      createdAt,
    );
  return {
    clock,
    bugs,
    stop: () => purge.stop(),
    fill: (count: number, at: (n: number) => number) =>
      committer.commit(() => {
        for (let n = 0; n < count; n++) insert(`${count} ${n}`, at(n));
      }),
    left: () => db.sqlite.query<{ count: number }, []>("SELECT COUNT(*) AS count FROM idempotency").get()?.count,
    /** Runs what is due, and what that sets. */
    async pass(ms: number) {
      clock.advance(ms);
      for (let n = 0; n < 20; n++) {
        await turn();
        clock.advance(0);
      }
    },
    [Symbol.dispose]: () => temporary[Symbol.dispose](),
  };
}

test("what is over is removed in shares until nothing of it is left, and what is not stays", async () => {
  using on = start();
  await on.fill(3_500, (n) => NOON - HOUR_MS - n);
  await on.fill(2_500, () => NOON - HOUR_MS);
  await on.fill(7, () => NOON - HOUR_MS + EVERY_MS);
  await on.pass(EVERY_MS);
  expect(on.left()).toBe(7);
  await on.pass(EVERY_MS);
  expect([on.left(), on.bugs]).toEqual([0, []]);
});

test("a stop ends it, also one that comes while a share is being removed", async () => {
  using on = start();
  expect(on.clock.pending).toBe(1);
  on.clock.advance(EVERY_MS);
  void on.stop();
  await turn(3);
  expect(on.clock.pending).toBe(0);
});
