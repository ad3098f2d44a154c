// What an open dashboard hears: how much changed in its workspace, and the status of the messages on its screen.

import type { ChangeKind } from "../../platform/db/changes.ts";
import type { RecentChanges } from "./recent-changes.ts";
import { type Source, writeEvent } from "./streams.ts";

/** As changes name them. */
export type MessageKind = "emails" | "sms";

export interface WorkspaceView {
  workspaceId: number;
  /** Messages on its screen whose status it is told: the public id by the key inside. */
  messages: Record<MessageKind, ReadonlyMap<number, string>>;
  /** Domains whose pages are open: their records are looked after. */
  domains: readonly number[];
  /** Changes of these alone are told; absent: of all kinds. */
  kinds?: readonly ChangeKind[];
}

export interface WorkspaceSourceDeps {
  recentChanges: Pick<RecentChanges, "watch">;
  /** The status of a message by its key inside; null: it is gone. */
  findStatus: (kind: MessageKind, id: number) => string | null;
  /** A domain's page is open, until the returned function is called. */
  watchDomain: (id: number) => () => void;
}

export function createWorkspaceSource(
  { workspaceId, messages, domains, kinds }: WorkspaceView,
  deps: WorkspaceSourceDeps,
): Source {
  /** Changed rows since the last tick. */
  let changed: Partial<Record<ChangeKind, number>> = {};
  // What changed between the page's reading and now is told at once.
  const changedMessages = { emails: new Set(messages.emails.keys()), sms: new Set(messages.sms.keys()) };
  let watches: (() => void)[] = [];

  const writeStatuses = (kind: MessageKind, event: string) => {
    const events = Array.from(changedMessages[kind], (key) => {
      const status = deps.findStatus(kind, key);
      return status === null ? "" : writeEvent(event, { id: messages[kind].get(key), status });
    });
    changedMessages[kind].clear();
    return events.join("");
  };
  const writeMessages = () => writeStatuses("emails", "email") + writeStatuses("sms", "sms");
  const writeChanged = () => {
    const counts = changed;
    changed = {};
    return Object.keys(counts).length === 0 ? "" : writeEvent("changed", counts);
  };

  return {
    open() {
      const isTold = (kind: ChangeKind) => kinds === undefined || kinds.includes(kind);
      const { recent, unwatch } = deps.recentChanges.watch(workspaceId, (kind, id) => {
        if (!isTold(kind)) return;
        changed[kind] = (changed[kind] ?? 0) + 1;
        const isMessage = kind === "emails" || kind === "sms";
        if (isMessage && id !== null && messages[kind].has(id)) changedMessages[kind].add(id);
      });
      watches = [unwatch, ...domains.map((id) => deps.watchDomain(id))];
      changed = Object.fromEntries(recent.filter(isTold).map((kind) => [kind, 1]));
      return writeMessages() + writeChanged();
    },
    tick: () => writeMessages() + writeChanged(),
    close() {
      for (const unwatch of watches.splice(0)) unwatch();
    },
  };
}
