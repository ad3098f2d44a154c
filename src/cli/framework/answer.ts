// Reads what a person answers to a question.

import type { Terminal } from "./definition.ts";

/** The first line of standard input, trimmed and in lower case. */
export async function readAnswer({ input }: Pick<Terminal, "input">): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of input()) {
    text += decoder.decode(bytes, { stream: true });
    if (text.includes("\n")) break;
  }
  return (text.split("\n")[0] ?? "").trim().toLowerCase();
}
