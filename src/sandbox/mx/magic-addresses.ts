/**
 * Magic recipients: local parts that make the sandbox's MX misbehave on purpose, whatever the
 * domain, so that a customer can watch a bounce, a complaint, a retry and a slow receiver without
 * waiting for a real one.
 */

import { Tries } from "../tries.ts";

/** Local parts that behave on purpose; the page tells what each does. */
export const MAGIC_NAMES = ["bounce", "bounce-later", "complaint", "defer", "slow"] as const;

/** What the MX does with a recipient. */
export type Behaviour = "accept" | (typeof MAGIC_NAMES)[number];

/** Tries of one message that `defer@` turns away before it takes it. */
const DEFERRED_TRIES = 2;

/** Reads the behaviour from an address: one of the names before the @, with or without a `+tag`. */
export function findBehaviour(address: string): Behaviour {
  const localPart = address.slice(0, Math.max(address.lastIndexOf("@"), 0)).toLowerCase();
  const name = localPart.split("+", 1)[0];
  return MAGIC_NAMES.find((each) => each === name) ?? "accept";
}

/** Remembers the tries of each (return path, recipient) pair, as a greylisting receiver does. */
export class Greylist {
  readonly #tries = new Tries();

  /** Counts a try; true when it is one of the first `DEFERRED_TRIES` and has to come back. */
  mustComeBack(returnPath: string, recipient: string): boolean {
    // A space cannot stand in an address without quotes, so two pairs never share a key.
    return this.#tries.count(`${returnPath} ${recipient.toLowerCase()}`) <= DEFERRED_TRIES;
  }
}
