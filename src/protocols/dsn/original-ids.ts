/**
 * The marks in a report of the email that it is about: the signed return path, in the fields of
 * the report or where a server wrote it into the copy; our trace header, which holds the same token
 * (src/modules/emails/content/compose.ts); the Message-ID. Of these only a token proves anything, and only with the
 * recipient that it was made for (return-path.ts). Pure.
 */
import { findValue } from "./fields.ts";
import type { Message } from "./message.ts";
import { returnedFields } from "./notice.ts";

/** Distinct tokens that are looked for; a report about one email has one. */
const MAX_TOKENS = 10;

export interface Traces {
  /** Local parts as readReturnPath takes them, `b+…`, in lower case; each once. To be verified. */
  returnPaths: string[];
  /** Of the message that came back, without brackets; null where there is none. */
  messageId: string | null;
  feedbackId: string | null;
}

const TOKEN =
  /(?<![a-z2-7])b(?:\+|=2b|%2b)([a-z2-7]{42})(?![a-z2-7])|x-pombo-trace:[ \t]{0,8}(?:\r?\n[ \t]{1,8})?([a-z2-7]{42})(?![a-z2-7])/gi;

export function readTraces(message: Message): Traces {
  const fields = returnedFields(message);
  return {
    returnPaths: findReturnPaths(message.raw),
    messageId: /<([^<>\s]{1,300})>/.exec(findValue(fields, "message-id") ?? "")?.[1] ?? findMessageId(message.raw),
    feedbackId: findValue(fields, "feedback-id"),
  };
}

/** Of a copy that is a part of the text, as qmail and Exim append it. */
function findMessageId(raw: string): string | null {
  const text = raw.slice(Math.max(raw.search(/\n\r?\n/), 0));
  return /^[ \t>]{0,8}message-id:[ \t]{0,8}<([^<>\s]{1,300})>/im.exec(text)?.[1] ?? null;
}

/** Of the raw bytes: wherever a server or a gateway put it. */
function findReturnPaths(raw: string): string[] {
  const found = new Set<string>();
  // A soft line break of quoted-printable may stand in the middle of it.
  for (const match of raw.replace(/=\r?\n/g, "").matchAll(TOKEN)) {
    found.add(`b+${(match[1] ?? match[2] ?? "").toLowerCase()}`);
    if (found.size === MAX_TOKENS) break;
  }
  return [...found];
}
