import type { ThreadPort } from "./threads/line.ts";

/** By this address it is found beside the source and inside the executable. */
export function openThread(): ThreadPort {
  return new globalThis.Worker(new URL("./thread.ts", import.meta.url));
}
