import type { Clock } from "../../../platform/clock.ts";
import type { Commit } from "../../../platform/db/group-commit.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import type { Log } from "../../../platform/log.ts";
import type { QueueStore } from "../queue/store.ts";
import { shorten } from "../../../protocols/smtp/replies/reply.ts";
import type { Bounce } from "../api/schema.ts";
import type { EmailStore } from "../store/store.ts";
import type { WaitingEmail } from "../store/read-store.ts";

// Emails that nobody claims expire all the same. While the operator holds a workspace's queue the worker
// leaves it alone, so the workspace's oldest emails are looked at here: at the time when the first of
// them expires, and every minute. All of an instance's emails live equally long, so that the oldest are
// the first; were those accepted later given a shorter life, they fail with the ones before them, late.

const LOOK_EVERY_MS = 60_000;
/** Emails of each state looked at in one transaction. */
const SHARE = 200;
const MAX_REASON = 512;

/** Why an email that was not delivered in its time failed. Unix ms. */
export function expiredReason(email: { createdAt: number; expiresAt: number; lastReply: string | null }): string {
  const hours = Math.round((email.expiresAt - email.createdAt) / 3_600_000);
  const last = email.lastReply === null ? "" : `; last answer: ${email.lastReply}`;
  // RFC 3463 §3.5: 4.4.7, delivery time expired.
  return shorten(`4.4.7 Not delivered within ${hours} h${last}`, MAX_REASON);
}

export interface HeldQueueExpiryDeps {
  emails: EmailStore;
  queue: QueueStore;
  /** Whose queues are held. */
  heldWorkspaces: () => number[];
  commit: Commit;
  clock: Clock;
  log: Log;
  /** What of words, and of the recipient's address in them, may stand in the log. */
  show: (words: string, recipient: string) => string;
}

interface Ended extends WaitingEmail {
  attempts: number;
  reason: string;
}

interface Share {
  ended: Ended[];
  /** There may be more that have expired. */
  isMore: boolean;
  /** When the first of those that were looked at and go on waiting expires; null: there is none. */
  nextAt: number | null;
}

/** Fails what expires in queues that are held, on its time. */
export class HeldQueueExpiry {
  readonly #deps: HeldQueueExpiryDeps;
  #cancel: () => void = () => undefined;
  #isLooking = false;
  #isAsked = false;
  #isStopped = false;

  constructor(deps: HeldQueueExpiryDeps) {
    this.#deps = deps;
  }

  /** Looks now, and from then on by itself. */
  look(): void {
    this.#isAsked = true;
    if (this.#isLooking || this.#isStopped) return;
    this.#isLooking = true;
    this.#cancel();
    void this.#lookAll().then((nextAt) => {
      this.#isLooking = false;
      if (this.#isStopped) return;
      if (this.#isAsked) return this.look();
      const delayMs = Math.max(0, nextAt - this.#deps.clock.now());
      this.#cancel = this.#deps.clock.after(delayMs, () => this.look());
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** When to look again. Never rejects. */
  async #lookAll(): Promise<number> {
    const { heldWorkspaces, commit, clock, log } = this.#deps;
    let nextAt = clock.now() + LOOK_EVERY_MS;
    this.#isAsked = false;
    try {
      for (const workspaceId of heldWorkspaces()) {
        for (let isMore = true; isMore && !this.#isStopped;) {
          const share = await commit(() => expireShare(workspaceId, this.#deps));
          this.#tell(share.ended);
          isMore = share.isMore;
          nextAt = Math.min(nextAt, share.nextAt ?? nextAt);
        }
      }
    } catch (error) {
      if (!isStorageError(error)) log.error("expire", error);
    }
    return nextAt;
  }

  #tell(ended: Ended[]): void {
    const { log, show } = this.#deps;
    for (const { uid, recipient, attempts, reason } of ended) {
      const facts = { id: uid, to: show(recipient, recipient), attempt: attempts, detail: show(reason, recipient) };
      log.event("email.failed", facts);
    }
  }
}

function expireShare(workspaceId: number, { emails, queue, clock }: HeldQueueExpiryDeps): Share {
  const now = clock.now();
  const share: Share = { ended: [], isMore: false, nextAt: null };
  for (const state of ["queued", "delivery_delayed"] as const) {
    const oldest = emails.oldestWaiting(workspaceId, state, SHARE);
    const firstToStay = oldest.findIndex(({ expiresAt }) => expiresAt > now);
    const expired = firstToStay < 0 ? oldest : oldest.slice(0, firstToStay);
    for (const email of expired) {
      const attempts = queue.removeWaiting(email.id);
      if (attempts === null) continue;
      const reason = expiredReason(email);
      emails.end(email.id, endOf(reason, attempts, now));
      share.ended.push({ ...email, attempts, reason });
    }
    if (oldest.length === SHARE && expired.length === SHARE) share.isMore = true;
    const next = oldest[firstToStay]?.expiresAt;
    if (next !== undefined) share.nextAt = Math.min(next, share.nextAt ?? next);
  }
  return share;
}

function endOf(failedReason: string, attempts: number, endedAt: number) {
  const none = { smtpCode: null, enhancedCode: null, mx: null };
  const bounce: Bounce = { type: "transient", category: "expired", ...none };
  const times = { endedAt, sentAt: null, deliveredAt: null };
  return { status: "failed" as const, ...times, failedReason, bounce: JSON.stringify(bounce), attempts };
}
