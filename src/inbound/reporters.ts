import type { Clock } from "../clock.ts";
import { networksOf } from "../net/address.ts";

/** Networks remembered; the one that was not heard of for longest goes. */
const MAX_NETWORKS = 10_000;
/** As long as a return path holds: within that a bounce comes, or none does. */
const REMEMBERED_MS = 30 * 24 * 60 * 60_000;

/**
 * Who brings reports, as far as is known: networks that took mail of ours, or brought a report that ended it. Part of the
 * inbound port's places is theirs, so that a flood of strangers keeps no bounce out. By the /24, or the /48 of IPv6,
 * since large providers send from other hosts than they receive at. In memory only: deliveries fill it again.
 */
export class KnownReporters {
  readonly #heardAt = new Map<string, number>();
  readonly #clock: Pick<Clock, "now">;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** This address took an email, or brought the report that ended one. */
  note(address: string): void {
    const [, network] = networksOf(address);
    if (network === undefined) return;
    this.#heardAt.delete(network);
    this.#heardAt.set(network, this.#clock.now());
    const oldest = this.#heardAt.keys().next();
    if (this.#heardAt.size > MAX_NETWORKS && oldest.done === false) this.#heardAt.delete(oldest.value);
  }

  knows(address: string): boolean {
    const [, network] = networksOf(address);
    const heardAt = this.#heardAt.get(network ?? "");
    return heardAt !== undefined && heardAt > this.#clock.now() - REMEMBERED_MS;
  }
}
