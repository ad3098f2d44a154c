/** The counters behind the sending block, by themselves. */
import { Committer } from "../../../../src/platform/db/group-commit.ts";
import { openDatabase } from "../../../../src/platform/db/open.ts";
import { usage, usageReported } from "../../../../src/platform/db/schema/schema.ts";
import { StorageError } from "../../../../src/platform/db/storage-error.ts";
import type { LogFields } from "../../../../src/platform/log.ts";
import { SendingRates } from "../../../../src/modules/plans/sending-block.ts";
import { openUsageStore } from "../../../../src/modules/plans/store.ts";
import { openWorkspaceStore } from "../../../../src/modules/workspaces/store.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

export const DAY_MS = 24 * 60 * 60 * 1000;
export const NOON = Date.UTC(2026, 10, 21, 12);

export function startCounting(isBlocking = true) {
  const db = openDatabase(":memory:");
  const clock = fakeClock(NOON);
  const notices: { kind: string; reason: string }[] = [];
  const told: { name: string; fields: LogFields }[] = [];
  const workspaces = openWorkspaceStore(db);
  const rates = new SendingRates({
    usage: openUsageStore(db),
    workspaces,
    clock,
    isBlocking,
    notify: ({ kind, reason }) => void notices.push({ kind, reason }),
    log: { event: (name, fields = {}) => void told.push({ name, fields }), error: () => undefined },
  });
  db.listeners.push(rates);
  let isBroken = false;
  const nothing = () => undefined;
  const broken = () => {
    if (isBroken) throw new StorageError(new Error("cannot be written"));
  };
  // After the rates: what they wrote is rolled back with it.
  db.listeners.push({ onRelease: nothing, onRollbackTo: nothing, beforeCommit: broken, onRollback: nothing });
  const { commit } = new Committer(db);
  const newWorkspace = (uid: string) =>
    commit(() => workspaces.insert({ uid, name: uid, plan: "scale", createdAt: 0 }).id);
  return {
    db,
    clock,
    told,
    notices,
    rates,
    workspaces,
    commit,
    newWorkspace,
    break: (is: boolean) => (isBroken = is),
    /** Counts outcomes, all closures in one transaction. */
    count: (id: number, delivered: number, hard: number) =>
      Promise.all([
        ...Array.from({ length: delivered }, () => commit(() => rates.answered(id, false))),
        ...Array.from({ length: hard }, () => commit(() => rates.answered(id, true))),
      ]),
    complain: (id: number, answeredAt: number | null, domain: string | null = null) =>
      commit(() => rates.reported(id, { name: "complaints", domain, answeredAt })),
    bounceLater: (id: number, answeredAt: number | null, domain: string) =>
      commit(() => rates.reported(id, { name: "hard_bounces", domain, answeredAt })),
    reports: () => db.orm.select().from(usageReported).all(),
    block: (id: number) => workspaces.byId(id)?.rateBlockReason ?? null,
    names: () => told.map(({ name }) => name),
    counters: () => db.orm.select().from(usage).all(),
    [Symbol.dispose]: () => db.close(),
  };
}
