/** Resolves with what gives the place back; null: `signal` was aborted while it waited. */
export type Gate = (signal: AbortSignal) => Promise<(() => void) | null>;

/** At most `limit` inside at a time, the others in the order of their coming. */
export function createGate(limit: number): Gate {
  const waiting = new Set<() => void>();
  let inside = 0;
  const leave = () => {
    const [next] = waiting;
    // The place is handed on, so `inside` stays as it is.
    if (next !== undefined) next();
    else inside -= 1;
  };
  return async (signal) => {
    if (signal.aborted) return null;
    if (inside < limit) {
      inside += 1;
      return leave;
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const end = (isIn: boolean) => {
      waiting.delete(enter);
      signal.removeEventListener("abort", giveUp);
      resolve(isIn);
    };
    const enter = () => end(true);
    const giveUp = () => end(false);
    waiting.add(enter);
    signal.addEventListener("abort", giveUp);
    return (await promise) ? leave : null;
  };
}
