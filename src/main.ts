import { runCommand, type Terminal } from "./cli/command.ts";
import { CommandError } from "./cli/failure.ts";
import { StartError } from "./errors.ts";
import { errorText } from "./log.ts";

// The only reader of argv and env, and the only place that ends the process.

/** Lines of one turn of the event loop go out in one write. */
function lineWriter(stream: NodeJS.WriteStream): (text: string) => void {
  let waiting = "";
  return (text) => {
    if (waiting === "") {
      setImmediate(() => {
        stream.write(waiting);
        waiting = "";
      });
    }
    waiting += `${text}\n`;
  };
}

/** Resolves when the stream has taken everything. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    // Behind the lines of this turn.
    setImmediate(() => stream.write("", () => resolve()));
  });
}

/** A screen that does not tell. */
const DEFAULT_WIDTH = 80;
/** What a shell shows for a program that SIGPIPE has ended. */
const BROKEN_PIPE_EXIT = 141;

/** The first signal asks for an orderly end; a second one does not wait for it. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    let isAsked = false;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => {
        if (isAsked) process.exit(130);
        isAsked = true;
        resolve(signal);
      });
    }
  });
}

async function main(): Promise<void> {
  let tellBug = (error: unknown) => terminal.err(`BUG: a failure that nobody waited for: ${errorText(error)}`);
  const terminal: Terminal = {
    env: process.env,
    out: lineWriter(process.stdout),
    err: lineWriter(process.stderr),
    flushed: () => flushed(process.stdout),
    width: process.stdout.isTTY ? process.stdout.columns || DEFAULT_WIDTH : null,
    input: () => process.stdin as AsyncIterable<Uint8Array>,
    stopSignal,
    tellBugsBy: (tell) => (tellBug = tell),
  };
  // Whoever reads has seen enough, as `head` does: no trouble to tell of.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(BROKEN_PIPE_EXIT);
    throw error;
  });
  // A bug, but of one request or one attempt: what is under way elsewhere should not end with it.
  process.on("unhandledRejection", (error) => tellBug(error));
  try {
    await runCommand(process.argv.slice(2), terminal);
  } catch (error) {
    const isForPeople = error instanceof StartError || error instanceof CommandError;
    terminal.err(isForPeople ? error.message : errorText(error));
    process.exitCode = error instanceof CommandError ? error.exitCode : 1;
  }
  // Whatever timer or socket a part forgot must not keep a stopped process alive.
  setImmediate(() => process.stdout.write("", () => process.exit(process.exitCode ?? 0)));
}

void main();
