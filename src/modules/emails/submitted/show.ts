// Html and text of an email that came by SMTP, for those who look at it. mailparser reads them on a thread; nothing is
// decided by what it says.

import type { ThreadClient } from "../../../platform/worker-threads/worker-thread.ts";
import { getErrorMessage } from "../../../platform/errors.ts";
import type { Log } from "../../../platform/log.ts";
import { type Content, storedBody, type StoredBody, unpackBody } from "../content/body.ts";
import { joinMime, unpackMime } from "../content/mime-body.ts";

/** The input of the thread. */
export interface ShownBody {
  shown: StoredBody;
}

/** Html and text of any email; of one that cannot be read both are null. */
export type ReadContent = (body: StoredBody) => Content | Promise<Content>;

const NOTHING: Content = { html: null, text: null };

export function createContentReader(line: Pick<ThreadClient<ShownBody, Content>, "call">, log: Log): ReadContent {
  return (body) => {
    if (body.mime === null) return unpackBody(body);
    return line.call({ shown: storedBody(body) }).catch((error: unknown) => {
      log.event("email.unreadable", { why: getErrorMessage(error) }, "warn");
      return NOTHING;
    });
  };
}

/** Nothing is made of one part for another: only what was sent counts. */
const PARSER_OPTIONS = { skipHtmlToText: true, skipTextToHtml: true, skipTextLinks: true, skipImageLinks: true };

export async function readShown({ shown }: ShownBody): Promise<Content> {
  const mime = unpackMime(shown);
  if (mime === null) return unpackBody(shown);
  // Without the contents of its attachments, which it does not show.
  const empty = mime.layout.holes.map(() => new Uint8Array());
  // Only threads that show something load it.
  const { simpleParser } = await import("mailparser");
  const { html, text } = await simpleParser(Buffer.concat(joinMime(mime, "", empty)), PARSER_OPTIONS);
  // Of an absent part it says false, undefined or nothing.
  return { html: html || null, text: text || null };
}
