/**
 * The health of each site (R12: the set of MX hosts behind a domain): how many sessions it bears, and
 * until when nothing is to be sent to it. Blocking a site touches one record here, never the messages
 * that wait for it.
 *
 * A site starts with 5 sessions and grows by one for each round of successes up to its limit (R31). A
 * connection that fails takes one away. Five failures in a row block it (R33), for longer each time;
 * when the block ends one session probes it, and its first success opens it again. 421 gives it a rest
 * of some seconds (R25). What its answers ask for (suspend, fewer sessions, slower) is done (R32, R34).
 * Only the remote's own answers and failing connections count: never our own trouble, which would feed
 * itself.
 */
import type { Clock } from "../clock.ts";
import { BEFORE_MAIL, classifyReply } from "./classify.ts";
import {
  BLOCKED_AFTER,
  BLOCKED_CATEGORY,
  BLOCKED_REACTION,
  type Reaction,
  reactionTo,
  rulesFor,
  type SiteRules,
} from "./providers.ts";
import { formatReply } from "./reply.ts";
import { describeTransmission, type Transmission } from "./transmit.ts";

const START_SESSIONS = 5;
/** R33: connection failures in a row before the site is left alone. */
const FAILURES_TO_BLOCK = 5;
/** How long, by the number of blocks without a success between them. */
const BLOCK_MS = [60_000, 300_000, 600_000, 900_000, 1_800_000];
/** R25: after a 421, by how many came in a row. */
const REST_MS = [5_000, 15_000, 30_000, 60_000, 120_000];
const MAX_LOOKED_AT = 100;
/** A site that asks for less mail twice within this is paced (R32), until so many messages in a row were welcome. */
const PACED_AFTER = { count: 2, withinMs: 60 * 60_000 };
const SUCCESSES_TO_SPEED_UP = 5;
/** Sites remembered; those without anything to remember go first. */
const MAX_SITES = 20_000;

export interface SiteBlock {
  /** Unix ms. */
  until: number;
  /** For the log and the metrics: what the site said or did. */
  reason: string;
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
  /** 421 in a row. */
  rests: number;
  block: SiteBlock | null;
  narrow: { sessions: number; until: number } | null;
  pace: { intervalMs: number; until: number; nextAt: number; successes: number } | null;
  /** When it said something that asks for a slower pace. */
  slowAt: number[];
  /** When it said that our address is blocked. */
  refusedAt: number[];
}

export interface SitesOptions {
  clock: Pick<Clock, "now">;
  /** What a site is to be left alone for is measured with it. */
  steady: Pick<Clock, "now">;
  /** The limit where no rule says another. */
  maxSessions: number;
  /** The operator's entries, then the provider table. */
  rules: readonly SiteRules[];
  /** A block began, with its reason, or the site answers again (null). */
  tell: (site: string, block: SiteBlock | null) => void;
}

export class Sites {
  readonly #options: SitesOptions;
  readonly #sites = new Map<string, Site>();

  constructor(options: SitesOptions) {
    this.#options = options;
  }

  /** Sessions that the site may have open now, at least 1. */
  sessionsOf(name: string): number {
    const site = this.#sites.get(name);
    if (site === undefined) return Math.min(START_SESSIONS, this.#limitOf(rulesFor(hostOf(name), this.#options.rules)));
    if (this.#isPaced(site)) return 1;
    const isNarrow = site.narrow !== null && site.narrow.until > this.#now();
    return Math.floor(Math.min(site.window, isNarrow ? (site.narrow?.sessions ?? 1) : Infinity));
  }

  /** Why and until when nothing may be sent to it; null when it may. */
  blockOf(name: string): SiteBlock | null {
    const site = this.#sites.get(name);
    if (site === undefined) return null;
    const now = this.#now();
    if (site.block !== null && site.block.until > now) return this.#shown(site.block);
    if (this.#isPaced(site) && site.pace !== null && site.pace.nextAt > now)
      return this.#shown({ until: site.pace.nextAt, reason: "the site asked for less mail" });
    return null;
  }

  /** Messages that one session may carry; null: no limit. */
  messagesPerSession(name: string): number | null {
    const site = this.#sites.get(name);
    const rules = site === undefined ? rulesFor(hostOf(name), this.#options.rules) : site.rules;
    return rules?.messagesPerSession ?? null;
  }

  /** A message is about to be sent to it. */
  begin(name: string): void {
    const site = this.#sites.get(name);
    if (site !== undefined && site.pace !== null) site.pace.nextAt = this.#now() + site.pace.intervalMs;
  }

  /** Learns from what became of a message. */
  learn(name: string, transmission: Transmission): void {
    const site = this.#site(name);
    const { result } = transmission;
    if (result.kind === "accepted") this.#succeeded(name, site);
    else if (isConnectionFailure(transmission)) this.#failed(name, site, describeTransmission(transmission));
    else if (result.kind === "refused" && (!result.isOurs || result.stage === "auth"))
      this.#answered(name, site, transmission);
    this.#forgetSome();
  }

  /** Sites that are blocked now. */
  blocked(): { site: string; block: SiteBlock }[] {
    const found: { site: string; block: SiteBlock }[] = [];
    for (const site of this.#sites.keys()) {
      const block = this.blockOf(site);
      if (block !== null) found.push({ site, block });
    }
    return found;
  }

  #succeeded(name: string, site: Site): void {
    if (site.blocks > 0) this.#options.tell(name, null);
    site.failures = 0;
    site.blocks = 0;
    site.rests = 0;
    // Our address is not blocked where mail is taken: what was refused was about single messages.
    site.refusedAt = [];
    if (site.pace !== null && ++site.pace.successes >= SUCCESSES_TO_SPEED_UP) {
      site.pace = null;
      site.slowAt = [];
      site.window = 1;
      this.#options.tell(name, null);
    }
    // One more for each round of as many successes as there are sessions.
    site.window = Math.min(this.#limitOf(site.rules), site.window + 1 / site.window);
  }

  #failed(name: string, site: Site, reason: string): void {
    site.failures += 1;
    site.window = Math.max(1, site.window - 1);
    if (site.failures < FAILURES_TO_BLOCK) return;
    const forMs = BLOCK_MS[Math.min(site.blocks, BLOCK_MS.length - 1)] ?? 0;
    // What failed side by side is one block, not five.
    if (this.#isBlocked(site)) return;
    site.blocks += 1;
    site.window = 1;
    this.#block(name, site, forMs, reason);
  }

  #answered(name: string, site: Site, transmission: Transmission): void {
    const { result } = transmission;
    if (result.kind !== "refused") return;
    const { reply, stage } = result;
    const said = formatReply(reply);
    const { category } = classifyReply(reply, stage);
    const isPassing = reply.code < 500 || stage === "greeting";
    const reaction =
      reactionTo(said, name, isPassing) ?? this.#reactionToBlocking(site, category, stage === "greeting");
    if (reaction !== null) return this.#react(name, site, reaction, said);
    // RFC 5321 §3.8: 421 ends the session. What it says of a message's content says nothing of the site.
    const isRest = reply.code === 421 && category !== "spam_content";
    // Not even let in. Wrong credentials are wrong for the next message too, and trying each locks the account.
    if (!isRest && BEFORE_MAIL.has(stage)) {
      if (stage === "auth") site.failures = FAILURES_TO_BLOCK;
      return this.#failed(name, site, said);
    }
    site.failures = 0;
    if (!isRest) {
      site.rests = 0;
      return;
    }
    const forMs = REST_MS[Math.min(site.rests, REST_MS.length - 1)] ?? 0;
    if (this.#isBlocked(site)) return;
    site.rests += 1;
    site.window = Math.max(1, site.window / 2);
    this.#block(name, site, forMs, said);
  }

  #reactionToBlocking(site: Site, category: string, isGreeting: boolean): Reaction | null {
    if (category !== BLOCKED_CATEGORY) return null;
    const now = this.#now();
    site.refusedAt = [...site.refusedAt.filter((at) => at > now - BLOCKED_AFTER.withinMs), now].slice(
      -BLOCKED_AFTER.count,
    );
    return isGreeting || site.refusedAt.length >= BLOCKED_AFTER.count ? BLOCKED_REACTION : null;
  }

  #react(name: string, site: Site, reaction: Reaction, said: string): void {
    const now = this.#now();
    const until = now + reaction.forMs;
    switch (reaction.kind) {
      case "suspend":
        this.#block(name, site, reaction.forMs, said);
        return;
      case "narrow":
        site.narrow = { sessions: reaction.sessions, until };
        return;
      case "pace":
        // Once may be about one message, and gives the site a rest only.
        site.slowAt = [...site.slowAt.filter((at) => at > now - PACED_AFTER.withinMs), now].slice(-PACED_AFTER.count);
        if (site.slowAt.length < PACED_AFTER.count) return this.#block(name, site, reaction.intervalMs, said);
        site.pace = { intervalMs: reaction.intervalMs, until, nextAt: now + reaction.intervalMs, successes: 0 };
        this.#options.tell(name, this.#shown({ until: site.pace.nextAt, reason: said }));
    }
  }

  #block(name: string, site: Site, forMs: number, reason: string): void {
    const until = this.#now() + forMs;
    if (site.block !== null && site.block.until >= until) return;
    site.block = { until, reason };
    this.#options.tell(name, this.#shown(site.block));
  }

  #now(): number {
    return this.#options.steady.now();
  }

  /** With its end as the wall clock shows it. */
  #shown({ until, reason }: SiteBlock): SiteBlock {
    return { until: this.#options.clock.now() + Math.ceil(until - this.#now()), reason };
  }

  #isBlocked(site: Site): boolean {
    return site.block !== null && site.block.until > this.#now();
  }

  #isPaced(site: Site): boolean {
    return site.pace !== null && site.pace.until > this.#now();
  }

  #limitOf(rules: SiteRules | null): number {
    return rules?.maxSessions ?? this.#options.maxSessions;
  }

  #site(name: string): Site {
    let site = this.#sites.get(name);
    if (site === undefined) {
      const rules = rulesFor(hostOf(name), this.#options.rules);
      site = {
        rules,
        window: Math.min(START_SESSIONS, this.#limitOf(rules)),
        failures: 0,
        blocks: 0,
        rests: 0,
        block: null,
        narrow: null,
        pace: null,
        refusedAt: [],
        slowAt: [],
      };
    } else this.#sites.delete(name);
    // At the end of the order: the first is the one used longest ago.
    this.#sites.set(name, site);
    return site;
  }

  #forgetSome(): void {
    if (this.#sites.size <= MAX_SITES) return;
    // The one used longest ago that is not held: what a site asked for must not be forgotten before its time.
    let looked = 0;
    for (const [name, site] of this.#sites) {
      looked += 1;
      const isHeld = this.#isBlocked(site) || this.#isPaced(site);
      if (isHeld && looked < MAX_LOOKED_AT) continue;
      this.#sites.delete(name);
      return;
    }
  }
}

/** The first host of a site's name, which is enough to know the provider by. */
function hostOf(site: string): string {
  const comma = site.indexOf(",");
  return comma < 0 ? site : site.slice(0, comma);
}

/** This machine's own trouble, by the system's names: it says nothing of the site. */
const OUR_OWN = /EADDRNOTAVAIL|ENETUNREACH|ENETDOWN|EMFILE|ENFILE|ENOBUFS|ENOMEM|EPERM|EACCES/;

/** No session came about: nobody answered, or it broke before the first command. */
function isConnectionFailure({ result }: Transmission): boolean {
  if (result.kind !== "broken" || OUR_OWN.test(result.reason)) return false;
  return BEFORE_MAIL.has(result.stage);
}
