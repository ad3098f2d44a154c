// What an open dashboard hears: how much changed in its workspace, and the status of the messages on its screen.

import type { ChangeKind, Changes } from "../../platform/db/changes.ts";
import { type Source, writeEvent } from "./streams.ts";

/** As the kinds of changes name them, with the event of each. */
const MESSAGE_EVENTS = { emails: "email", sms: "sms" } as const;
export type MessageKind = keyof typeof MESSAGE_EVENTS;
const KINDS = Object.keys(MESSAGE_EVENTS) as MessageKind[];

export interface WorkspaceView {
  workspaceId: number;
  /** Messages on its screen whose status it is told: the public id by the key inside. */
  followed: Record<MessageKind, ReadonlyMap<number, string>>;
}

export interface WorkspaceSourceDeps {
  changes: Pick<Changes, "watch">;
  /** The status of a message by its key inside; null: it is gone. */
  findStatus: (kind: MessageKind, id: number) => string | null;
}

export function createWorkspaceSource({ workspaceId, followed }: WorkspaceView, deps: WorkspaceSourceDeps): Source {
  /** Changed rows since the last tick. */
  let changed: Partial<Record<ChangeKind, number>> = {};
  // What changed between the page's reading and now is told at once.
  const changedMessages = { emails: new Set(followed.emails.keys()), sms: new Set(followed.sms.keys()) };
  let unwatch = () => {};

  const writeMessages = (kind: MessageKind) => {
    const events = Array.from(changedMessages[kind], (key) => {
      const status = deps.findStatus(kind, key);
      return status === null ? "" : writeEvent(MESSAGE_EVENTS[kind], { id: followed[kind].get(key), status });
    });
    changedMessages[kind].clear();
    return events.join("");
  };
  const writeAllMessages = () => KINDS.map(writeMessages).join("");
  const writeChanged = () => {
    const counts = changed;
    changed = {};
    return Object.keys(counts).length === 0 ? "" : writeEvent("changed", counts);
  };

  return {
    open() {
      unwatch = deps.changes.watch(workspaceId, (kind, id) => {
        changed[kind] = (changed[kind] ?? 0) + 1;
        if ((kind === "emails" || kind === "sms") && id !== null && followed[kind].has(id))
          changedMessages[kind].add(id);
      });
      return writeAllMessages();
    },
    tick: () => writeAllMessages() + writeChanged(),
    close: () => unwatch(),
  };
}
