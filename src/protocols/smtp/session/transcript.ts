/**
 * The transcript of one connection, kept while it lasts: commands and cleaned replies with the time of each, so
 * that an attempt that did not deliver can be looked at, or any as it happens. The message itself is not part of it, nor
 * is what signs us in. Noting a line costs a push; text is made only for an attempt that is kept or watched.
 */
import { type Reply, shorten } from "../replies/reply.ts";

/** Lines of one connection: an opening has about ten, a message about seven. */
const MAX_LINES = 60;
const MAX_LINE = 300;
/** Characters of an attempt, all its connections together. */
const MAX_TEXT = 2_500;

/** Who said a line: `note` is none of the two, but what happened between them, such as TLS. */
export const SPEAKERS = ["connect", "client", "server", "note"] as const;

/** One line of an attempt's dialogue. */
export interface DialogueLine {
  /** Since the attempt began; below zero: said before it, when an earlier message opened the session. Null: not known. */
  ms: number | null;
  by: (typeof SPEAKERS)[number];
  text: string;
}

interface Line {
  at: number;
  /** As sent, line ends included; or a reply. */
  said: string | Reply;
  /** Of a reply that may repeat a secret only the code is shown. */
  isSecret: boolean;
}

export class Dialogue {
  readonly #now: () => number;
  readonly #lines: Line[] = [];
  /** Hears each line as it is said. Must not throw. */
  #listener: ((line: Line) => void) | null = null;
  /** Where the message that is being sent, or was last, begins. */
  #messageAt = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  sent(commands: string): void {
    this.#note(commands, false);
  }

  /** `isSecret`: an answer to AUTH, which may repeat what it was sent. */
  received(reply: Reply, isSecret: boolean): void {
    this.#note(reply, isSecret);
  }

  /** Another message begins: of the one before nothing is kept. */
  beginMessage(): void {
    if (this.#messageAt === 0) this.#messageAt = this.#lines.length;
    else this.#lines.length = Math.min(this.#lines.length, this.#messageAt);
  }

  /** A line each: milliseconds since `since`, by default its beginning, `>` for us and `<` for the server. */
  text(since?: number): string {
    const startedAt = since ?? this.#lines[0]?.at ?? 0;
    return this.#lines
      .flatMap((line) => formatLine(line).map((words) => `${Math.round(line.at - startedAt)} ${words}`))
      .join("\n");
  }

  /** What was said so far, and from now on to `hear`, with milliseconds since `since`. */
  follow(since: number, hear: (lines: DialogueLine[]) => void): DialogueLine[] {
    const show = (line: Line) => formatLine(line).map((words) => readLine(Math.round(line.at - since), words));
    this.#listener = (line) => hear(show(line));
    return this.#lines.flatMap(show);
  }

  unfollow(): void {
    this.#listener = null;
  }

  #note(said: string | Reply, isSecret: boolean): void {
    if (this.#lines.length >= MAX_LINES) return;
    const line = { at: this.#now(), said, isSecret };
    this.#lines.push(line);
    this.#listener?.(line);
  }
}

function formatLine({ said, isSecret }: Line): string[] {
  if (typeof said === "string")
    return said
      .trimEnd()
      .split("\r\n")
      .map((line) => shorten(`> ${line}`, MAX_LINE));
  if (isSecret) return [`< ${said.code} …`];
  return said.lines.map((line, index) => {
    const dash = index < said.lines.length - 1 ? "-" : " ";
    return shorten(`< ${said.code}${dash}${line}`.trimEnd(), MAX_LINE);
  });
}

/** `words` as formatLine makes them. No command begins with a bracket. */
function readLine(ms: number | null, words: string): DialogueLine {
  const text = words.slice(2);
  if (words.startsWith("<")) return { ms, by: "server", text };
  return /^\(.*\)$/.test(text) ? { ms, by: "note", text: text.slice(1, -1) } : { ms, by: "client", text };
}

const STORED_LINE = /^(-?\d+) ([<>] .*)$/;

/** A dialogue as joinDialogues wrote it. */
export function parseDialogue(stored: string): DialogueLine[] {
  return stored.split("\n").map((line) => {
    const [, ms, words] = STORED_LINE.exec(line) ?? [];
    if (ms !== undefined && words !== undefined) return readLine(Number(ms), words);
    return line.startsWith("= ")
      ? { ms: null, by: "connect", text: line.slice(2) }
      : { ms: null, by: "note", text: line };
  });
}

/** The dialogues of an attempt's connections, in order, as its row keeps them: the last ones whole where not all fit. */
export function joinDialogues(tries: readonly { host: string; address: string; text: string }[]): string | null {
  const blocks = tries.map(({ host, address, text }) => `= ${host} [${address}]${text === "" ? "" : `\n${text}`}`);
  const kept: string[] = [];
  let room = MAX_TEXT;
  for (const block of blocks.toReversed()) {
    const shown = block.length <= room ? block : `${shorten(block, room - 2)}\n…`;
    kept.unshift(shown);
    room -= shown.length;
    if (room < 100) break;
  }
  return kept.length === 0 ? null : kept.join("\n");
}
