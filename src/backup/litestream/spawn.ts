import type { DaemonChild } from "./supervisor.ts";
import type { DaemonTools } from "./tools.ts";
import { notePid } from "./orphan.ts";

const LINE_MAX = 8_192;

/** Starts the daemon for good; what it says comes line by line. `snapshotNow`: it takes a snapshot at once. */
export function spawnDaemon(tools: DaemonTools, line: (text: string) => void, snapshotNow = false): DaemonChild {
  const { path, places, environment } = tools;
  const config = snapshotNow ? places.snapshotConfig : places.config;
  const child = Bun.spawn([path, "replicate", "-config", config, "-no-expand-env"], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: environment,
    // Ctrl+C at a terminal is for pombo alone, which ends it when all is copied.
    detached: true,
  });
  try {
    notePid(tools, child.pid);
  } catch (error) {
    // On a full disk, say: one that nobody knows of would go on beside the next.
    child.kill("SIGKILL");
    throw error;
  }
  const read = Promise.all([readLines(child.stdout, line), readLines(child.stderr, line)]);
  const ended = child.exited.then(async () => {
    await read;
    return child.exitCode;
  });
  return {
    pid: child.pid,
    ended,
    kill(signal) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    },
  };
}

async function readLines(from: ReadableStream<Uint8Array>, line: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of from) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = (lines.pop() ?? "").slice(0, LINE_MAX);
    for (const each of lines) if (each.trim() !== "") line(each.slice(0, LINE_MAX));
  }
  if (rest.trim() !== "") line(rest);
}
