// When to connect again. Pure.
// Ordinary ends: 1 s, doubled each time up to a minute, times a random 0.5 to 1.5, so that the links of an SMSC that comes
// back do not all come at once; begun anew after a minute of health. A bind refused for its settings: a minute up to a
// quarter of an hour, for ever, since somebody may put it right at the other end. An old session that lingers: half a
// minute to a minute.

const FIRST_MS = 1_000;
const MAX_MS = 60_000;
const FIRST_REFUSED_MS = 60_000;
const MAX_REFUSED_MS = 900_000;
const LINGERING_MS = 30_000;
const HEALTHY_MS = 60_000;
/** 2^30 seconds are past every maximum. */
const MAX_DOUBLINGS = 30;

/** How a connection, or the attempt to make one, ended. */
export type Ending =
  /** `boundMs`: how long it was bound, 0 if never. */
  { kind: "lost"; boundMs: number } | { kind: "refused" } | { kind: "lingering" };

export class Backoff {
  readonly #unit: () => number;
  #lost = 0;
  #refused = 0;

  /** `unit` gives a number in [0, 1). */
  constructor(unit: () => number) {
    this.#unit = unit;
  }

  /** Attempts in a row that ended without a healthy time. */
  get failures(): number {
    return this.#lost + this.#refused;
  }

  /** How long to wait, in ms. */
  after(ending: Ending): number {
    switch (ending.kind) {
      case "lost": {
        if (ending.boundMs > 0) this.#refused = 0;
        if (ending.boundMs >= HEALTHY_MS) this.#lost = 0;
        const base = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(this.#lost, MAX_DOUBLINGS));
        this.#lost += 1;
        return base * (0.5 + this.#unit());
      }
      case "refused": {
        const base = Math.min(MAX_REFUSED_MS, FIRST_REFUSED_MS * 2 ** Math.min(this.#refused, MAX_DOUBLINGS));
        this.#refused += 1;
        return Math.min(MAX_REFUSED_MS, base * (1 + this.#unit() / 2));
      }
      case "lingering":
        return LINGERING_MS * (1 + this.#unit());
    }
  }
}
