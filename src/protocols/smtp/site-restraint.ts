/**
 * The restraint that a site has asked for: no mail for a time, less of it at once, or one
 * message in each interval. Pure but for its own state; the time is given.
 */

const SUCCESSES_TO_SPEED_UP = 5;

export interface SiteBlock {
  /** Ms of the clock that it is asked by; as others see it, Unix ms. */
  until: number;
  /** For the log and the metrics: what the site said or did. */
  reason: string;
}

export class Restraint {
  /** 421 in a row. */
  rests = 0;
  narrow: { sessions: number; until: number } | null = null;
  pace: { intervalMs: number; until: number; nextAt: number; successes: number } | null = null;
  #block: SiteBlock | null = null;

  /** Why and until when nothing may be sent; null when it may. */
  blockAt(now: number): SiteBlock | null {
    if (this.#block !== null && this.#block.until > now) return this.#block;
    if (this.#isPaced(now) && this.pace !== null && this.pace.nextAt > now)
      return { until: this.pace.nextAt, reason: "the site asked for less mail" };
    return null;
  }

  /** Sessions that it allows; Infinity: any number. */
  sessions(now: number): number {
    if (this.#isPaced(now)) return 1;
    return this.narrow !== null && this.narrow.until > now ? this.narrow.sessions : Infinity;
  }

  /** Blocked, apart from its pace. */
  isBlocked(now: number): boolean {
    return this.#block !== null && this.#block.until > now;
  }

  /** There is something that must not be forgotten before its time. */
  isRestrained(now: number): boolean {
    return this.isBlocked(now) || this.sessions(now) !== Infinity;
  }

  /** False: it is blocked as long already. */
  blockUntil(block: SiteBlock): boolean {
    if (this.#block !== null && this.#block.until >= block.until) return false;
    this.#block = block;
    return true;
  }

  /** A message is about to be sent. */
  begin(now: number): void {
    if (this.pace !== null) this.pace.nextAt = now + this.pace.intervalMs;
  }

  /** A message was taken. True: it was the one that ends the pace. */
  succeeded(): boolean {
    this.rests = 0;
    if (this.pace === null || ++this.pace.successes < SUCCESSES_TO_SPEED_UP) return false;
    this.pace = null;
    return true;
  }

  #isPaced(now: number): boolean {
    return this.pace !== null && this.pace.until > now;
  }
}
