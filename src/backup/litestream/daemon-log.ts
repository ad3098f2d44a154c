import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";

// What the daemon says, line by line, for our log.

/** Lines a minute; of one that repeats itself all the time the rest says nothing new. */
const LINES = 20;
const MINUTE_MS = 60_000;

/** Takes its lines; `heard` is told what each of them says. */
export function reader(log: Log, clock: Clock, heard: (words: string) => void): (line: string) => void {
  let since = clock.now();
  let told = 0;
  return (line) => {
    const words = wordsOf(line);
    heard(words);
    if (clock.now() - since >= MINUTE_MS) {
      if (told > LINES) log.event("replication.output", { words: `${told - LINES} more lines` }, "warn");
      since = clock.now();
      told = 0;
    }
    told += 1;
    if (told <= LINES) log.event("replication.output", { words }, "warn");
  };
}

/** Its message and the error behind it; what is no line of its log, as it stands. */
function wordsOf(line: string): string {
  try {
    const { msg, error, db } = JSON.parse(line) as Record<string, unknown>;
    const error_ = typeof error === "string" ? `: ${error}` : "";
    return withCure(`${typeof db === "string" ? `${db}: ` : ""}${String(msg)}${error_}`);
  } catch {
    return line;
  }
}

/** Where S3 gets no key the daemon speaks of the machine's role alone, which few machines have. */
export function withCure(words: string): string {
  if (!words.includes("no EC2 IMDS role found")) return words;
  return `no S3 key is set ([replication] access_key_id and secret_access_key_file), and this machine has no role: ${words}`;
}
