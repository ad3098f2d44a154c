import type { OpenThread } from "../platform/worker-threads/worker-thread.ts";

/** By this address it is found beside the source and inside the executable. */
export const openThread: OpenThread = () => new globalThis.Worker(new URL("./mail-worker.ts", import.meta.url));
