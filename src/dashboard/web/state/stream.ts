// Server-sent events of the API, read until they are wanted no more.

import { ApiError, buildScope, isAway, readError, send } from "../api/client.ts";
import { readEvents, type ServerEvent } from "../api/event-stream.ts";

export const RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;

export interface StreamHooks {
  opened: () => void;
  hear: (event: ServerEvent) => void;
  /** It ended, or could not be opened: it is tried again. */
  lost?: (error: ApiError | null) => void;
}

/** Until the server ends it. Throws ApiError. */
export async function readStream(url: string, stop: AbortSignal, { opened, hear }: StreamHooks): Promise<void> {
  const response = await send(url, { headers: buildScope(url), credentials: "same-origin", signal: stop });
  if (!response.ok || response.body === null) throw await readError(response);
  opened();
  for await (const event of readEvents(response.body)) hear(event);
}

/** Again and again until `stop`. */
export async function keepReading(url: string, stop: AbortSignal, hooks: StreamHooks): Promise<void> {
  let retryMs = RETRY_MS;
  while (!stop.aborted) {
    let refusal: ApiError | null = null;
    try {
      await readStream(url, stop, {
        ...hooks,
        opened: () => {
          retryMs = RETRY_MS;
          hooks.opened();
        },
      });
    } catch (error) {
      // Else the connection was cut in the middle.
      if (error instanceof ApiError) refusal = error;
    }
    if (stop.aborted) return;
    hooks.lost?.(refusal);
    await wait(Math.max(retryMs, (refusal?.retryAfterS ?? 0) * 1_000), stop);
    retryMs = growRetry(retryMs);
  }
}

export function growRetry(ms: number): number {
  return Math.min(ms * 2, MAX_RETRY_MS);
}

/** Ends early when the server that was away is back. */
export function wait(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      unwatch();
      resolve();
    };
    const timer = setTimeout(end, ms);
    stop.addEventListener("abort", end, { once: true });
    let wasAway = isAway.peek();
    const unwatch = isAway.subscribe((away) => {
      if (wasAway && !away) end();
      wasAway = away;
    });
  });
}
