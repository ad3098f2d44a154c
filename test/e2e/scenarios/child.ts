/**
 * A pombo process that a scenario starts, watches and ends: its output as it comes, its end as a
 * value, and every wait with a deadline. Only processes started here are ever signalled.
 */
import { findPombo } from "../../support/peers/pombo.ts";

export interface Ended {
  /** Null when a signal ended it. */
  code: number | null;
  signal: string | null;
}

export interface Child {
  readonly pid: number;
  readonly isAlive: boolean;
  /** Resolves when the process is gone and its output has been read to the end. */
  readonly ended: Promise<Ended>;
  stdout(): string;
  stderr(): string;
  /** Resolves when `isTrue` holds; looked at again at each piece of output. Rejects at the deadline, or when the process ends without it. */
  until(what: string, isTrue: () => boolean, limitMs?: number): Promise<void>;
  signal(name: "SIGTERM" | "SIGINT" | "SIGKILL"): void;
  /** Ends it by force if it still runs. */
  [Symbol.asyncDispose](): Promise<void>;
}

const UNTIL_LIMIT_MS = 20_000;

interface SpawnOptions {
  env?: Record<string, string>;
  /** Put before its command, as a shell or unshare. */
  through?: string[];
  cwd?: string;
  /** Its standard input; undefined: none. */
  input?: string;
}

/** Starts `pombo ...args`. */
export function spawnPombo(args: string[], options: SpawnOptions = {}): Child {
  return spawnCommand([...findPombo().command, ...args], options);
}

/** The same of any program. */
export function spawnCommand(command: string[], options: SpawnOptions = {}): Child {
  const process_ = Bun.spawn([...(options.through ?? []), ...command], {
    stdin: options.input === undefined ? "ignore" : Buffer.from(options.input),
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  const said = { stdout: "", stderr: "" };
  const watchers = new Set<() => void>();
  const look = () => {
    for (const watcher of watchers) watcher();
  };
  const read = async (from: "stdout" | "stderr") => {
    const decoder = new TextDecoder();
    for await (const chunk of process_[from]) {
      said[from] += decoder.decode(chunk, { stream: true });
      look();
    }
  };
  const ended = Promise.all([process_.exited, read("stdout"), read("stderr")]).then(() => {
    look();
    return { code: process_.exitCode, signal: process_.signalCode === null ? null : String(process_.signalCode) };
  });
  const isOver = () => process_.exitCode !== null || process_.signalCode !== null;
  return {
    pid: process_.pid,
    get isAlive() {
      return !isOver();
    },
    ended,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    until(what, isTrue, limitMs = UNTIL_LIMIT_MS) {
      return new Promise((resolve, reject) => {
        const leave = () => {
          clearTimeout(deadline);
          watchers.delete(watcher);
        };
        const fail = (why: string) => {
          leave();
          reject(new Error(`${why} before ${what}:\n${said.stdout.slice(-2_000)}${said.stderr.slice(-2_000)}`));
        };
        const watcher = () => {
          if (!isTrue()) return;
          leave();
          resolve();
        };
        const deadline = setTimeout(() => fail(`${limitMs} ms passed`), limitMs);
        watchers.add(watcher);
        watcher();
        void ended.then(() => (watchers.has(watcher) ? fail("the process ended") : undefined));
      });
    },
    signal: (name) => {
      if (!isOver()) process_.kill(name);
    },
    async [Symbol.asyncDispose]() {
      if (!isOver()) process_.kill("SIGKILL");
      await ended;
    },
  };
}

/** Runs a pombo command to its end. */
export async function runPombo(args: string[], options: SpawnOptions = {}) {
  const startedAt = performance.now();
  await using child = spawnPombo(args, options);
  const { code, signal } = await within(20_000, `pombo ${args[0] ?? ""}`, child.ended);
  return { code, signal, stdout: child.stdout(), stderr: child.stderr(), tookMs: performance.now() - startedAt };
}

/** The value of `promise`, or a rejection that names `what` after `limitMs`. */
export async function within<T>(limitMs: number, what: string, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const deadline = setTimeout(() => reject(new Error(`${what} took longer than ${limitMs} ms`)), limitMs);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(deadline);
  }
}

/** How long a start or a refusal may take: the sources are compiled at each start, the binary is not. */
export function startLimitMs(): number {
  return findPombo().command.length === 1 ? 1_000 : 4_000;
}
