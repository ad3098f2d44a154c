// Measures work by the processor's time, which neighbours on a busy machine do not lengthen.

/** CPU time that this thread has spent since it began, in milliseconds. */
export function cpuTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
