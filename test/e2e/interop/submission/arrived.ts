// What three readers make of the messages that arrived: mailparser, postal-mime and Python's email.

import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readByMailparser, readByPostalMime } from "../../../support/mime/readers.ts";
import { comparableText } from "../../../support/mime/shapes.ts";
import { pathOf } from "../../../support/peers/packages.ts";
import { mustRun } from "../../../support/peers/process.ts";
import type { Content } from "./messages.ts";

const READER = join(import.meta.dir, "../readers/read_content.py");

export type Read = Record<"mailparser" | "postal-mime" | "Python's email", Content>;

/** Each message as each reader has it, in their order. */
export async function readByThree(messages: Buffer[], folder: string): Promise<Read[]> {
  const place = mkdtempSync(join(folder, "arrived-"));
  const files = messages.map((message, i) => {
    const file = join(place, `${i}.eml`);
    writeFileSync(file, message);
    return file;
  });
  const output = await mustRun([pathOf("python3"), READER, ...files]);
  const lines = output.split("\n").filter((line) => line.startsWith("{"));
  return await Promise.all(
    messages.map(async (message, i) => ({
      mailparser: toContent(await readByMailparser(message)),
      "postal-mime": toContent(await readByPostalMime(message)),
      "Python's email": toContent(JSON.parse(lines[i] ?? "{}") as Content),
    })),
  );
}

function toContent(mail: Content): Content {
  const { subject, from, to, cc, text, html, attachments } = mail;
  const files = attachments.map(({ filename, contentType, sha256 }) => ({ filename, contentType, sha256 }));
  return { subject, from, to, cc, text: toComparable(text), html: toComparable(html), attachments: files };
}

function toComparable(text: string | null): string | null {
  return text === null ? null : comparableText(text);
}
