// What somebody hears who watches one email: its attempts as they happen, and its status with what comes next.

import type { Clock } from "../../platform/clock.ts";
import type { Changes } from "../../platform/db/changes.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import type { AttemptEvent, RunningAttempts } from "../emails/delivery/running-attempts.ts";
import { type Source, writeEvent } from "./streams.ts";

/** As GET /emails/{id} says them. */
export interface EmailNow {
  status: string;
  nextAttemptAt: string | null;
  lastReply: string | null;
  failedReason: string | null;
}

export interface EmailSourceDeps {
  changes: Pick<Changes, "watch">;
  attempts: Pick<RunningAttempts, "watch">;
  clock: Pick<Clock, "after">;
  /** Null: it is gone. */
  findNow: (id: number) => EmailNow | null;
}

interface WatchedEmail {
  id: number;
  /** Its public id. */
  uid: string;
  workspaceId: number;
  isErased: boolean;
}

export function createEmailSource(email: WatchedEmail, { changes, attempts, clock, findNow }: EmailSourceDeps): Source {
  let ends: (() => void)[] = [];
  let cancelTelling: (() => void) | null = null;
  const writeNow = () => {
    const now = findNow(email.id);
    return now === null ? "" : writeEvent("email", { id: email.uid, ...now });
  };
  return {
    open(tell) {
      let soFar = writeNow();
      let isOpen = false;
      const hear = (event: AttemptEvent) => {
        if (isOpen) tell(writeAttemptEvent(event));
        else soFar += writeAttemptEvent(event);
      };
      ends = [
        // What is said about a recipient who was erased holds the address.
        email.isErased ? () => {} : attempts.watch(email.id, hear),
        changes.watch(email.workspaceId, (kind, id) => {
          if (kind !== "emails" || id !== email.id) return;
          // Not in the middle of a COMMIT, and once for all that it changed.
          cancelTelling ??= clock.after(0, () => {
            cancelTelling = null;
            tell(writeNow());
          });
        }),
      ];
      isOpen = true;
      return soFar;
    },
    tick: () => "",
    close() {
      for (const end of ends) end();
      cancelTelling?.();
    },
  };
}

function writeAttemptEvent(event: AttemptEvent): string {
  const { kind, ...data } = event;
  return writeEvent(kind, "startedAt" in data ? { ...data, startedAt: toIsoTime(data.startedAt) } : data);
}
