// Every PDU with its time and bytes, a line each, for those who judge afterwards:
// `<Unix ms, with microseconds> <connection> <direction> <hex or word>`, the direction being `<` received,
// `>` sent, `=` what happened to the connection.

import { closeSync, openSync, readSync, writeSync } from "node:fs";

const FLUSH_EVERY_MS = 20;
const FLUSH_LINES = 2_000;

export class Journal {
  readonly #file: number | null;
  #lines: string[] = [];
  readonly #timer: Timer | null;

  /** `path` null: nothing is kept. */
  constructor(path: string | null) {
    this.#file = path === null ? null : openSync(path, "a");
    this.#timer = path === null ? null : setInterval(() => this.flush(), FLUSH_EVERY_MS);
  }

  note(connection: number, direction: "<" | ">" | "=", what: Buffer | string): void {
    if (this.#file === null) return;
    const at = (performance.timeOrigin + performance.now()).toFixed(3);
    this.#lines.push(`${at} ${connection} ${direction} ${typeof what === "string" ? what : what.toString("hex")}\n`);
    if (this.#lines.length >= FLUSH_LINES) this.flush();
  }

  flush(): void {
    if (this.#file === null || this.#lines.length === 0) return;
    writeSync(this.#file, this.#lines.join(""));
    this.#lines = [];
  }

  close(): void {
    this.flush();
    if (this.#timer !== null) clearInterval(this.#timer);
    if (this.#file !== null) closeSync(this.#file);
  }
}

export interface Noted {
  /** Unix ms, with microseconds. */
  at: number;
  connection: number;
  direction: "<" | ">" | "=";
  /** A PDU in hexadecimal, or a word. */
  what: string;
}

const READ_AT_ONCE = 1 << 20;

/** What a journal's file holds, of any size; a line that is being written is left out. */
export function* eachNoted(path: string): Generator<Noted> {
  const file = openSync(path, "r");
  try {
    const chunk = Buffer.alloc(READ_AT_ONCE);
    let rest = "";
    for (let size = readSync(file, chunk); size > 0; size = readSync(file, chunk)) {
      const lines = (rest + chunk.toString("latin1", 0, size)).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield notedIn(line);
    }
  } finally {
    closeSync(file);
  }
}

function notedIn(line: string): Noted {
  const [at = "", connection = "", direction = "", what = ""] = line.split(" ");
  return { at: Number(at), connection: Number(connection), direction: direction as Noted["direction"], what };
}
