// The destination of both sides: Postfix's smtp-sink, the same program with the same options, which
// accepts every message, throws it away and counts. With -c it writes its counters to stdout after
// every message; they go into a file whose last bytes are read now and then, so that counting costs
// this process nothing while others are measured.

import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { pathOf } from "../test/support/peers/packages.ts";
import { cpuSeconds, freePort, startProcess, waitForListener, type Cleanup } from "../test/support/peers/process.ts";

const POLL_MS = 10;
const TAIL_BYTES = 200;
const BACKLOG = 1024;

export interface Sink {
  readonly port: number;
  /** Messages taken so far: the final dot was read. */
  count(): number;
  /** Resolves with performance.now() of the moment when `count` messages had come. */
  waitFor(count: number, timeoutMs: number): Promise<number>;
  cpuSeconds(): number;
}

export async function startSink(folder: string, cleanup: Cleanup): Promise<Sink> {
  const port = await freePort();
  const logFile = join(folder, "sink.log");
  // -u: as root it insists on another user. 127.0.0.1 only: 127.0.0.2 refuses (BLOCKED_DOMAIN).
  const process = startProcess({
    command: [pathOf("smtp-sink"), "-u", "nobody", "-c", `127.0.0.1:${port}`, String(BACKLOG)],
    logFile,
  });
  cleanup.add(() => process.stop());
  await waitForListener(port);
  const count = (): number => lastCount(logFile);
  return {
    port,
    count,
    cpuSeconds: () => cpuSeconds(process.pid),
    waitFor: async (wanted, timeoutMs) => {
      const giveUpAt = performance.now() + timeoutMs;
      for (let seen = count(); seen < wanted; seen = count()) {
        if (performance.now() > giveUpAt)
          throw new Error(`the sink got ${seen} of ${wanted} messages in ${timeoutMs} ms`);
        await Bun.sleep(POLL_MS);
      }
      return performance.now();
    },
  };
}

/** smtp-sink(1) writes `sess=1 quit=1 mesg=500` and a carriage return. */
function lastCount(logFile: string): number {
  const file = openSync(logFile, "r");
  try {
    const { size } = fstatSync(file);
    const tail = Buffer.alloc(TAIL_BYTES);
    const length = readSync(file, tail, 0, TAIL_BYTES, Math.max(0, size - TAIL_BYTES));
    const counters = tail.toString("latin1", 0, length).split("\r");
    // The last piece may be half written; the one before it ended with its carriage return.
    const whole = counters.findLast((line, index) => index < counters.length - 1 && line.includes("mesg="));
    return Number(/mesg=(\d+)/.exec(whole ?? "")?.[1] ?? 0);
  } finally {
    closeSync(file);
  }
}
