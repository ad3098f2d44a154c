// The daemon's log lines, passed on to our log.

import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";

/** Lines a minute; a daemon that repeats itself says nothing new in the rest. */
const LINES = 20;
const MINUTE_MS = 60_000;

/** Takes its lines; `heard` is called with the words of each. */
export function createLineReader(log: Log, clock: Clock, heard: (words: string) => void): (line: string) => void {
  let since = clock.now();
  let count = 0;
  return (line) => {
    const words = formatLine(line);
    heard(words);
    if (clock.now() - since >= MINUTE_MS) {
      if (count > LINES) log.event("replication.output", { words: `${count - LINES} more lines` }, "warn");
      since = clock.now();
      count = 0;
    }
    count += 1;
    if (count <= LINES) log.event("replication.output", { words }, "warn");
  };
}

/** The line's message and error; a line of another form stays as it is. */
function formatLine(line: string): string {
  try {
    const { msg, error, db } = JSON.parse(line) as Record<string, unknown>;
    const error_ = typeof error === "string" ? `: ${error}` : "";
    return explainNoCredentials(`${typeof db === "string" ? `${db}: ` : ""}${String(msg)}${error_}`);
  } catch {
    return line;
  }
}

/** Without an S3 key the daemon's message speaks only of the machine's role, which few machines have. */
export function explainNoCredentials(words: string): string {
  if (!words.includes("no EC2 IMDS role found")) return words;
  return `no S3 key is set ([replication] access_key_id and secret_access_key_file), and this machine has no role: ${words}`;
}
