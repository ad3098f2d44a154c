// Finds workspaces whose quota of emails is used up, a few hundred at each look: the operator hears of them.

import type { NamedPlan } from "../../config/config.ts";
import type { Clock } from "../../platform/clock.ts";
import { periodsAt } from "./quota.ts";
import type { UsageStore } from "./store.ts";

/** Looked at each time, beside those that were used up at the last look: two queries each. */
const BATCH = 250;

export interface UsedUp {
  uid: string;
  name: string;
  period: "day" | "month";
  limit: number;
}

export interface UsedUpDeps {
  workspaces: { listIds(): number[]; byId(id: number): { uid: string; name: string } | undefined };
  usage: Pick<UsageStore, "ofDay" | "ofMonth">;
  findNamedPlan: (workspaceId: number) => NamedPlan;
  clock: Pick<Clock, "now">;
}

export interface UsedUpScan {
  /** Looks at the next ones, and at those that are known; all that are used up. */
  look(): UsedUp[];
  /** This one is looked at next. */
  note(workspaceId: number): void;
}

export function createUsedUpScan(deps: UsedUpDeps): UsedUpScan {
  let waiting: number[] = [];
  let known = new Set<number>();
  return {
    note: (workspaceId) => void known.add(workspaceId),
    look() {
      if (waiting.length === 0) waiting = deps.workspaces.listIds();
      const found = new Map([...waiting.splice(0, BATCH), ...known].map((id) => [id, findUsedUp(id, deps)]));
      const used = [...found].flatMap(([id, each]) => (each === null ? [] : [[id, each] as const]));
      known = new Set(used.map(([id]) => id));
      return used.map(([, each]) => each);
    },
  };
}

function findUsedUp(id: number, { workspaces, usage, findNamedPlan, clock }: UsedUpDeps): UsedUp | null {
  const workspace = workspaces.byId(id);
  if (workspace === undefined) return null;
  const { uid, name } = workspace;
  const { emailsPerDay, emailsPerMonth } = findNamedPlan(id).plan;
  const { day, month } = periodsAt(clock.now());
  if (emailsPerMonth > 0 && usage.ofMonth(id, "emails", month) >= emailsPerMonth)
    return { uid, name, period: "month", limit: emailsPerMonth };
  if (emailsPerDay > 0 && usage.ofDay(id, "emails", day) >= emailsPerDay)
    return { uid, name, period: "day", limit: emailsPerDay };
  return null;
}
