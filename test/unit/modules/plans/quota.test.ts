import { describe, expect, test } from "bun:test";
import type { Plan } from "../../../../src/config/config.ts";
import { Committer } from "../../../../src/platform/db/group-commit.ts";
import { openDatabase } from "../../../../src/platform/db/open.ts";
import { usage } from "../../../../src/platform/db/schema/schema.ts";
import { AppError } from "../../../../src/platform/errors.ts";
import { periodsAt, takeEmailQuota } from "../../../../src/modules/plans/quota.ts";
import { openUsageStore } from "../../../../src/modules/plans/store.ts";
import { seeded } from "../../../support/db/temporary.ts";

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 10, 21, 12);

type Limits = Pick<Plan, "emailsPerDay" | "emailsPerMonth">;

interface Quotas extends Disposable {
  /** Takes `amount` in a transaction of its own turn; null: taken, else why not. */
  take(amount: number, at?: number, workspaceId?: number): Promise<AppError | null>;
  takeAndThrow(amount: number): Promise<unknown>;
  counts(): Record<string, number>;
}

function quotas(limits: Limits): Quotas {
  const db = openDatabase(":memory:");
  const { commit } = new Committer(db);
  const store = openUsageStore(db);
  // What the other members of a plan allow does not matter here.
  const plan = limits as Plan;
  return {
    take: (amount, now = NOON, workspaceId = 1) =>
      commit(() => takeEmailQuota({ workspaceId, plan, amount, now }, store)).then(
        () => null,
        (error: unknown) => {
          if (error instanceof AppError) return error;
          throw error;
        },
      ),
    takeAndThrow: (amount) =>
      commit(() => {
        takeEmailQuota({ workspaceId: 1, plan, amount, now: NOON }, store);
        throw new Error("no");
      }),
    counts: () =>
      Object.fromEntries(
        db.orm
          .select()
          .from(usage)
          .all()
          .map((row) => [`${row.workspaceId} ${row.name} ${row.day}`, row.count]),
      ),
    [Symbol.dispose]: () => db.close(),
  };
}

const DAY = "1 emails 2026-11-21";

describe("the quota", () => {
  test("of a plan without limits counts all the same, and nothing of what was rolled back", async () => {
    using on = quotas({ emailsPerDay: -1, emailsPerMonth: -1 });
    expect(await Promise.all([on.take(2), on.take(3), on.take(1, NOON, 2)])).toEqual([null, null, null]);
    expect(on.counts()).toEqual({ [DAY]: 5, "2 emails 2026-11-21": 1 });
    await expect(on.takeAndThrow(7)).rejects.toThrow("no");
    expect(on.counts()).toEqual({ [DAY]: 5, "2 emails 2026-11-21": 1 });
  });

  test("allows exactly as many as the plan says, and not one more", async () => {
    using on = quotas({ emailsPerDay: 3, emailsPerMonth: 100 });
    for (let i = 0; i < 3; i++) expect(await on.take(1)).toBeNull();
    expect((await on.take(1))?.code).toBe("DAILY_QUOTA_EXCEEDED");
    expect(on.counts()).toEqual({ [DAY]: 3 });
  });

  test("takes a batch whole or not at all", async () => {
    using on = quotas({ emailsPerDay: 10, emailsPerMonth: 100 });
    expect(await on.take(7)).toBeNull();
    expect((await on.take(4))?.code).toBe("DAILY_QUOTA_EXCEEDED");
    expect(on.counts()).toEqual({ [DAY]: 7 });
    expect(await on.take(3)).toBeNull();
    expect(on.counts()).toEqual({ [DAY]: 10 });
  });

  test("of the month comes before that of the day, and a refusal leaves both counters alone", async () => {
    using on = quotas({ emailsPerDay: 5, emailsPerMonth: 5 });
    expect((await on.take(6))?.code).toBe("MONTHLY_QUOTA_EXCEEDED");
    expect(Object.values(on.counts()).every((count) => count === 0)).toBe(true);
    expect(await on.take(5)).toBeNull();
    expect((await on.take(1))?.code).toBe("MONTHLY_QUOTA_EXCEEDED");
  });

  test("of -1 does not end, and still counts", async () => {
    using on = quotas({ emailsPerDay: -1, emailsPerMonth: -1 });
    expect(await on.take(1_000_000)).toBeNull();
    expect(await on.take(1)).toBeNull();
    expect(on.counts()).toEqual({ [DAY]: 1_000_001 });
  });

  test("of 0 allows nothing", async () => {
    using on = quotas({ emailsPerDay: 0, emailsPerMonth: -1 });
    expect((await on.take(1))?.code).toBe("DAILY_QUOTA_EXCEEDED");
  });

  test("is each workspace's own", async () => {
    using on = quotas({ emailsPerDay: 1, emailsPerMonth: 1 });
    expect(await on.take(1, NOON, 1)).toBeNull();
    expect(await on.take(1, NOON, 2)).toBeNull();
    expect(await on.take(1, NOON, 1)).not.toBeNull();
  });

  test("holds exactly when many requests come in one turn and several", async () => {
    using on = quotas({ emailsPerDay: 100, emailsPerMonth: 1_000 });
    const random = seeded(4);
    const asked: { amount: number; taken: Promise<AppError | null> }[] = [];
    for (let i = 0; i < 200; i++) {
      const amount = 1 + Math.floor(random() * 5);
      asked.push({ amount, taken: on.take(amount) });
      if (random() < 0.2) await asked.at(-1)!.taken;
    }
    let taken = 0;
    let left = 100;
    for (const { amount, taken: answer } of asked) {
      const isTaken = (await answer) === null;
      // First come, first served: who is refused did not fit at that moment.
      expect(isTaken).toBe(amount <= left);
      if (isTaken) left -= amount;
      taken += isTaken ? amount : 0;
    }
    expect(taken).toBe(100);
    expect(on.counts()).toEqual({ [DAY]: 100 });
  });
});

describe("a period ends at midnight UTC", () => {
  test.each([
    ["the last millisecond of a day", Date.UTC(2026, 10, 21, 23, 59, 59, 999), "2026-11-21", "2026-11"],
    ["the first of the next", Date.UTC(2026, 10, 22), "2026-11-22", "2026-11"],
    ["the end of a year", Date.UTC(2026, 11, 31, 23, 59, 59, 999), "2026-12-31", "2026-12"],
    ["the beginning of one", Date.UTC(2027, 0, 1), "2027-01-01", "2027-01"],
    ["a leap day", Date.UTC(2028, 1, 29, 12), "2028-02-29", "2028-02"],
  ])("%s", (_, at, day, month) => {
    expect(periodsAt(at)).toEqual({ day, month });
  });

  test.each([
    ["noon", NOON, "DAILY_QUOTA_EXCEEDED", 12 * 3_600],
    ["the last millisecond", Date.UTC(2026, 10, 21, 23, 59, 59, 999), "DAILY_QUOTA_EXCEEDED", 1],
    ["midnight", Date.UTC(2026, 10, 21), "DAILY_QUOTA_EXCEEDED", 24 * 3_600],
    ["New Year's Eve", Date.UTC(2026, 11, 31, 22), "DAILY_QUOTA_EXCEEDED", 2 * 3_600],
    ["the 28th of February of a leap year", Date.UTC(2028, 1, 28, 18), "DAILY_QUOTA_EXCEEDED", 6 * 3_600],
    ["November, for the month", NOON, "MONTHLY_QUOTA_EXCEEDED", (9 * 24 + 12) * 3_600],
    ["December, for the month", Date.UTC(2026, 11, 30), "MONTHLY_QUOTA_EXCEEDED", 2 * 24 * 3_600],
    ["the 31st of January, for the month", Date.UTC(2027, 0, 31, 12), "MONTHLY_QUOTA_EXCEEDED", 12 * 3_600],
    ["February of a leap year, for the month", Date.UTC(2028, 1, 28), "MONTHLY_QUOTA_EXCEEDED", 2 * 24 * 3_600],
  ] as const)("a refusal says how long that is from %s", async (_, at, code, retryAfterS) => {
    const isDay = code === "DAILY_QUOTA_EXCEEDED";
    using on = quotas({ emailsPerDay: isDay ? 1 : -1, emailsPerMonth: isDay ? -1 : 1 });
    await on.take(1, at);
    const refused = await on.take(1, at);
    expect([refused?.code, refused?.retryAfterS]).toEqual([code, retryAfterS]);
    // And that is true: a second later it goes through.
    expect(await on.take(1, at + retryAfterS * 1_000)).toBeNull();
  });

  test("a new day has a new quota within the same month's", async () => {
    using on = quotas({ emailsPerDay: 2, emailsPerMonth: 5 });
    for (let day = 0; day < 3; day++) {
      for (let i = 0; i < 3; i++) await on.take(1, NOON + day * 24 * HOUR);
    }
    expect(on.counts()).toEqual({
      [DAY]: 2,
      "1 emails 2026-11-22": 2,
      "1 emails 2026-11-23": 1,
    });
  });
});
