// CPU time of a phase, by who used it. `others` is what the rest of the machine used meanwhile: a
// figure beside a large one was measured on a busy machine and is not to be trusted.

import { machineCpuSeconds } from "../test/support/peers/process.ts";

/** CPU seconds (user + system) by name. */
export type CpuUse = Record<string, number>;

/** Starts measuring; the result reads the meter. `known` adds parts that counted for themselves. */
export function startCpuMeter(parts: Record<string, () => number>): (known?: CpuUse) => CpuUse {
  const readParts = (): CpuUse => Object.fromEntries(Object.entries(parts).map(([name, read]) => [name, read()]));
  const before = readParts();
  const machineBefore = machineCpuSeconds();
  return (known = {}) => {
    const machine = machineCpuSeconds() - machineBefore;
    const used: CpuUse = { ...known };
    for (const [name, seconds] of Object.entries(readParts())) used[name] = seconds - (before[name] ?? 0);
    const sum = Object.values(used).reduce((total, seconds) => total + seconds, 0);
    return { ...used, others: Math.max(0, machine - sum) };
  };
}

export function formatCpu(cpu: CpuUse): string {
  return Object.entries(cpu)
    .map(([name, seconds]) => `${name} ${seconds.toFixed(1)}`)
    .join(", ");
}
