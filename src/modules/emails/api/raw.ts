// Answers with a whole message, as it is sent but for its signatures.

import { AppError } from "../../../platform/errors.ts";
import { notFound } from "../../../platform/http/errors.ts";
import { type ComposeInputDeps, type ComposeRows, readComposeInput } from "../content/compose-input.ts";
import type { Composer } from "../content/compose.ts";
import { GUARDING_HEADERS } from "./attachment.ts";

/** Each is in memory whole. */
const MAX_AT_ONCE = 2;

export type AnswerRaw = (rows: Omit<ComposeRows, "body"> & { body: ComposeRows["body"] | null }) => Promise<Response>;

export interface RawDeps extends ComposeInputDeps {
  composer: Composer;
}

/** Throws AppError: 404 once a part of it is kept no longer. */
export function createRawAnswer(deps: RawDeps): AnswerRaw {
  let running = 0;
  return async ({ body, ...rows }) => {
    const { email, extra } = rows;
    if (body === null || email.isErased) throw messageGone();
    const hasFiles = (extra?.attachmentBytes ?? null) !== null;
    const files = !hasFiles ? [] : deps.attachments.listOf(email.groupId ?? email.id);
    if (files.some(({ attachmentId }) => attachmentId === null)) throw messageGone();
    if (running >= MAX_AT_ONCE)
      throw new AppError("UNAVAILABLE", "Others are reading whole messages now", {
        hint: "Ask again in a moment.",
        retryAfterS: 1,
      });
    running += 1;
    try {
      const composed = await deps.composer(() => readComposeInput({ ...rows, body }, { keys: null, at: 0 }, deps));
      if (composed.kind === "unsigned") throw new Error(composed.reason);
      const message = composed.preparedBytes === null ? composed.message : unstuff(composed.message);
      return new Response(message, {
        headers: {
          ...GUARDING_HEADERS,
          "content-type": "message/rfc822",
          "content-disposition": `attachment; filename="${email.uid}.eml"`,
        },
      });
    } finally {
      running -= 1;
    }
  };
}

function messageGone(): AppError {
  const hint =
    "Contents are removed some time after an email is final ([email] content_retention), attachments sooner ([email] attachment_retention).";
  return notFound("This message is kept no longer", hint);
}

const DOT = 0x2e;

/** A large one comes with its dots stuffed (RFC 5321 §4.5.2). */
function unstuff(message: Uint8Array): Uint8Array {
  const octets = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
  const pieces: Uint8Array[] = [];
  let from = octets[0] === DOT ? 1 : 0;
  for (let at = octets.indexOf("\n.", from); at >= 0; at = octets.indexOf("\n.", from)) {
    pieces.push(octets.subarray(from, at + 1));
    from = at + 2;
  }
  return Buffer.concat([...pieces, octets.subarray(from)]);
}
