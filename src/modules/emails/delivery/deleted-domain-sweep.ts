import type { Clock } from "../../../platform/clock.ts";
import type { Commit } from "../../../platform/db/group-commit.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import type { Log } from "../../../platform/log.ts";
import type { QueueStore } from "../queue/store.ts";
import { DOMAIN_DELETED } from "./deliver.ts";
import type { EmailStore } from "../store/store.ts";
import type { DomainOfWorkspace } from "../store/read-store.ts";

// Mail whose domain was deleted. It would fail at its next attempt, which finds no domain; but that may
// be hours away, so it is failed at once, a share at a time. Which domains are gone and still have mail
// stands in the totals, so that it goes on after a crash, and after an attempt that was under way.

/** Emails ended in one transaction. */
const SHARE = 500;
/** While attempts run, or after trouble with the storage. */
const AGAIN_MS = 60_000;

export interface DeletedDomainSweepDeps {
  emails: EmailStore;
  queue: QueueStore;
  commit: Commit;
  clock: Clock;
  log: Log;
}

export interface DeletedDomainSweep {
  /** At the start, and when a domain is gone: fails what waits from domains that are gone. */
  begin(): void;
  stop(): void;
}

export function createDeletedDomainSweep(deps: DeletedDomainSweepDeps): DeletedDomainSweep {
  let isStopped = false;
  let isRunning = false;
  let isWanted = false;
  let cancelTimer: (() => void) | null = null;

  const begin = () => {
    isWanted = true;
    if (!isRunning && !isStopped) void run();
  };
  const run = async () => {
    isRunning = true;
    cancelTimer?.();
    let isLeft = true;
    try {
      while (isWanted) {
        isWanted = false;
        isLeft = await failAll(deps, () => isStopped);
      }
    } catch (error) {
      isWanted = false;
      if (!isStorageError(error)) deps.log.error("abandon", error);
    }
    isRunning = false;
    if (isLeft && !isStopped) cancelTimer = deps.clock.after(AGAIN_MS, begin);
  };
  return {
    begin,
    stop() {
      isStopped = true;
      cancelTimer?.();
    },
  };
}

/** Whether something is left. */
async function failAll(deps: DeletedDomainSweepDeps, isStopped: () => boolean): Promise<boolean> {
  for (const domain of deps.emails.deletedDomainsWithMail()) {
    let failed = 0;
    let name: string | null = null;
    for (;;) {
      if (isStopped()) return true;
      const share = await deps.commit(() => failShare(domain, deps));
      failed += share.failed;
      name ??= share.name;
      if (share.failed < SHARE) break;
    }
    if (failed > 0) deps.log.event("domain.deleted_with_mail", { domain: name, failed });
  }
  return !isStopped() && deps.emails.deletedDomainsWithMail().length > 0;
}

function failShare(domain: DomainOfWorkspace, deps: DeletedDomainSweepDeps): { failed: number; name: string | null } {
  const waiting = deps.emails.waitingOfDomain(domain, SHARE);
  for (const { id } of waiting) {
    const attempts = deps.queue.removeWaiting(id);
    if (attempts === null) continue;
    deps.emails.end(id, {
      status: "failed",
      endedAt: deps.clock.now(),
      sentAt: null,
      deliveredAt: null,
      failedReason: DOMAIN_DELETED,
      bounce: null,
      attempts,
    });
  }
  return { failed: waiting.length, name: waiting[0]?.senderDomain ?? null };
}
