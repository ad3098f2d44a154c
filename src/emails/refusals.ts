// Refusals in masses. One recipient who does not exist is a fact about that recipient; twenty within ten
// minutes, and more than half of all that a site answers, are a fact about the site or about us: a
// directory that is down, a filter that answers "no such user" to whom it does not like, a resolver
// that lies. The emails bounce, as the server said; but nobody is suppressed until the operator has
// looked (decisions §4). Those suppressed before it showed are taken back with them.

const WINDOW_MS = 10 * 60_000;
const MASS = 20;
const BUCKET_MS = 60_000;
const MAX_SITES = 5_000;
/** Suppressed recipients of one site that are remembered for the window; the oldest go first. */
const MAX_RECENT = 5_000;

/** Whom a hard answer was about. */
export interface RefusedRecipient {
  workspaceId: number;
  /** In the form compared. */
  address: string;
}

/**
 * For refusals that come back by mail: the delivery of each was an answer too, so that a third of both is half
 * of what was delivered.
 */
export const SHARE_OF_REPORTED = 1 / 3;

interface Bucket {
  /** Unix ms of its beginning. */
  at: number;
  hard: number;
  replies: number;
}

interface Watched {
  buckets: Bucket[];
  /** Suppressed within the window, in that order. */
  recent: Map<string, { recipient: RefusedRecipient; at: number }>;
}

export type Suppressing =
  | { kind: "now" }
  /** Not before the operator has looked; `earlier` were suppressed and are to wait too. */
  | { kind: "held"; earlier: RefusedRecipient[] };

/** What sites answered in the last ten minutes. */
export class RefusalWatch {
  readonly #sites = new Map<string, Watched>();
  readonly #massShare: number;

  /** `massShare`: of the answers, above which refusals are a mass. */
  constructor(massShare = 1 / 2) {
    this.#massShare = massShare;
  }

  /** A site answered about a message, but not that its recipient cannot be. */
  noteReply(site: string, now: number): void {
    bucketOf(this.#watched(site), now).replies += 1;
  }

  /** A site said for good that a recipient cannot be. */
  noteHard(site: string, now: number): void {
    const bucket = bucketOf(this.#watched(site), now);
    bucket.replies += 1;
    bucket.hard += 1;
  }

  /**
   * Whether such an answer, noted at `now`, suppresses. Belongs into the transaction that writes what comes of
   * it, so that of two answers the later written one knows of the other; asked again of the same answer, after a
   * transaction that could not be kept, it counts nothing twice.
   */
  decide(site: string, recipient: RefusedRecipient, now: number): Suppressing {
    const watched = this.#watched(site);
    const { hard, replies } = sum(watched, now);
    const { recent } = watched;
    for (const [key, { at }] of recent) {
      if (at > now - WINDOW_MS) break;
      recent.delete(key);
    }
    const isMass = hard >= MASS && hard > replies * this.#massShare;
    if (isMass) return { kind: "held", earlier: [...recent.values()].map((each) => each.recipient) };
    const key = keyOf(recipient);
    recent.delete(key);
    recent.set(key, { recipient, at: now });
    const oldest = recent.keys().next();
    if (recent.size > MAX_RECENT && oldest.done === false) recent.delete(oldest.value);
    return { kind: "now" };
  }

  /** The `earlier` ones of a decision were taken back, and that is durable. */
  forget(site: string, earlier: RefusedRecipient[]): void {
    const recent = this.#sites.get(site)?.recent;
    for (const recipient of earlier) recent?.delete(keyOf(recipient));
  }

  #watched(site: string): Watched {
    let watched = this.#sites.get(site);
    if (watched !== undefined) {
      // The one that was not used for longest is forgotten first.
      this.#sites.delete(site);
      this.#sites.set(site, watched);
      return watched;
    }
    const oldest = this.#sites.keys().next();
    if (this.#sites.size >= MAX_SITES && oldest.done === false) this.#sites.delete(oldest.value);
    watched = { buckets: [], recent: new Map() };
    this.#sites.set(site, watched);
    return watched;
  }
}

function keyOf({ workspaceId, address }: RefusedRecipient): string {
  return `${workspaceId} ${address}`;
}

function bucketOf({ buckets }: Watched, now: number): Bucket {
  const at = now - (now % BUCKET_MS);
  const last = buckets.at(-1);
  if (last?.at === at) return last;
  const made = { at, hard: 0, replies: 0 };
  buckets.push(made);
  if (buckets.length > WINDOW_MS / BUCKET_MS + 1) buckets.shift();
  return made;
}

function sum({ buckets }: Watched, now: number): { hard: number; replies: number } {
  let hard = 0;
  let replies = 0;
  for (const bucket of buckets) {
    if (bucket.at <= now - WINDOW_MS) continue;
    hard += bucket.hard;
    replies += bucket.replies;
  }
  return { hard, replies };
}
