// Refusals in masses. One recipient who does not exist is a fact about that recipient; twenty within ten
// minutes, and more than half of all that a site answers, are a fact about the site or about us: a
// directory that is down, a filter that answers "no such user" to senders it dislikes, a resolver
// that lies. The emails bounce, as the server said; but nobody is suppressed until the operator has
// looked. Those suppressed before it showed are taken back with them.
//
// A workspace with a bad list makes such a mass by itself, at any site it likes. So for each workspace there is
// a mass where its own answers make one, or where it stays one without the answers of whichever other workspace
// has the most refusals: what one workspace does never changes what becomes of another's recipients.

const WINDOW_MS = 10 * 60_000;
const MASS = 20;
const BUCKET_MS = 60_000;
/** Sites at which a workspace's answers are remembered, of all workspaces together. */
const MAX_WATCHED = 5_000;
/** Suppressed recipients of one workspace at one site that are remembered for the window; the oldest go first. */
const MAX_RECENT = 5_000;

/** The recipient that a hard answer was about. */
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

/** The site under which the answers of DNS are watched. */
export const DNS_SITE = "dns";

interface Bucket {
  /** Unix ms of its beginning. */
  at: number;
  hard: number;
  replies: number;
}

/** A site's answers about one workspace's mail. */
interface Watched {
  buckets: Bucket[];
  /** Suppressed within the window, in that order, by address. */
  recent: Map<string, { recipient: RefusedRecipient; at: number }>;
}

export type Suppressing =
  | { kind: "now" }
  /** Not before the operator has looked; `earlier` were suppressed and are to wait too. */
  | { kind: "held"; earlier: RefusedRecipient[] };

/** The answers of sites in the last ten minutes. */
export class RefusalWatch {
  /** By workspace, then by site; the site that was not used for longest comes first. */
  readonly #workspaces = new Map<number, Map<string, Watched>>();
  #count = 0;
  readonly #massShare: number;

  /** `massShare`: of the answers, above which refusals are a mass. */
  constructor(massShare = 1 / 2) {
    this.#massShare = massShare;
  }

  /** A site answered about a message, but not that its recipient cannot be. */
  noteReply(site: string, workspaceId: number, now: number): void {
    openBucket(this.#watched(site, workspaceId, now), now).replies += 1;
  }

  /** A site said for good that a recipient cannot be. */
  noteHard(site: string, workspaceId: number, now: number): void {
    const bucket = openBucket(this.#watched(site, workspaceId, now), now);
    bucket.replies += 1;
    bucket.hard += 1;
  }

  /**
   * Whether such an answer, noted at `now`, suppresses. Belongs into the transaction that writes what comes of
   * it, so that of two answers the later written one knows of the other; asked again of the same answer, after a
   * transaction that could not be kept, it counts nothing twice.
   */
  decide(site: string, recipient: RefusedRecipient, now: number): Suppressing {
    const { recent } = this.#watched(site, recipient.workspaceId, now);
    const watched = this.#ofSite(site);
    for (const each of watched.values()) forgetOld(each, now);
    if (this.#isMass(watched, recipient.workspaceId, now)) {
      const affected = [...watched].filter(([workspaceId]) => this.#isMass(watched, workspaceId, now));
      const earlier = affected.flatMap(([, each]) => [...each.recent.values()].map(({ recipient: known }) => known));
      return { kind: "held", earlier };
    }
    recent.delete(recipient.address);
    recent.set(recipient.address, { recipient, at: now });
    const oldest = recent.keys().next();
    if (recent.size > MAX_RECENT && oldest.done === false) recent.delete(oldest.value);
    return { kind: "now" };
  }

  /** The `earlier` ones of a decision were taken back, and that is durable. */
  forget(site: string, earlier: RefusedRecipient[]): void {
    for (const { workspaceId, address } of earlier)
      this.#workspaces.get(workspaceId)?.get(site)?.recent.delete(address);
  }

  /** Whether what the site answered is a mass for this workspace. */
  #isMass(watched: Map<number, Watched>, workspaceId: number, now: number): boolean {
    const own = sum(watched.get(workspaceId), now);
    if (this.#isAboveLimits(own)) return true;
    const others = [...watched].filter(([id]) => id !== workspaceId).map(([, each]) => sum(each, now));
    const [, ...rest] = others.toSorted((a, b) => b.hard - a.hard);
    return this.#isAboveLimits(rest.reduce((all, each) => add(all, each), own));
  }

  #isAboveLimits({ hard, replies }: Answers): boolean {
    return hard >= MASS && hard > replies * this.#massShare;
  }

  #ofSite(site: string): Map<number, Watched> {
    const found = new Map<number, Watched>();
    for (const [workspaceId, sites] of this.#workspaces) {
      const watched = sites.get(site);
      if (watched !== undefined) found.set(workspaceId, watched);
    }
    return found;
  }

  #watched(site: string, workspaceId: number, now: number): Watched {
    const known = this.#workspaces.get(workspaceId)?.get(site);
    if (known === undefined) this.#makeRoom(now);
    const sites = this.#workspaces.get(workspaceId) ?? new Map<string, Watched>();
    this.#workspaces.set(workspaceId, sites);
    const watched = known ?? { buckets: [], recent: new Map() };
    sites.delete(site);
    sites.set(site, watched);
    return watched;
  }

  /** For one more: what is too old goes, then the oldest of the workspace that has the most sites. */
  #makeRoom(now: number): void {
    this.#count += 1;
    if (this.#count <= MAX_WATCHED) return;
    let most = new Map<string, Watched>();
    for (const [workspaceId, sites] of this.#workspaces) {
      for (const [site, { buckets }] of sites) {
        if ((buckets.at(-1)?.at ?? 0) > now - WINDOW_MS) break;
        this.#forget(sites, site);
      }
      if (sites.size === 0) this.#workspaces.delete(workspaceId);
      if (sites.size > most.size) most = sites;
    }
    const [oldest] = most.keys();
    if (this.#count > MAX_WATCHED && oldest !== undefined) this.#forget(most, oldest);
  }

  #forget(sites: Map<string, Watched>, site: string): void {
    sites.delete(site);
    this.#count -= 1;
  }
}

function forgetOld({ recent }: Watched, now: number): void {
  for (const [address, { at }] of recent) {
    if (at > now - WINDOW_MS) break;
    recent.delete(address);
  }
}

function openBucket({ buckets }: Watched, now: number): Bucket {
  const at = now - (now % BUCKET_MS);
  const last = buckets.at(-1);
  if (last?.at === at) return last;
  const made = { at, hard: 0, replies: 0 };
  buckets.push(made);
  if (buckets.length > WINDOW_MS / BUCKET_MS + 1) buckets.shift();
  return made;
}

interface Answers {
  hard: number;
  replies: number;
}

function sum(watched: Watched | undefined, now: number): Answers {
  const within = (watched?.buckets ?? []).filter(({ at }) => at > now - WINDOW_MS);
  return within.reduce<Answers>(add, { hard: 0, replies: 0 });
}

function add(one: Answers, other: Answers): Answers {
  return { hard: one.hard + other.hard, replies: one.replies + other.replies };
}
