/**
 * The large providers, as data: how many sessions they bear, how many messages in
 * one, whether TLS can be insisted on, and what some of their answers ask of a sender (R31, R32).
 * Facts of 2026 that move; the operator's own entries ([[sites]]) come first. Pure.
 */
import type { Category } from "./replies/rules.ts";

/** The limits of a provider. Null: as for every other site. */
export interface SiteRules {
  name: string;
  /** Its mail hosts are these names or end in them (`google.com` matches `aspmx.l.google.com`). */
  mx: readonly string[];
  maxSessions: number | null;
  messagesPerSession: number | null;
  /** A session in clear is never opened to it: it has always offered TLS, so its absence is an attack or a fault. */
  isTlsRequired: boolean;
}

function provider(name: string, mx: string[], limits: Partial<SiteRules>): SiteRules {
  return { name, mx, maxSessions: null, messagesPerSession: null, isTlsRequired: false, ...limits };
}

/** R31. */
export const PROVIDERS: readonly SiteRules[] = [
  provider("google", ["google.com", "googlemail.com", "smtp.goog"], {
    maxSessions: 5,
    messagesPerSession: 50,
    isTlsRequired: true,
  }),
  provider("outlook", ["protection.outlook.com", "mx.microsoft"], { maxSessions: 5, messagesPerSession: 50 }),
  provider("apple", ["mail.icloud.com"], { maxSessions: 10, messagesPerSession: 5 }),
  provider("yahoo", ["yahoodns.net"], { messagesPerSession: 20 }),
  provider("orange", ["orange.fr", "wanadoo.fr"], { maxSessions: 2, isTlsRequired: true }),
  provider("gmx", ["gmx.net", "web.de"], { maxSessions: 4, messagesPerSession: 20, isTlsRequired: true }),
  provider("qq", ["qq.com"], { maxSessions: 4, messagesPerSession: 8, isTlsRequired: true }),
  provider("netease", ["netease.com", "163.com"], { maxSessions: 4, messagesPerSession: 7 }),
  provider("mimecast", ["mimecast.com"], { maxSessions: 10, messagesPerSession: 100 }),
  provider("kpn", ["kpnmail.nl"], { maxSessions: 10, messagesPerSession: 10 }),
  provider("comcast", ["comcast.net"], { maxSessions: 25, messagesPerSession: 1000, isTlsRequired: true }),
];

/** The first of `rules` that `host` (lower case) belongs to, or null. */
export function findRules(host: string, rules: readonly SiteRules[]): SiteRules | null {
  return rules.find(({ mx }) => mx.some((name) => host === name || host.endsWith(`.${name}`))) ?? null;
}

/** The reaction to one of a site's answers. */
export type Reaction =
  /** Nothing more is sent to it for so long. */
  | { kind: "suspend"; forMs: number }
  /** How many sessions at once, and for how long. */
  | { kind: "narrow"; sessions: number; forMs: number }
  /** One message in each interval for so long. */
  | { kind: "pace"; intervalMs: number; forMs: number };

interface ReactionRule {
  /** On the words heard, which are lower case. */
  pattern: RegExp;
  /** Whose words these are: anybody can write them into a refusal. Absent: everybody's, and believed of passing refusals only. */
  provider?: string;
  reaction: Reaction;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** R32, the first that matches; only on what the remote server said. */
const REACTIONS: readonly ReactionRule[] = [
  // Yahoo: too much from this address, or complaints about it.
  { pattern: /\[(?:ip)?ts{1,2}04\]/, provider: "yahoo", reaction: { kind: "suspend", forMs: 2 * HOUR_MS } },
  // Apple: the address is being looked at.
  { pattern: /\[(?:hcm1|bs02)\]/, provider: "apple", reaction: { kind: "suspend", forMs: 15 * MINUTE_MS } },
  {
    pattern: /exceeded the (?:maximum|allowable) number of connections|too many (?:concurrent )?connections/,
    reaction: { kind: "narrow", sessions: 1, forMs: HOUR_MS },
  },
  {
    pattern: /temporarily deferred|unusual rate of unsolicited mail originating from your ip/,
    reaction: { kind: "pace", intervalMs: MINUTE_MS, forMs: 90 * MINUTE_MS },
  },
];

/** R34: our address is blocked; what is tried meanwhile would only be refused, and bounce. */
export const BLOCKED_REACTION: Reaction = { kind: "suspend", forMs: HOUR_MS };
/** Refusals of this kind after the greeting count only when so many come within an hour: one may be about one message. */
export const BLOCKED_AFTER = 3;
export const BLOCKED_CATEGORY: Category = "spam_block";

/** The reaction that a reply of `site` asks for, by its own words; `isPassing`: it refuses for now only (4xx, or a greeting). */
export function findReaction(words: string, site: string, isPassing: boolean): Reaction | null {
  const isSaid = ({ pattern, provider: whose }: ReactionRule) =>
    pattern.test(words) && (whose === undefined ? isPassing : findSiteRules(site, PROVIDERS)?.name === whose);
  return REACTIONS.find(isSaid)?.reaction ?? null;
}

/** By the first host of a site's name, which is enough to know the provider by; an egress may follow (`name via egress`). */
export function findSiteRules(site: string, rules: readonly SiteRules[]): SiteRules | null {
  const end = site.search(/[, ]/);
  return findRules(end < 0 ? site : site.slice(0, end), rules);
}
