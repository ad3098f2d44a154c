// Text for people on a terminal: wrapped at words, with a colour for statuses.

/** The screen behind standard output or standard error. */
export interface Screen {
  /** Columns; null: another program reads the text, and nothing is wrapped. */
  width: number | null;
  hasColour: boolean;
}

/** The screen that a stream is. NO_COLOR (no-color.org) and TERM=dumb turn colours off. */
export function findScreen(
  stream: { isTTY?: boolean; columns?: number },
  env: Record<string, string | undefined>,
): Screen {
  if (stream.isTTY !== true) return { width: null, hasColour: false };
  const hasColour = (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
  const { columns = 0 } = stream;
  return { width: columns > 0 ? columns : DEFAULT_WIDTH, hasColour };
}

/** For a terminal that does not report its width; help is written for it too. */
export const DEFAULT_WIDTH = 80;

const CODES = { red: 31, green: 32, yellow: 33 };
export type Colour = keyof typeof CODES;
const COLOURS = ["red", "green", "yellow"] as const satisfies Colour[];

/** `text` with a colour, which layOut() removes where the screen has none. */
export function paint(text: string, colour: Colour): string {
  return `\u001b[${CODES[colour]}m${text}\u001b[39m`;
}

/** The words that statuses begin with. */
const STATUS_WORDS: Record<Colour, string> = {
  green: "delivered verified bound open found good",
  yellow: "sending delivery_delayed pending warning held half connecting unknown different",
  red: "bounced failed complained suppressed suspended blocked refused not undelivered expired bad missing",
};

/** The colour of a status such as `bounced` or `email.bounced`; most have none. */
export function findColour(status: string): Colour | undefined {
  const [, word = ""] = /^(?:\w+\.)?(\w+)/.exec(status) ?? [];
  return COLOURS.find((each) => STATUS_WORDS[each].split(" ").includes(word));
}

export function paintStatus(status: string): string {
  const colour = findColour(status);
  return colour === undefined ? status : paint(status, colour);
}

/** Columns that a text takes; colours take none. */
export function getWidth(text: string): number {
  return Bun.stringWidth(text);
}

/** Lines as the screen shows them: wrapped, and coloured if it has colours. */
export function layOut(text: string, { width, hasColour }: Screen): string {
  const shown = hasColour ? text : Bun.stripANSI(text);
  if (width === null) return shown;
  return shown
    .split("\n")
    .flatMap((line) => wrap(line, width))
    .join("\n");
}

/** Indentation, and a label with two spaces or more behind it. */
const LABEL = /^ *(?:[^ ]+(?: [^ ]+)* {2,})?/;

/** A command on a line of its own: broken, it would no longer work as pasted. */
const COMMAND = /^ +(?:sudo |pombo (?!.* {2}))/;

/**
 * The lines of one line. They break at spaces, never inside a word, and go on under the text behind a label, else two
 * columns further in than an indented line begins.
 */
export function wrap(line: string, width: number): string[] {
  if (getWidth(line) <= width || COMMAND.test(line)) return [line];
  const [head = ""] = LABEL.exec(line) ?? [];
  const [indentation = ""] = /^ */.exec(line) ?? [];
  const isLabelled = head.length > indentation.length && getWidth(head) <= width / 2;
  const hanging = isLabelled ? getWidth(head) : indentation.length > 0 ? indentation.length + 2 : 0;
  const lines = [isLabelled ? head : indentation];
  let isBegun = false;
  for (const word of line.slice(lines[0]?.length).match(/[^ ]+ */g) ?? []) {
    const last = lines.at(-1) ?? "";
    if (isBegun && getWidth(last + word.trimEnd()) > width) lines.push(" ".repeat(hanging) + word);
    else lines[lines.length - 1] = last + word;
    isBegun = true;
  }
  return lines.map((each) => each.trimEnd());
}
