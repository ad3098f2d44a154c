import type { Clock } from "../clock.ts";
import type { Commit } from "../db/commit.ts";
import { isStorageError } from "../db/storage-error.ts";
import type { DomainRow } from "../domains/store.ts";
import type { Log } from "../log.ts";
import type { QueueStore } from "../queue/store.ts";
import { DOMAIN_DELETED } from "./deliver.ts";
import type { EmailStore } from "./store.ts";

/** Emails ended in one transaction. */
const SHARE = 500;

/**
 * Fails what waits in the queue from a domain that is gone, a share at a time. What an attempt holds
 * at that moment, or a crash leaves over, fails at its next attempt, which finds no domain.
 */
export async function failQueuedOf(
  domain: DomainRow,
  parts: { emails: EmailStore; queue: QueueStore; commit: Commit; clock: Pick<Clock, "now">; log: Log },
): Promise<void> {
  let ended = 0;
  try {
    for (;;) {
      const count = await parts.commit(() => {
        const waiting = parts.emails.waitingOfDomain(domain.id, SHARE);
        for (const { id } of waiting) {
          const attempts = parts.queue.removeWaiting(id);
          if (attempts === null) continue;
          parts.emails.end(id, {
            status: "failed",
            endedAt: parts.clock.now(),
            sentAt: null,
            deliveredAt: null,
            failedReason: DOMAIN_DELETED,
            bounce: null,
            attempts,
          });
        }
        return waiting.length;
      });
      ended += count;
      if (count < SHARE) break;
    }
  } catch (error) {
    if (!isStorageError(error)) parts.log.bug("domains", error);
  }
  if (ended > 0) parts.log.event("domain.deleted_with_mail", { domain: domain.name, failed: ended });
}
