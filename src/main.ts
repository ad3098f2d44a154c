import { runCommand, type Terminal } from "./cli/command.ts";
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
    stopSignal,
    tellBugsBy: (tell) => (tellBug = tell),
  };
  // A bug, but of one request or one attempt: what is under way elsewhere should not end with it.
  process.on("unhandledRejection", (error) => tellBug(error));
  try {
    await runCommand(process.argv.slice(2), terminal);
  } catch (error) {
    terminal.err(error instanceof StartError ? error.message : errorText(error));
    process.exitCode = 1;
  }
  // Whatever timer or socket a part forgot must not keep a stopped process alive.
  setImmediate(() => process.stdout.write("", () => process.exit(process.exitCode ?? 0)));
}

void main();
