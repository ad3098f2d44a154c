// The bytes of an email, from its row: composed, and signed. All that it needs comes as one value that can
// be copied to another thread, where it is done: with the signature it is more than half of what sending an email costs.

import type { ThreadClient } from "../../../platform/worker-threads/worker-thread.ts";
import { type PlainKey, plainKeyReader } from "../../../protocols/dkim/keys.ts";
import { type RsaSigner, type SigningKey, signMessage } from "../../../protocols/dkim/sign.ts";
import { parseAddress, parseMailbox, requireMailbox } from "../../../protocols/mime/address.ts";
import { composeMessage } from "../../../protocols/mime/compose.ts";
import { type StoredBody, unpackBody } from "./body.ts";

export interface ComposeInput {
  uid: string;
  messageId: string;
  /** The workspace's public id: every recipient sees it. */
  workspaceUid: string;
  createdAt: number;
  sender: string;
  recipient: string;
  replyTo: string | null;
  subject: string;
  returnPath: string;
  /** Of the sending domain. */
  domain: string;
  body: StoredBody;
  /** Null: it goes unsigned, as pombo's own mail from a domain that nobody here has verified. */
  keys: PlainKey[] | null;
  /** Unix ms, of the signature. */
  at: number;
}

export type Composed =
  /** Or not, where there are to be no signatures. */
  { kind: "signed"; message: Uint8Array; needsSmtpUtf8: boolean } | { kind: "unsigned"; reason: string };

export type Composer = (input: ComposeInput) => Promise<Composed>;

/** Composes and signs on the thread, and here when that has ended. */
export function createComposer(line: ThreadClient<ComposeInput, Composed>): Composer {
  const readKeys = plainKeyReader();
  return (input) => line.callOrDo(input, () => composeAndSign(input, readKeys));
}

/** Unsigned when a signature cannot be made; throws when the row cannot be read. */
export async function composeAndSign(
  input: ComposeInput,
  readKeys: (keys: PlainKey[]) => SigningKey[],
  signRsa?: RsaSigner,
): Promise<Composed> {
  const from = requireMailbox(parseMailbox(input.sender));
  const to = requireMailbox(parseAddress(input.recipient));
  const replyTo = input.replyTo === null ? null : requireMailbox(parseAddress(input.replyTo));
  const message = composeMessage({
    id: input.uid,
    messageId: input.messageId,
    createdAt: input.createdAt,
    from,
    to,
    replyTo,
    subject: input.subject,
    ...unpackBody(input.body),
    headers: [
      // R53: Gmail counts complaints by each of the first three, so none is of one message only.
      ["Feedback-ID", `transactional:${input.workspaceUid}:${input.domain}:pombo`],
      // R42: finds the email in a complaint that hides the recipient; the return path's token, so it cannot be made up.
      ["X-Pombo-Trace", input.returnPath.slice(2, input.returnPath.indexOf("@"))],
    ],
  });
  try {
    const { keys, at } = input;
    const signatures = keys === null ? new Uint8Array() : await signMessage(message, readKeys(keys), at, signRsa);
    // R21: an address beyond ASCII stands as it is in the envelope and in the header. Of new emails only the
    // recipient has one (modules/emails/api/schema.ts).
    const needsSmtpUtf8 = [from, to, replyTo].some((each) => each !== null && /[^\0-\u007F]/.test(each.address));
    return { kind: "signed", message: Buffer.concat([signatures, message]), needsSmtpUtf8 };
  } catch (error) {
    return {
      kind: "unsigned",
      reason: `Not sent, because it could not be signed: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}
