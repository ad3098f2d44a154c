/**
 * The health of each site (R12: the set of MX hosts behind a domain): how many sessions it bears, and
 * until when nothing is to be sent to it. Blocking a site touches one record here, never the messages
 * that wait for it.
 *
 * A site starts with 5 sessions and grows by one for each round of successes up to its limit (R31). A
 * connection that fails takes one away. Five failures in a row block it (R33), for longer each time;
 * when the block ends one session probes it, and its first success opens it again. 421 gives it a rest
 * of some seconds (R25). Requests in its answers (suspend, fewer sessions, slower) are followed (R32, R34).
 * Only the remote's own answers and failing connections count: never failures of our own, which would feed
 * itself.
 *
 * A request in an answer to one owner's mail holds for that owner's mail only (site-restraint.ts):
 * it may be about what that owner sends. It holds for all once two owners were told so, or where
 * the site cannot have meant a message: before MAIL.
 */
import type { Clock } from "../../platform/clock.ts";
import { type Category, classifyReply } from "./replies/classify.ts";
import { BEFORE_MAIL, type Stage } from "./replies/stage.ts";
import type { OwnReply } from "./replies/remove-echo.ts";
import {
  BLOCKED_AFTER,
  BLOCKED_CATEGORY,
  BLOCKED_REACTION,
  type Reaction,
  findReaction,
  findSiteRules,
  type SiteRules,
} from "./providers.ts";
import { formatReply } from "./replies/reply.ts";
import { Restraint, type SiteBlock } from "./site-restraint.ts";
import { describeTransmission, type Transmission } from "./transmit.ts";

export type { SiteBlock };

const START_SESSIONS = 5;
/** R33: connection failures in a row before the site is blocked. */
const FAILURES_TO_BLOCK = 5;
/** How long, by the number of blocks without a success between them. */
const BLOCK_MS = [60_000, 300_000, 600_000, 900_000, 1_800_000];
/** R25: after a 421, by how many came in a row. */
const REST_MS = [5_000, 15_000, 30_000, 60_000, 120_000];
const MAX_LOOKED_AT = 100;
/** A site that asks for less mail so often within an hour is paced (R32), until so many messages in a row were welcome. */
const PACED_AFTER = 2;
/** How long an answer counts with the next of its kind. */
const COUNTS_MS = 60 * 60_000;
/** Answers of a kind that are remembered. */
const MAX_ASKS = BLOCKED_AFTER;
/** Sites remembered; those without anything to remember go first. */
const MAX_SITES = 20_000;
/** Owners of a site with restraints of their own, before those that are over are forgotten. */
const MAX_OWN = 100;

/** The request in an answer. */
type Kind = Reaction["kind"] | "rest" | "blocked";

interface Ask {
  at: number;
  /** The owner whose message it answered; null: it is about all mail. */
  by: number | null;
}

/** Its times are those of the steady clock. */
interface Site {
  rules: SiteRules | null;
  /** Sessions it may have now; grows in fractions. */
  window: number;
  /** Connection failures in a row. */
  failures: number;
  /** Blocks in a row. */
  blocks: number;
  /** The restraint on all mail. */
  all: Restraint;
  /** The restraints on the mail of single owners. */
  own: Map<number, Restraint>;
  /** The last answers that asked for something. */
  asks: Map<Kind, Ask[]>;
}

/** A block, and the owner whose mail it holds up; null: all mail. */
export interface BlockedSite {
  site: string;
  owner: number | null;
  block: SiteBlock;
}

export interface SitesOptions {
  clock: Pick<Clock, "now">;
  /** Measures how long a site is blocked. */
  steady: Pick<Clock, "now">;
  /** The limit where no rule says another. */
  maxSessions: number;
  /** The operator's entries, then the provider table. */
  rules: readonly SiteRules[];
  /** A block began, with its reason, or the site answers again (null); for the mail of one owner, or all (null). */
  tell: (site: string, block: SiteBlock | null, owner: number | null) => void;
}

export class Sites {
  readonly #options: SitesOptions;
  readonly #sites = new Map<string, Site>();

  constructor(options: SitesOptions) {
    this.#options = options;
  }

  /** Sessions that the site may have open now, at least 1. */
  sessionLimit(name: string): number {
    const site = this.#sites.get(name);
    if (site === undefined) return Math.min(START_SESSIONS, this.#getLimit(findSiteRules(name, this.#options.rules)));
    return Math.floor(Math.min(site.window, site.all.sessions(this.#now())));
  }

  /** Sessions that the mail of one owner may have of them; Infinity: as many as there are. */
  ownerSessionLimit(name: string, owner: number): number {
    return this.#sites.get(name)?.own.get(owner)?.sessions(this.#now()) ?? Infinity;
  }

  /** Why and until when nothing of an owner (null: of anybody) may be sent to it; null when it may. */
  findBlock(name: string, owner: number | null): SiteBlock | null {
    const site = this.#sites.get(name);
    if (site === undefined) return null;
    const now = this.#now();
    const ofAll = site.all.blockAt(now);
    const own = owner === null ? null : (site.own.get(owner)?.blockAt(now) ?? null);
    const last = own !== null && (ofAll === null || own.until > ofAll.until) ? own : ofAll;
    return last === null ? null : this.#shown(last);
  }

  /** Messages that one session may carry; null: no limit. */
  messagesPerSession(name: string): number | null {
    const site = this.#sites.get(name);
    const rules = site === undefined ? findSiteRules(name, this.#options.rules) : site.rules;
    return rules?.messagesPerSession ?? null;
  }

  /** A message of the owner is about to be sent to it. */
  begin(name: string, owner: number): void {
    const site = this.#sites.get(name);
    const now = this.#now();
    for (const restraint of [site?.all, site?.own.get(owner)]) restraint?.begin(now);
  }

  /** Learns from what became of a message of the owner. */
  learn(name: string, owner: number, transmission: Transmission): void {
    const site = this.#site(name);
    const { result } = transmission;
    if (result.kind === "accepted") this.#succeeded(name, site, owner);
    else if (result.kind === "refused") this.#answered(name, site, owner, transmission);
    else if (isConnectionFailure(transmission)) this.#failed(name, site, describeTransmission(transmission));
    // Each try to sign in would end the same way.
    else if (result.kind === "unfit" && result.stage === "auth")
      this.#failed(name, site, describeTransmission(transmission), true);
    this.#forgetSome();
  }

  /** Sites that are blocked now, and for whom. */
  blocked(): BlockedSite[] {
    const now = this.#now();
    const found: BlockedSite[] = [];
    for (const [name, { all, own }] of this.#sites) {
      for (const [owner, restraint] of [[null, all] as const, ...own]) {
        const block = restraint.blockAt(now);
        if (block !== null) found.push({ site: name, owner, block: this.#shown(block) });
      }
    }
    return found;
  }

  #succeeded(name: string, site: Site, owner: number): void {
    if (site.blocks > 0) this.#options.tell(name, null, null);
    site.failures = 0;
    site.blocks = 0;
    // Our address is not blocked where mail is taken: what was refused was about single messages.
    site.asks.delete("blocked");
    if (site.all.succeeded()) {
      site.asks.delete("pace");
      site.window = 1;
      this.#options.tell(name, null, null);
    }
    if (site.own.get(owner)?.succeeded() === true) this.#options.tell(name, null, owner);
    // One more for each round of as many successes as there are sessions.
    site.window = Math.min(this.#getLimit(site.rules), site.window + 1 / site.window);
  }

  /** `isShutOut`: wrong credentials are wrong for the next message too, and trying each locks the account. */
  #failed(name: string, site: Site, reason: string, isShutOut = false): void {
    site.failures = isShutOut ? FAILURES_TO_BLOCK : site.failures + 1;
    site.window = Math.max(1, site.window - 1);
    if (site.failures < FAILURES_TO_BLOCK) return;
    const forMs = BLOCK_MS[Math.min(site.blocks, BLOCK_MS.length - 1)] ?? 0;
    // Failures side by side are one block, not five.
    if (site.all.isBlocked(this.#now())) return;
    site.blocks += 1;
    site.window = 1;
    this.#block(name, site, null, { forMs, reason });
  }

  #answered(name: string, site: Site, owner: number, { result, heard }: Transmission): void {
    if (result.kind !== "refused" || heard === null) return;
    const { reply, stage } = result;
    const said = formatReply(reply);
    const { category } = classifyReply(heard, stage);
    // Already an answer to MAIL may be about the sender's domain, named or not, which its owner has chosen.
    const by = BEFORE_MAIL.has(stage) ? null : owner;
    const kind = findRequest({ heard, stage, category, site: name });
    if (kind !== null) return this.#react(name, site, { ...kind, by, said });
    // RFC 5321 §3.8: 421 ends the session. One about a message's content says nothing of the site.
    const isRest = reply.code === 421 && category !== "spam_content";
    // Not even let in.
    if (!isRest && BEFORE_MAIL.has(stage)) return this.#failed(name, site, said, stage === "auth");
    site.failures = 0;
    if (isRest) return this.#rest(name, site, by, said);
    site.all.rests = 0;
    const own = site.own.get(owner);
    if (own !== undefined) own.rests = 0;
  }

  #rest(name: string, site: Site, by: number | null, said: string): void {
    const { scope, restraint } = this.#note(site, "rest", by);
    const forMs = REST_MS[Math.min(restraint.rests, REST_MS.length - 1)] ?? 0;
    if (restraint.isBlocked(this.#now())) return;
    restraint.rests += 1;
    if (scope === null) site.window = Math.max(1, site.window / 2);
    this.#block(name, site, scope, { forMs, reason: said });
  }

  #react(
    name: string,
    site: Site,
    ask: { kind: Kind; reaction: Reaction; least: number; by: number | null; said: string },
  ): void {
    const { kind, reaction, said } = ask;
    const now = this.#now();
    const { scope, restraint, count } = this.#note(site, kind, ask.by);
    if (count < ask.least) return;
    const until = now + reaction.forMs;
    switch (reaction.kind) {
      case "suspend":
        return this.#block(name, site, scope, { forMs: reaction.forMs, reason: said });
      case "narrow":
        restraint.narrow = { sessions: reaction.sessions, until };
        return;
      case "pace": {
        const { intervalMs } = reaction;
        // Once may be about one message, and gives the site a rest only.
        if (count < PACED_AFTER) return this.#block(name, site, scope, { forMs: intervalMs, reason: said });
        restraint.pace = { intervalMs, until, nextAt: now + intervalMs, successes: 0 };
        this.#options.tell(name, this.#shown({ until: now + intervalMs, reason: said }), scope);
      }
    }
  }

  /** Counts an answer that asks for something, with those before it, and says for whom it holds. */
  #note(site: Site, kind: Kind, by: number | null): { scope: number | null; restraint: Restraint; count: number } {
    const now = this.#now();
    const before = (site.asks.get(kind) ?? []).filter(({ at }) => at > now - COUNTS_MS);
    const asks = [...before, { at: now, by }].slice(-MAX_ASKS);
    site.asks.set(kind, asks);
    const isOfOne = by !== null && asks.every((ask) => ask.by === by);
    const restraint = isOfOne ? this.#own(site, by) : site.all;
    return { scope: isOfOne ? by : null, restraint, count: asks.length };
  }

  #block(name: string, site: Site, scope: number | null, { forMs, reason }: { forMs: number; reason: string }): void {
    const block = { until: this.#now() + forMs, reason };
    const restraint = scope === null ? site.all : this.#own(site, scope);
    if (restraint.blockUntil(block)) this.#options.tell(name, this.#shown(block), scope);
  }

  #now(): number {
    return this.#options.steady.now();
  }

  /** With its end as the wall clock shows it. */
  #shown({ until, reason }: SiteBlock): SiteBlock {
    return { until: this.#options.clock.now() + Math.ceil(until - this.#now()), reason };
  }

  #own(site: Site, owner: number): Restraint {
    let own = site.own.get(owner);
    if (own !== undefined) return own;
    const now = this.#now();
    if (site.own.size >= MAX_OWN)
      for (const [id, restraint] of site.own) if (!restraint.isRestrained(now)) site.own.delete(id);
    own = new Restraint();
    site.own.set(owner, own);
    return own;
  }

  #getLimit(rules: SiteRules | null): number {
    return rules?.maxSessions ?? this.#options.maxSessions;
  }

  #site(name: string): Site {
    let site = this.#sites.get(name);
    if (site === undefined) {
      const rules = findSiteRules(name, this.#options.rules);
      site = {
        rules,
        window: Math.min(START_SESSIONS, this.#getLimit(rules)),
        failures: 0,
        blocks: 0,
        all: new Restraint(),
        own: new Map(),
        asks: new Map(),
      };
    } else this.#sites.delete(name);
    // At the end of the order: the first is the one used longest ago.
    this.#sites.set(name, site);
    return site;
  }

  #forgetSome(): void {
    if (this.#sites.size <= MAX_SITES) return;
    const now = this.#now();
    // The one used longest ago that is not held: what a site asked for must not be forgotten before its time.
    let looked = 0;
    for (const [name, { all, own }] of this.#sites) {
      looked += 1;
      const isRestrained = [all, ...own.values()].some((restraint) => restraint.isRestrained(now));
      if (isRestrained && looked < MAX_LOOKED_AT) continue;
      this.#sites.delete(name);
      return;
    }
  }
}

/** RFC 3463 §3.2: an address is the matter, one of the two in the envelope. */
const ABOUT_ADDRESS = /^[45]\.1\./;
const CONTENT = new Set<Stage>(["block", "dot"]);

/** The request in the words of an answer, and how many such answers are needed; null: none. */
function findRequest(answer: { heard: OwnReply; stage: Stage; category: Category; site: string }) {
  const { heard, stage, category, site } = answer;
  if (stage === "rcpt" && ABOUT_ADDRESS.test(heard.enhanced ?? "")) return null;
  // A server that quotes the content may quote more of it than we find.
  if (CONTENT.has(stage) && heard.isEcho) return null;
  const reaction = findReaction(heard.words, site, heard.code < 500 || stage === "greeting");
  if (reaction !== null) return { kind: reaction.kind, reaction, least: 1 };
  if (category !== BLOCKED_CATEGORY) return null;
  // R34: after the greeting one may be about one message.
  const least = stage === "greeting" ? 1 : BLOCKED_AFTER;
  return { kind: "blocked" as const, reaction: BLOCKED_REACTION, least };
}

/** Failures of this machine, by the system's names: they say nothing of the site. */
const OUR_OWN = /EADDRNOTAVAIL|ENETUNREACH|ENETDOWN|EMFILE|ENFILE|ENOBUFS|ENOMEM|EPERM|EACCES/;

/** No session came about: nobody answered, or it broke before the first command. */
function isConnectionFailure({ result }: Transmission): boolean {
  if (result.kind !== "broken" || OUR_OWN.test(result.reason)) return false;
  return BEFORE_MAIL.has(result.stage);
}
