// What became of every email: read from the stopped instance's database, and held against what the
// sink remembers of its own answers.

import { Database } from "bun:sqlite";
import { findReaction } from "../../src/protocols/smtp/providers.ts";
import type { SinkTally } from "../reply-sink.ts";
import { databaseFile } from "../rows.ts";
import { siteOf, type Destination } from "./street.ts";

export interface Outcome {
  recipient: string;
  domain: string;
  status: "delivered" | "bounced" | "failed" | "queued" | "suppressed";
  attempts: number;
  /** Attempts that were put off. */
  deferrals: number;
  /** From the acceptance to the end; null while it is queued. */
  finalMs: number | null;
}

/** The waits before the attempts of that number, in order of length. */
export interface Waits {
  attempt: number;
  waitsMs: number[];
}

/** What must be empty: emails by what is wrong with them. */
export interface Disagreements {
  /** Accepted by the API, and not in the database. */
  lost: string[];
  /** The sink has taken them more than once. */
  twice: string[];
  /** Taken by the sink and not recorded as delivered, or the reverse. */
  unrecorded: string[];
  /** Bounced, and the sink has never answered 5xx. */
  unjustified: string[];
}

export function readOutcomes(dataFolder: string): { outcomes: Outcome[]; waits: Waits[] } {
  using database = new Database(databaseFile(dataFolder), { readonly: true });
  const rows = database
    .query<Omit<Outcome, "domain"> & { endedAt: number | null; createdAt: number }, []>(
      `SELECT recipient, status, COALESCE(email_queue.attempts, email.attempts) AS attempts,
         (SELECT COUNT(*) FROM attempt WHERE email_id = email.id AND outcome = 'deferred') AS deferrals,
         ended_at - email.created_at AS finalMs
       FROM email LEFT JOIN email_queue ON email_queue.id = email.id`,
    )
    .all();
  const gaps = database
    .query<{ attempt: number; waitMs: number }, []>(
      `SELECT after.number AS attempt, after.started_at - before.ended_at AS waitMs
       FROM attempt AS after JOIN attempt AS before
         ON before.email_id = after.email_id AND before.number = after.number - 1 ORDER BY 1, 2`,
    )
    .all();
  const waits = Map.groupBy(gaps, ({ attempt }) => attempt)
    .entries()
    .map(([attempt, all]) => ({ attempt, waitsMs: all.map(({ waitMs }) => waitMs) }));
  const outcomes = rows.map((row) => ({ ...row, domain: row.recipient.slice(row.recipient.indexOf("@") + 1) }));
  return { outcomes, waits: [...waits] };
}

/** Holds pombo's word against the sink's. */
export function compare(accepted: string[], outcomes: Outcome[], tally: SinkTally): Disagreements {
  const byRecipient = new Map(outcomes.map((outcome) => [outcome.recipient, outcome]));
  const found: Disagreements = { lost: [], twice: [], unrecorded: [], unjustified: [] };
  for (const recipient of accepted) {
    const outcome = byRecipient.get(recipient);
    const taken = tally[recipient];
    const times = taken?.accepted ?? 0;
    if (outcome === undefined) found.lost.push(recipient);
    if (times > 1) found.twice.push(recipient);
    if (times > 0 !== (outcome?.status === "delivered")) found.unrecorded.push(recipient);
    if (outcome?.status === "bounced" && (taken?.refused ?? 0) === 0) found.unjustified.push(recipient);
  }
  return found;
}

export interface Hold {
  site: string;
  reason: string;
  /** How long, as told when it began. */
  forMs: number;
  /** Unix ms. */
  until: number;
}

/** The times at which a site was left alone, longest first for each site, from the log. */
export function readHolds(log: string): Hold[] {
  const holds: Hold[] = [];
  for (const line of log.split("\n")) {
    if (!line.includes('"site.blocked"')) continue;
    const { time, site, until, reason } = JSON.parse(line) as Record<string, string>;
    const end = Date.parse(until ?? "");
    holds.push({ site: site ?? "", reason: reason ?? "", until: end, forMs: end - Date.parse(time ?? "") });
  }
  return holds.toSorted((a, b) => b.forMs - a.forMs);
}

/** Domains whose site gets nothing at `now`, or one message a minute. */
export function heldDomains(street: Destination[], holds: Hold[], now: number): Set<string> {
  const isHeld = ({ until, reason }: Hold): boolean =>
    until > now || findReaction(reason, "mx.example.net", true)?.kind === "pace";
  const sites = new Set(holds.filter(isHeld).map(({ site }) => site));
  return new Set(street.filter((destination) => sites.has(siteOf(destination))).map(({ domain }) => domain));
}
