// Every PDU with its time and bytes, a line each, for those who judge afterwards:
// `<Unix ms, with microseconds> <connection> <direction> <hex or word>`, the direction being `<` received,
// `>` sent, `=` what happened to the connection.

import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

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

/** What a journal's file holds; a line that is being written is left out. */
export function readJournal(path: string): Noted[] {
  const lines = readFileSync(path, "latin1").split("\n").slice(0, -1);
  return lines.map((line) => {
    const [at = "", connection = "", direction = "", what = ""] = line.split(" ");
    return { at: Number(at), connection: Number(connection), direction: direction as Noted["direction"], what };
  });
}
