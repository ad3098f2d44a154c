/** Often enough to meet a loop that stands still for long, seldom enough to cost nothing. */
const EVERY_MS = 100;

/**
 * Measures how late the event loop runs a timer, which delays every request and session. Calls `late` with seconds, ten
 * times a second; the returned function ends that. It measures by its own clock, so that one that is set does not count.
 */
export function watchEventLoop(late: (seconds: number) => void): () => void {
  let timer: Timer | null = null;
  const measure = () => {
    const startedAt = performance.now();
    timer = setTimeout(() => {
      late(Math.max(0, performance.now() - startedAt - EVERY_MS) / 1_000);
      measure();
    }, EVERY_MS);
    timer.unref();
  };
  measure();
  return () => {
    if (timer !== null) clearTimeout(timer);
  };
}
