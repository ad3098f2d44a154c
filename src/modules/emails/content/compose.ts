// The bytes of an email, from its row: composed, and signed. All that it needs comes as one value that can
// be copied to another thread, where it is done: with the signature it is more than half of what sending an email costs.

import { prepareContent } from "../../../protocols/smtp/session/content.ts";
import { freeOctets } from "../../../platform/free-octets.ts";
import { findLargeBuffer, type ThreadClient } from "../../../platform/worker-threads/worker-thread.ts";
import { type PlainKey, plainKeyReader } from "../../../protocols/dkim/keys.ts";
import { type RsaSigner, type SigningKey, signMessage } from "../../../protocols/dkim/sign.ts";
import { type Mailbox, parseAddress, parseMailbox, requireMailbox } from "../../../protocols/mime/address.ts";
import { type Attachment, composeMessage, type MessageSource } from "../../../protocols/mime/compose.ts";
import { dateValue, headerLine, textLine } from "../../../protocols/mime/header.ts";
import { type Content, type StoredBody, unpackBody } from "./body.ts";
import { joinMime, type MimeBody, unpackMime } from "./mime-body.ts";
import { buildUnsubscribeFields, fillUnsubscribeUrl } from "./unsubscribe.ts";
import type { ComposeExtras, NamedAddress, StoredAttachment } from "./extras.ts";

export interface ComposeInput {
  uid: string;
  messageId: string;
  /** The workspace's public id: every recipient sees it. Null: pombo's own mail, which has none. */
  workspaceUid: string | null;
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
  /** Absent from a plain email. */
  extras?: ComposeExtras;
}

export type Composed =
  /** Or not, where there are to be no signatures. */
  | {
      kind: "signed";
      message: Uint8Array;
      needsSmtpUtf8: boolean;
      /** Octets above 127 are in its body. */
      hasEightBit: boolean;
      /** Not null: it was checked and its dots are stuffed; before that it had so many bytes. */
      preparedBytes: number | null;
    }
  | { kind: "unsigned"; reason: string };

/** `load` makes the input anew each time: the thread is given its large buffers, and may take them with it. */
export type Composer = (load: () => ComposeInput | Promise<ComposeInput>) => Promise<Composed>;

/** Composes and signs on the thread, and here when that has ended. */
export function createComposer(line: ThreadClient<ComposeInput, Composed>): Composer {
  const readKeys = plainKeyReader();
  return async (load) => line.callOrDo(await load(), async () => composeAndSign(await load(), readKeys));
}

/** The thread gets these buffers without a copy. */
export function findLargeBuffers({ extras }: ComposeInput): ArrayBuffer[] {
  return extras?.attachments.flatMap(({ pieces }) => pieces.flatMap(findLargeBuffer)) ?? [];
}

/** The attachments are used up. Unsigned when a signature cannot be made; throws when the row cannot be read. */
export async function composeAndSign(
  input: ComposeInput,
  readKeys: (keys: PlainKey[]) => SigningKey[],
  signRsa?: RsaSigner,
): Promise<Composed> {
  const { message, needsSmtpUtf8, hasEightBit } = compose(input);
  try {
    const { keys, at } = input;
    const signatures = keys === null ? new Uint8Array() : await signMessage(message, readKeys(keys), at, signRsa);
    const signed = Buffer.concat([signatures, message]);
    freeOctets(message);
    return { kind: "signed", ...prepareLarge(signed, needsSmtpUtf8 || hasEightBit), needsSmtpUtf8, hasEightBit };
  } catch (error) {
    return {
      kind: "unsigned",
      reason: `Not sent, because it could not be signed: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

interface Unsigned {
  message: Uint8Array;
  needsSmtpUtf8: boolean;
  hasEightBit: boolean;
}

function compose(input: ComposeInput): Unsigned {
  const stored = input.extras?.attachments ?? [];
  const attachments = stored.map(unpackAttachment);
  const contents = new Set(attachments.map(({ content }) => content));
  for (const piece of stored.flatMap(({ pieces }) => pieces)) if (!contents.has(piece)) freeOctets(piece);
  const mime = unpackMime(input.body);
  const composed = mime === null ? composeParts(input, attachments) : composeMime(input, mime, attachments);
  for (const { content } of attachments) freeOctets(content);
  return composed;
}

function composeParts(input: ComposeInput, attachments: Attachment[]): Unsigned {
  const parts = fillUnsubscribeUrl(unpackBody(input.body), input.extras?.unsubscribe ?? null);
  const source = toSource(input, { ...parts, attachments });
  const message = composeMessage(source);
  return { message, needsSmtpUtf8: isBeyondAscii(input.recipient, source), hasEightBit: false };
}

/** As it was handed in, behind the fields that this copy has for itself. */
function composeMime(input: ComposeInput, mime: MimeBody, attachments: Attachment[]): Unsigned {
  const { hasDate, hasMessageId, needsSmtpUtf8, hasEightBit } = mime.layout;
  const added = [
    ...buildOwnFields(input).map(([name, value]) => textLine(name, value)),
    ...(hasDate ? [] : [headerLine("Date", dateValue(input.createdAt))]),
    ...(hasMessageId ? [] : [headerLine("Message-ID", `<${input.messageId}>`)]),
  ];
  const chunks = joinMime(
    mime,
    added.join(""),
    attachments.map(({ content }) => content),
  );
  const message = Buffer.allocUnsafeSlow(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    message.set(chunk, at);
    at += chunk.length;
  }
  return { message, needsSmtpUtf8: needsSmtpUtf8 || hasBeyondAscii(input.recipient), hasEightBit };
}

/** Walking over a larger message costs the event loop too much, so it is done with composing. */
const LARGE_BYTES = 64 * 1024;

function prepareLarge(
  message: Uint8Array,
  mayBeEightBit: boolean,
): { message: Uint8Array; preparedBytes: number | null } {
  if (message.length <= LARGE_BYTES) return { message, preparedBytes: null };
  const { length: preparedBytes } = message;
  const prepared = prepareContent(message, mayBeEightBit);
  if (prepared.buffer !== message.buffer) freeOctets(message);
  return { message: prepared, preparedBytes };
}

function toSource(input: ComposeInput, contents: Content & { attachments: Attachment[] }): MessageSource {
  const { replyTo, recipient, extras } = input;
  const named = (address: string): NamedAddress => ({ name: null, address });
  return {
    id: input.uid,
    messageId: input.messageId,
    createdAt: input.createdAt,
    from: requireMailbox(parseMailbox(input.sender)),
    to: (extras?.to ?? [named(recipient)]).map(toMailbox),
    cc: (extras?.cc ?? []).map(toMailbox),
    replyTo: (extras?.replyTo ?? (replyTo === null ? [] : [named(replyTo)])).map(toMailbox),
    subject: input.subject,
    ...contents,
    headers: [...buildOwnFields(input), ...(extras?.headers ?? [])],
  };
}

function buildOwnFields({ workspaceUid, domain, returnPath, extras }: ComposeInput): [name: string, value: string][] {
  return [
    // R53: Gmail counts complaints by each of the first three, so none is of one message only.
    ["Feedback-ID", `transactional:${workspaceUid ?? "system"}:${domain}:pombo`],
    // R42: finds the email in a complaint that hides the recipient; the return path's token, so it cannot be made up.
    ["X-Pombo-Trace", returnPath.slice(2, returnPath.indexOf("@"))],
    ...buildUnsubscribeFields(extras?.unsubscribe ?? null),
    // RFC 3834 §5: nobody's holiday notice answers it.
    ...(workspaceUid === null ? [["Auto-Submitted", "auto-generated"] as [string, string]] : []),
  ];
}

/** Written from the parts of the address, as all are. */
function toMailbox({ name, address }: NamedAddress): Mailbox {
  return { ...requireMailbox(parseAddress(address)), displayName: name };
}

/** R21: an address beyond ASCII stands as it is in the envelope and in the header. */
function isBeyondAscii(recipient: string, { from, to, cc, replyTo }: MessageSource): boolean {
  // A bcc stands in no field.
  return (
    hasBeyondAscii(recipient) || [from, ...to, ...cc, ...replyTo].some(({ address }) => /[^\0-\u007F]/.test(address))
  );
}

function hasBeyondAscii(recipient: string): boolean {
  return /[^\0-\u007F]/.test(requireMailbox(parseAddress(recipient)).address);
}

/** Throws where it is not whole: nobody gets half a file. */
function unpackAttachment({ encoding, pieces, bytes, ...header }: StoredAttachment): Attachment {
  const plain = encoding === "zstd" ? pieces.map((piece) => Bun.zstdDecompressSync(piece)) : pieces;
  const [only] = plain;
  const content = plain.length === 1 && only !== undefined ? only : Buffer.concat(plain);
  if (content.length !== bytes) throw new Error(`an attachment has ${content.length} of its ${bytes} bytes`);
  return { ...header, content };
}
