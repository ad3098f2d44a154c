// What an open dashboard hears: how much changed in its workspace, and the status of the emails on its screen.

import type { ChangeKind, Changes } from "../../platform/db/changes.ts";
import { type Source, writeEvent } from "./streams.ts";

export interface WorkspaceView {
  workspaceId: number;
  /** Emails on its screen whose status it is told: the public id by the key inside. */
  emails: ReadonlyMap<number, string>;
  /** Domains whose pages are open: their records are looked after. */
  domains: readonly number[];
  /** Changes of these alone are told; absent: of all kinds. */
  kinds?: readonly ChangeKind[];
}

export interface WorkspaceSourceDeps {
  changes: Pick<Changes, "watch">;
  /** The status of an email by its key inside; null: it is gone. */
  findStatus: (id: number) => string | null;
  /** A domain's page is open, until the returned function is called. */
  watchDomain: (id: number) => () => void;
}

export function createWorkspaceSource(
  { workspaceId, emails, domains, kinds }: WorkspaceView,
  deps: WorkspaceSourceDeps,
): Source {
  /** Changed rows since the last tick. */
  let changed: Partial<Record<ChangeKind, number>> = {};
  // What changed between the page's reading and now is told at once.
  const changedEmails = new Set(emails.keys());
  let watches: (() => void)[] = [];

  const writeEmails = () => {
    const events = Array.from(changedEmails, (key) => {
      const status = deps.findStatus(key);
      return status === null ? "" : writeEvent("email", { id: emails.get(key), status });
    });
    changedEmails.clear();
    return events.join("");
  };
  const writeChanged = () => {
    const counts = changed;
    changed = {};
    return Object.keys(counts).length === 0 ? "" : writeEvent("changed", counts);
  };

  return {
    open() {
      const unwatch = deps.changes.watch(workspaceId, (kind, id) => {
        if (kinds?.includes(kind) === false) return;
        changed[kind] = (changed[kind] ?? 0) + 1;
        if (kind === "emails" && id !== null && emails.has(id)) changedEmails.add(id);
      });
      watches = [unwatch, ...domains.map((id) => deps.watchDomain(id))];
      return writeEmails();
    },
    tick: () => writeEmails() + writeChanged(),
    close() {
      for (const unwatch of watches.splice(0)) unwatch();
    },
  };
}
