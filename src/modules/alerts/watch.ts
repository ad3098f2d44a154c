// Decides when somebody is told of a trouble.
//
//   unseen → seen → told → gone → ended      seen → unseen: it was a hiccup
//                     ↑      |                gone → told: it came back before its end was told, and nobody hears of it
//                     +------+
//
// It is told once it was there for two minutes, added up over gaps shorter than that (a restart may take up to 15 minutes),
// and again when it becomes a problem.
// Each day on which it lasts there is a reminder. Its end is told once it stayed away: the more often it came back within a
// day, the longer that takes, so that a trouble that comes and goes all night makes a handful of messages.
// The database keeps the troubles that were told. It keeps those that are seen and not yet told too: otherwise a process
// that restarts each minute would never count two minutes.

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
/** A process ignores what an earlier one saw before this. */
const REMEMBERED_MS = 15 * MINUTE_MS;

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
  /** Since when processes that started after it was told have not seen it; null: it was seen, or none has looked yet. */
  unseenSince: number | null;
}

/** A trouble that is seen and was not told yet, for the next process. Times in Unix ms. */
export interface SeenRow {
  id: string;
  presentMs: number;
  /** When it was seen last. */
  lastAt: number;
  /** Since when it has not been there; null: it is. */
  goneAt: number | null;
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
  /** All that is seen and not told yet; null: as it was written last. */
  seen: SeenRow[] | null;
}

export interface Moment {
  /** Unix ms. */
  now: number;
  /** Of a clock that never jumps. */
  steadyMs: number;
}

interface Seen {
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
  /** The rows of #seen in the database, as describeSeen puts them; null: the database has outdated rows. */
  #written: string | null;

  constructor(told: readonly Told[], seen: readonly SeenRow[], moment: Moment) {
    this.#startedMs = moment.steadyMs;
    this.#told = new Map(told.map((row) => [row.id, row]));
    for (const row of seen) {
      const restored = restoreSeen(row, moment);
      if (restored !== null) this.#seen.set(row.id, restored);
    }
    this.#written = this.#seen.size === seen.length ? describeSeen(seen) : null;
  }

  /** What lasts and was told. */
  get lasting(): Told[] {
    return [...this.#told.values()].filter(({ endedAt }) => endedAt === null);
  }

  /** Whether a problem that an earlier process told has not been seen since, and processes have looked for less than 15 minutes. */
  hasUnseen({ now, steadyMs }: Moment): boolean {
    if (steadyMs - this.#startedMs >= START_GRACE_MS) return false;
    return this.lasting.some(
      ({ id, level, unseenSince }) =>
        level === "problem" && !this.#seen.has(id) && Math.abs(now - (unseenSince ?? now)) < START_GRACE_MS,
    );
  }

  /** Looks at what is wrong now; `unsure`: ids of what could not be looked at, and counts as it was. */
  look(troubles: readonly Trouble[], moment: Moment, isUnsure: (id: string) => boolean = () => false): Decision {
    const present = pickWorst(troubles);
    for (const [id, seen] of this.#seen) if (!present.has(id) && !isUnsure(id)) this.#noteGone(id, seen, moment);
    for (const trouble of present.values()) this.#notePresent(trouble, moment);
    const decision: Decision = { notices: [], put: [], removed: [], seen: null };
    for (const trouble of present.values()) this.#decidePresent(trouble, moment, decision);
    for (const row of this.#told.values())
      if (!present.has(row.id) && !isUnsure(row.id)) this.#decideAbsent(row, moment, decision);
    this.#noteUnseen(moment, decision);
    const seen = this.#listUntold(moment, decision);
    if (describeSeen(seen) !== this.#written) decision.seen = seen;
    return decision;
  }

  /** A decision was written. */
  accept({ put, removed, seen }: Decision): void {
    for (const row of put) this.#told.set(row.id, row);
    for (const id of removed) this.#told.delete(id);
    if (seen !== null) this.#written = describeSeen(seen);
  }

  #noteUnseen({ now }: Moment, decision: Decision): void {
    for (const known of this.lasting) {
      const row = decision.put.find(({ id }) => id === known.id) ?? known;
      const unseenSince = this.#seen.has(row.id) || row.endedAt !== null ? null : (row.unseenSince ?? now);
      if (unseenSince === row.unseenSince) continue;
      decision.put = [...decision.put.filter(({ id }) => id !== row.id), { ...row, unseenSince }];
    }
  }

  #listUntold({ now, steadyMs }: Moment, { put }: Pick<Decision, "put">): SeenRow[] {
    const told = new Set([...this.lasting, ...put.filter(({ endedAt }) => endedAt === null)].map(({ id }) => id));
    // performance.now() has fractions of milliseconds.
    const toTime = (ms: number) => Math.round(now - (steadyMs - ms));
    return [...this.#seen].flatMap(([id, { presentMs, lastMs, goneMs }]) =>
      told.has(id)
        ? []
        : {
            id,
            presentMs: Math.round(presentMs),
            lastAt: toTime(lastMs),
            goneAt: goneMs === null ? null : toTime(goneMs),
          },
    );
  }

  #notePresent(trouble: Trouble, { steadyMs }: Moment): void {
    const seen = this.#seen.get(trouble.id);
    if (seen === undefined) {
      this.#seen.set(trouble.id, { presentMs: 0, lastMs: steadyMs, goneMs: null });
      return;
    }
    if (seen.goneMs === null) seen.presentMs += steadyMs - seen.lastMs;
    Object.assign(seen, { lastMs: steadyMs, goneMs: null });
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
      const beganAt = Math.round(now - presentMs);
      const times = { beganAt, toldAt: now, endedAt: null, unseenSince: null };
      return tell("began", { id, level, what, step, ...times, returns });
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

/** Continues a count of an earlier process; null: it is too old. A gap of up to two minutes between the processes counts as presence. */
function restoreSeen({ presentMs, lastAt, goneAt }: SeenRow, { now, steadyMs }: Moment): Seen | null {
  const agoMs = now - lastAt;
  // Below 0 the clock was set back, and how long ago it was is not known.
  if (agoMs < 0 || agoMs >= REMEMBERED_MS) return null;
  if (goneAt !== null && now - goneAt >= QUIET_MS) return null;
  return {
    presentMs,
    lastMs: agoMs < QUIET_MS ? steadyMs - agoMs : steadyMs,
    goneMs: goneAt === null ? null : steadyMs - (now - goneAt),
  };
}

/** Without the time of the last look, so that a trouble that is not there is not written at each one. */
function describeSeen(rows: readonly SeenRow[]): string {
  return rows.map(({ id, presentMs, goneAt }) => `${id} ${presentMs} ${goneAt === null}`).join("\n");
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
