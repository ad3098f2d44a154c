// Unsubscribes the recipient of an email from its list, and from nothing else of its workspace.

import type { Context } from "../../platform/context.ts";
import type { SuppressionStore } from "../suppressions/store.ts";
import type { Subscription, SubscriptionStore } from "./store.ts";

export interface UnsubscribeDeps extends Pick<Context, "clock"> {
  subscriptions: SubscriptionStore;
  suppressions: Pick<SuppressionStore, "find" | "insert">;
  /** Undefined: it is gone. */
  workspaces: { byId(id: number): object | undefined };
}

/** Null: there is nothing to unsubscribe from, or it is gone. */
export function findSubscription(uid: string, deps: UnsubscribeDeps): Subscription | null {
  const { subscriptions, workspaces } = deps;
  const found = subscriptions.find(uid);
  if (found === null || workspaces.byId(found.workspaceId) === undefined) return null;
  return found;
}

export function isUnsubscribed({ workspaceId, address, list }: Subscription, { suppressions }: UnsubscribeDeps) {
  return suppressions.find({ workspaceId, channel: "email", address, list }) !== undefined;
}

/** Inside a transaction; also when it was done before. False: there is nothing to unsubscribe from. */
export function unsubscribe(uid: string, deps: UnsubscribeDeps): boolean {
  const found = findSubscription(uid, deps);
  if (found === null) return false;
  const { workspaceId, address, list } = found;
  const row = { workspaceId, channel: "email", address, list, reason: "unsubscribe" } as const;
  deps.suppressions.insert({ ...row, createdAt: deps.clock.now() });
  return true;
}
