import type { Clock } from "../../../platform/clock.ts";
import { getNetworks } from "../../../platform/ip/address.ts";
import { putLast } from "../../../platform/put-last.ts";

/** The least recently heard of goes: of the widest networks, and of the networks in one; a /16 has no more. */
const MAX_WIDE = 10_000;
const MAX_OF_WIDE = 256;
/** As long as a return path holds: within that a bounce comes, or none does. */
const REMEMBERED_MS = 30 * 24 * 60 * 60_000;

interface Heard {
  times: number;
  at: number;
}

/**
 * Networks that are known to bring reports: they took mail of ours, or brought a report that ended it. Part of the inbound
 * port's places is theirs, so that a flood of strangers keeps no bounce out. Kept by the /24, or the /48 of IPv6, since
 * large providers send from other hosts than they receive at; only some of one /32 of IPv6, which has 65,536 of these. In
 * memory only: deliveries fill it again.
 */
export class KnownReporters {
  readonly #heard = new Map<string, Map<string, Heard>>();
  readonly #clock: Pick<Clock, "now">;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** This address took an email, or brought the report that ended one. */
  note(address: string): void {
    const [, network, wide] = getNetworks(address);
    if (network === undefined || wide === undefined) return;
    const times = this.timesHeard(address) + 1;
    const ofWide = this.#heard.get(wide) ?? new Map<string, Heard>();
    putLast(this.#heard, wide, ofWide, MAX_WIDE);
    putLast(ofWide, network, { times, at: this.#clock.now() }, MAX_OF_WIDE);
  }

  /** How often the address's network was heard of. 0: it is a stranger. */
  timesHeard(address: string): number {
    const [, network = "", wide = ""] = getNetworks(address);
    const heard = this.#heard.get(wide)?.get(network);
    return heard !== undefined && heard.at > this.#clock.now() - REMEMBERED_MS ? heard.times : 0;
  }
}
