// Decides when somebody is told of a trouble.
//
//   unseen → seen → told → gone → ended      seen → unseen: it was a hiccup
//                     ↑      |                gone → told: it came back before its end was told, and nobody hears of it
//                     +------+
//
// It is told once it was there for two minutes, added up over gaps shorter than that, and again when it becomes a problem.
// Each day on which it lasts there is a reminder. Its end is told once it stayed away: the more often it came back within a
// day, the longer that takes, so that a trouble that comes and goes all night makes a handful of messages.
// What was told is in the database; what is only seen is here, and begins anew with the process.

import type { Level, Trouble } from "./trouble.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** A shorter trouble is a hiccup. */
const TELL_AFTER_MS = 2 * MINUTE_MS;
const QUIET_MS = 2 * MINUTE_MS;
const QUIET_FACTOR = 4;
const MAX_QUIET_MS = 6 * 60 * MINUTE_MS;
/** Some troubles are seen only by trying, so that a process that has just begun does not see them yet. */
const START_GRACE_MS = 15 * MINUTE_MS;

/** A trouble that was told. Times in Unix ms. */
export interface Told {
  id: string;
  /** The worst that was told. */
  level: Level;
  what: string;
  step: string | null;
  beganAt: number;
  /** When it, or the last reminder, was told. */
  toldAt: number;
  /** When its end was told; null: it lasts. */
  endedAt: number | null;
  /** How often its end was told within a day of the one before. */
  returns: number;
}

export type NoticeKind = "began" | "worsened" | "reminded" | "ended";

/** Something to tell. */
export interface Notice extends Pick<Told, "id" | "level" | "what" | "step" | "beganAt"> {
  kind: NoticeKind;
  /** Unix ms. */
  at: number;
}

/** What a look leads to; it holds once it is written. */
export interface Decision {
  notices: Notice[];
  /** Changed rows. */
  put: Told[];
  /** Ids of rows that say nothing any more. */
  removed: string[];
}

export interface Moment {
  /** Unix ms. */
  now: number;
  /** Of a clock that never jumps. */
  steadyMs: number;
}

interface Seen {
  trouble: Trouble;
  /** How long it was there, without the gaps. */
  presentMs: number;
  lastMs: number;
  /** Since when it has not been there; null: it is. */
  goneMs: number | null;
}

export class TroubleWatch {
  readonly #startedMs: number;
  readonly #seen = new Map<string, Seen>();
  readonly #told: Map<string, Told>;

  constructor(told: readonly Told[], { steadyMs }: Pick<Moment, "steadyMs">) {
    this.#startedMs = steadyMs;
    this.#told = new Map(told.map((row) => [row.id, row]));
  }

  /** What lasts and was told. */
  get lasting(): Told[] {
    return [...this.#told.values()].filter(({ endedAt }) => endedAt === null);
  }

  /** A problem that an earlier process told was not seen by this one, which has just begun. */
  hasUnseen(steadyMs: number): boolean {
    if (steadyMs - this.#startedMs >= START_GRACE_MS) return false;
    return this.lasting.some(({ id, level }) => level === "problem" && !this.#seen.has(id));
  }

  /** Looks at what is wrong now; `unsure`: ids of what could not be looked at, and counts as it was. */
  look(troubles: readonly Trouble[], moment: Moment, isUnsure: (id: string) => boolean = () => false): Decision {
    const present = pickWorst(troubles);
    for (const [id, seen] of this.#seen) if (!present.has(id) && !isUnsure(id)) this.#noteGone(id, seen, moment);
    for (const trouble of present.values()) this.#notePresent(trouble, moment);
    const decision: Decision = { notices: [], put: [], removed: [] };
    for (const trouble of present.values()) this.#decidePresent(trouble, moment, decision);
    for (const row of this.#told.values())
      if (!present.has(row.id) && !isUnsure(row.id)) this.#decideAbsent(row, moment, decision);
    return decision;
  }

  /** A decision was written. */
  accept({ put, removed }: Decision): void {
    for (const row of put) this.#told.set(row.id, row);
    for (const id of removed) this.#told.delete(id);
  }

  #notePresent(trouble: Trouble, { steadyMs }: Moment): void {
    const seen = this.#seen.get(trouble.id);
    if (seen === undefined) {
      this.#seen.set(trouble.id, { trouble, presentMs: 0, lastMs: steadyMs, goneMs: null });
      return;
    }
    if (seen.goneMs === null) seen.presentMs += steadyMs - seen.lastMs;
    Object.assign(seen, { trouble, lastMs: steadyMs, goneMs: null });
  }

  #noteGone(id: string, seen: Seen, { steadyMs }: Moment): void {
    seen.goneMs ??= steadyMs;
    const row = this.#told.get(id);
    const isTold = row?.endedAt === null;
    if (!isTold && steadyMs - seen.goneMs >= QUIET_MS) this.#seen.delete(id);
  }

  #decidePresent(trouble: Trouble, { now }: Moment, decision: Decision): void {
    const presentMs = this.#seen.get(trouble.id)?.presentMs ?? 0;
    const row = this.#told.get(trouble.id);
    const { id, level, what, step } = trouble;
    const tell = (kind: NoticeKind, told: Told) => {
      decision.put.push(told);
      decision.notices.push({ ...pickNotice(told), kind, at: now });
    };
    if (row === undefined || row.endedAt !== null) {
      if (presentMs < TELL_AFTER_MS) return;
      const endedAt = row?.endedAt ?? null;
      const returns = row !== undefined && endedAt !== null && isWithinDay(endedAt, now) ? row.returns : 0;
      return tell("began", { id, level, what, step, beganAt: now - presentMs, toldAt: now, endedAt: null, returns });
    }
    if (level === "problem" && row.level === "warning")
      return tell("worsened", { ...row, level, what, step, toldAt: now });
    // The clock was set back: a day from now.
    if (row.toldAt > now) return void decision.put.push({ ...row, toldAt: now });
    if (now - row.toldAt < DAY_MS) return;
    const told = { ...row, what, step, toldAt: now };
    decision.put.push(told);
    // As it is by now: a problem may have eased.
    decision.notices.push({ ...pickNotice(told), level, kind: "reminded", at: now });
  }

  #decideAbsent(row: Told, { now, steadyMs }: Moment, decision: Decision): void {
    if (row.endedAt !== null) {
      if (!isWithinDay(row.endedAt, now)) decision.removed.push(row.id);
      return;
    }
    // Told by an earlier process, and not seen by this one yet.
    const goneMs = this.#seen.get(row.id)?.goneMs ?? this.#startedMs;
    const quietMs = Math.min(QUIET_MS * QUIET_FACTOR ** row.returns, MAX_QUIET_MS);
    if (steadyMs - goneMs < quietMs || steadyMs - this.#startedMs < START_GRACE_MS) return;
    const ended = { ...row, endedAt: now, returns: row.returns + 1 };
    this.#seen.delete(row.id);
    decision.put.push(ended);
    decision.notices.push({ ...pickNotice(ended), kind: "ended", at: now });
  }
}

function pickNotice({ id, level, what, step, beganAt }: Told) {
  return { id, level, what, step, beganAt };
}

/** Of several with one id the worst. */
function pickWorst(troubles: readonly Trouble[]): Map<string, Trouble> {
  const found = new Map<string, Trouble>();
  for (const trouble of troubles) if (found.get(trouble.id)?.level !== "problem") found.set(trouble.id, trouble);
  return found;
}

/** A clock that was set back does not make a day longer. */
function isWithinDay(at: number, now: number): boolean {
  return Math.abs(now - at) < DAY_MS;
}
