// The entry: the only place that reads argv and env, and the only one that ends the process.

import { runCommand } from "./cli/command-table.ts";
import { CommandError, type Terminal } from "./cli/framework/definition.ts";
import { findScreen, layOut, paint } from "./cli/framework/screen.ts";
import { plainLines } from "./cli/framework/text.ts";
import { FinalStartError, StartError } from "./platform/errors.ts";
import { errorText } from "./platform/log.ts";

interface Writer {
  write: (text: string) => void;
  writeBytes: (bytes: Uint8Array) => void;
  flushed: () => Promise<void>;
}

/** Lines of one turn of the event loop go out in one write. */
function lineWriter(stream: NodeJS.WriteStream): Writer {
  let waiting = "";
  let written: Promise<void> = Promise.resolve();
  const send = () => {
    const text = waiting;
    waiting = "";
    if (text === "") return; // written before the turn ended
    // The callback of an empty write would come before the data of the writes before it has left.
    written = new Promise((resolve) => stream.write(text, () => resolve()));
  };
  return {
    write(text) {
      if (waiting === "") setImmediate(send);
      waiting += `${text}\n`;
    },
    writeBytes(bytes) {
      if (waiting !== "") send();
      written = new Promise((resolve) => stream.write(bytes, () => resolve()));
    },
    /** Resolves when the stream has taken everything. */
    async flushed() {
      // After the lines of this turn.
      await new Promise<void>((resolve) => setImmediate(resolve));
      await written;
    },
  };
}

/** For the last lines of a process that ends at once. */
const LAST_WORDS_MS = 1_000;
/** 128 + SIGPIPE, as shells have it. */
const BROKEN_PIPE_EXIT = 141;
/** EX_CONFIG of sysexits.h: the unit that install.sh writes does not restart after it. */
const FINAL_EXIT = 78;

/** The first signal asks for an orderly end; a second one does not wait for it. SIGUSR2: and for a hand-over. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    let isAsked = false;
    for (const signal of ["SIGTERM", "SIGINT", "SIGUSR2"] as const) {
      process.on(signal, () => {
        if (isAsked) process.exit(130);
        isAsked = true;
        resolve(signal);
      });
    }
  });
}

async function main(): Promise<void> {
  let report = (error: unknown) => terminal.err(`internal error, an unhandled rejection: ${errorText(error)}`);
  const [out, err] = [lineWriter(process.stdout), lineWriter(process.stderr)];
  const screen = findScreen(process.stdout, process.env);
  const errorScreen = findScreen(process.stderr, process.env);
  let isOutliving = false;
  const terminal: Terminal = {
    env: process.env,
    args: process.argv.slice(2),
    out: (text) => out.write(text),
    say: (text) => out.write(layOut(text, screen)),
    write: (bytes) => out.writeBytes(bytes),
    // A reason may quote a file or a program that others control.
    err(text, colour) {
      const [first = "", ...rest] = plainLines(text).split("\n\n");
      const shown = [colour === undefined ? first : paint(first, colour), ...rest].join("\n\n");
      err.write(layOut(shown, errorScreen));
    },
    flushed: () => out.flushed(),
    width: screen.width,
    isInteractive: process.stdin.isTTY && process.stdout.isTTY,
    setExitCode: (exitCode) => (process.exitCode = exitCode),
    fail(reason) {
      terminal.err(reason);
      const end = () => process.exit(1);
      void Promise.all([out.flushed(), err.flushed()]).then(end);
      // A reader of the output that has stopped reading must not keep the process.
      setTimeout(end, LAST_WORDS_MS);
    },
    input: () => process.stdin as AsyncIterable<Uint8Array>,
    stopSignal,
    onUnhandledRejection: (given) => (report = given),
    outliveSession() {
      isOutliving = true;
      process.on("SIGHUP", () => undefined);
    },
  };
  // The reader has closed the output, as `head` does: no error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (isOutliving) return;
    if (error.code === "EPIPE") process.exit(BROKEN_PIPE_EXIT);
    throw error;
  });
  process.stderr.on("error", (error) => {
    if (!isOutliving) throw error;
  });
  // An internal error, but of one request or one attempt: others go on.
  process.on("unhandledRejection", (error) => report(error));
  try {
    await runCommand([...terminal.args], terminal);
  } catch (error) {
    const isForPeople = error instanceof StartError || error instanceof CommandError;
    terminal.err(isForPeople ? error.message : errorText(error), "red");
    process.exitCode =
      error instanceof CommandError ? error.exitCode : error instanceof FinalStartError ? FINAL_EXIT : 1;
  }
  // A forgotten timer or socket must not keep a stopped process alive.
  await Promise.all([out.flushed(), err.flushed()]);
  process.exit(process.exitCode ?? 0);
}

void main();
