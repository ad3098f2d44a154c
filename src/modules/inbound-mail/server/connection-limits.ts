import { Shares } from "../../../platform/shares.ts";
import type { InboundLimits } from "./limits.ts";

/** A client that asks for a place on the port. */
export interface ClientOrigin {
  /** Its networks, the narrowest first (platform/ip/address.ts). */
  networks: readonly string[];
  /** How often its network took mail or brought a report (known-reporters.ts). 0: a stranger. */
  timesHeard: number;
}

/** A client's place, with its room for messages. */
export interface Place {
  /** Room for so many more bytes of a message, or, below 0, room that is given back. False: there is none. */
  takeRoom(bytes: number): boolean;
  /** Gives the place back, once however often it is called. */
  release(): void;
}

/**
 * No widest network holds more than one of so many parts of what it leaves free. With one part seven of them, one after the
 * other, take all open places and six the kept ones, and eleven leave less than 16 KiB of the room: a cloud rents out as
 * many in a minute. So it takes 26 for the places, and eleven leave a stranger half a megabyte.
 */
const PARTS = 4;

/** Places, and room for the messages that come in there; both by the widest network. */
interface Pool {
  clients: Shares;
  bytes: Shares;
}

/**
 * Places of the port, and room for the messages that come in there. Most are open to all. The rest is kept for networks
 * that took mail or brought a report: a network that did so n times may use n of n + 1 parts of it. So networks that
 * took one email each leave half of it to those that take many. In both, no /16 of IPv4 and no /32 of IPv6 holds more
 * than a quarter of the places, or of the room, that it leaves free.
 */
export class Places {
  readonly #clientsOfNetwork: readonly number[];
  readonly #ofNetwork = new Map<string, number>();
  readonly #open: Pool;
  readonly #kept: Pool;

  constructor({ openClients, keptClients, clientsOfNetwork, openBytes, keptBytes }: InboundLimits) {
    this.#clientsOfNetwork = clientsOfNetwork;
    this.#open = { clients: new Shares(openClients, PARTS), bytes: new Shares(openBytes, PARTS) };
    this.#kept = { clients: new Shares(keptClients, PARTS), bytes: new Shares(keptBytes, PARTS) };
  }

  /** A place, or why there is none: all are taken, or those of the client's network. */
  take({ networks, timesHeard }: ClientOrigin): Place | "all" | "network" {
    const isFull = (network: string, width: number) =>
      (this.#ofNetwork.get(network) ?? 0) >= (this.#clientsOfNetwork[width] ?? Infinity);
    if (networks.some(isFull)) return "network";
    const pools = [[this.#kept, timesHeard / (timesHeard + 1)] as const, [this.#open, 1] as const];
    const owner = networks.at(-1) ?? "";
    const found = pools.find(([{ clients }, part]) => clients.take(owner, 1, part));
    if (found === undefined) return pools.some(([{ clients }, part]) => clients.isOpen(1, part)) ? "network" : "all";
    const [{ clients, bytes: room }, part] = found;
    this.#count(networks, 1);
    let isTaken = true;
    return {
      takeRoom: (bytes) => {
        if (bytes > 0) return room.take(owner, bytes, part);
        room.giveBack(owner, -bytes);
        return true;
      },
      release: () => {
        if (!isTaken) return;
        isTaken = false;
        clients.giveBack(owner, 1);
        this.#count(networks, -1);
      },
    };
  }

  #count(networks: readonly string[], by: 1 | -1): void {
    for (const network of networks) {
      const count = (this.#ofNetwork.get(network) ?? 0) + by;
      if (count === 0) this.#ofNetwork.delete(network);
      else this.#ofNetwork.set(network, count);
    }
  }
}
