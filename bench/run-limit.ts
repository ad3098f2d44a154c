// A benchmark that hangs must not hang whoever started it.

/** Ends the program after `limitMs`, as an interruption would: what was started is stopped. The result calls it off. */
export function limitRun(limitMs: number): () => void {
  const timer = setTimeout(() => {
    console.error(`the run took more than ${limitMs / 1000} s: given up`);
    process.kill(process.pid, "SIGTERM");
  }, limitMs);
  return () => clearTimeout(timer);
}
