// Gives large octets back before a collection finds them: until then megabytes that nobody needs would pile up.

import { findLargeBuffer } from "./worker-threads/worker-thread.ts";

/** Nobody may use `octets` any more: they are empty from now on. Small ones, and those of a larger buffer, are left. */
export function freeOctets(octets: Uint8Array): void {
  for (const buffer of findLargeBuffer(octets)) buffer.transfer(0);
}
