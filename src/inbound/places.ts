import type { InboundLimits } from "./limits.ts";

/** Who wants a place on the port, or room for a message. */
export interface Visitor {
  /** Its networks, the narrowest first (net/address.ts). */
  networks: readonly string[];
  /** From a network that brings reports (reporters.ts). */
  isKnown: boolean;
}

type Limits = Pick<InboundLimits, "clients" | "strangers" | "clientsOfNetwork" | "heldBytes" | "strangersBytes">;

/**
 * Places of the port, and room for messages that come in. Strangers leave a part of both to those who are known;
 * of one network so many are let in, of the wider ones that it lies in a few more: whoever has a whole /48, or all
 * addresses of a provider, must not have all places.
 */
export class Places {
  readonly #limits: Limits;
  readonly #ofNetwork = new Map<string, number>();
  #clients = 0;
  #strangers = 0;
  #heldBytes = 0;
  #strangersBytes = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Why there is no place; null: there is one. */
  whyNot({ networks, isKnown }: Visitor): "all" | "network" | null {
    const { clients, strangers, clientsOfNetwork } = this.#limits;
    if (this.#clients >= clients || (!isKnown && this.#strangers >= strangers)) return "all";
    const isFull = (network: string, width: number) =>
      (this.#ofNetwork.get(network) ?? 0) >= (clientsOfNetwork[width] ?? clients);
    return networks.some(isFull) ? "network" : null;
  }

  /** Takes a place; what gives it back, once however often it is called. */
  take({ networks, isKnown }: Visitor): () => void {
    this.#count(networks, isKnown, 1);
    let isTaken = true;
    return () => {
      if (isTaken) this.#count(networks, isKnown, -1);
      isTaken = false;
    };
  }

  /** Room for so many more bytes of a message, or, below 0, room that is given back. False: there is none. */
  takeRoom(bytes: number, { isKnown }: Pick<Visitor, "isKnown">): boolean {
    const { heldBytes, strangersBytes } = this.#limits;
    const ofStrangers = isKnown ? 0 : bytes;
    if (bytes > 0 && this.#heldBytes + bytes > heldBytes) return false;
    if (ofStrangers > 0 && this.#strangersBytes + ofStrangers > strangersBytes) return false;
    this.#heldBytes += bytes;
    this.#strangersBytes += ofStrangers;
    return true;
  }

  #count(networks: readonly string[], isKnown: boolean, by: 1 | -1): void {
    this.#clients += by;
    if (!isKnown) this.#strangers += by;
    for (const network of networks) {
      const count = (this.#ofNetwork.get(network) ?? 0) + by;
      if (count === 0) this.#ofNetwork.delete(network);
      else this.#ofNetwork.set(network, count);
    }
  }
}
