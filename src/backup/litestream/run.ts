// Runs a command of the daemon to its end.

export interface CommandResult {
  /** Null: it was ended because its time was up, or by a signal. */
  code: number | null;
  out: string;
  err: string;
}

export interface CommandOptions {
  env: Record<string, string>;
  /** On its standard input. */
  input?: string;
  limitMs: number;
  signal?: AbortSignal | undefined;
}

/** Runs a command to its end. Throws where it cannot be started. */
export async function runCommand(
  words: string[],
  { env, input, limitMs, signal }: CommandOptions,
): Promise<CommandResult> {
  let end = (): void => undefined;
  // Before it starts: a signal in between would end only us.
  const cancel = endWithUs(() => end());
  try {
    const child = Bun.spawn(words, {
      stdin: input === undefined ? "ignore" : Buffer.from(input),
      stdout: "pipe",
      stderr: "pipe",
      env,
      timeout: limitMs,
      killSignal: "SIGKILL",
      // A session of its own: who can change the owner's processes, or this file, must not reach by this one the screen
      // of root, who started pombo and whom pombo left to become the owner.
      detached: true,
      ...(signal === undefined ? {} : { signal }),
    });
    end = () => child.kill("SIGKILL");
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    await child.exited;
    return { code: child.exitCode, out, err };
  } finally {
    cancel();
  }
}

/** Passes a signal that ends this process on to the command, which has a session of its own. */
function endWithUs(kill: () => void): () => void {
  const cancels = (["SIGINT", "SIGTERM", "SIGHUP"] as const).map((name) => {
    const end = () => {
      // An instance ends in its own order.
      if (process.listenerCount(name) > 1) return;
      kill();
      process.off(name, end);
      process.kill(process.pid, name);
    };
    process.on(name, end);
    return () => process.off(name, end);
  });
  return () => {
    for (const cancel of cancels) cancel();
  };
}
