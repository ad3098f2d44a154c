/**
 * The transcript of one connection, kept while it lasts: commands and cleaned replies with the time of each, so
 * that an attempt that did not deliver can be looked at. The message itself is not part of it, nor is what signs us
 * in. Noting a line costs a push; text is made only for an attempt that is kept.
 */
import { type Reply, shorten } from "../replies/reply.ts";

/** Lines of one connection: an opening has about ten, a message about seven. */
const MAX_LINES = 60;
const MAX_LINE = 300;
/** Characters of an attempt, all its connections together. */
const MAX_TEXT = 2_500;

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

  /** A line each: milliseconds since the beginning, `>` for us and `<` for the server. */
  text(): string {
    const startedAt = this.#lines[0]?.at ?? 0;
    return this.#lines
      .flatMap((line) => formatLine(line).map((words) => `${Math.round(line.at - startedAt)} ${words}`))
      .join("\n");
  }

  #note(said: string | Reply, isSecret: boolean): void {
    if (this.#lines.length < MAX_LINES) this.#lines.push({ at: this.#now(), said, isSecret });
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
