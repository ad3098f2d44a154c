// Reads a message that came by SMTP: takes it apart for the record, and packs what is stored of it. Pure; a large one is
// read on a thread.

import { freeOctets } from "../../../platform/free-octets.ts";
import { readMessage, type SubmittedMessage } from "../../../protocols/mime/submitted/read-message.ts";
import { packContent, type PackedAttachment } from "../attachments/pack.ts";
import { packMimeBody, type PackedMimeBody } from "../content/mime-body.ts";
import { isMemberField } from "./members.ts";

/** The input of the thread. */
export interface GivenSubmission {
  /** The message, in pieces of their own memory. */
  submitted: Uint8Array[];
}

type File = Omit<SubmittedMessage["attachments"][number], "encoded">;

export interface ReadSubmission extends Omit<SubmittedMessage, "body" | "attachments"> {
  kind: "read";
  body: PackedMimeBody;
  files: (File & { packed: PackedAttachment })[];
}

export type SubmissionFault = Extract<ReturnType<typeof readMessage>, { kind: "fault" }>;

/** They say who got a blind copy, or are written by those who receive a message, or by the service. */
const DROPPED = new Set(["bcc", "resent-bcc", "return-path", "feedback-id", "authentication-results"]);
const OWN = /^x-pombo-/;

export function readSubmitted({ submitted }: GivenSubmission): ReadSubmission | SubmissionFault {
  const octets = join(submitted);
  const read = readMessage(octets, {
    isTaken: isMemberField,
    isDropped: (name) => DROPPED.has(name) || OWN.test(name),
    isSetAside: (name) => name === "sender",
  });
  if (read.kind === "fault") return read;
  const { body, attachments, ...message } = read.message;
  const packed = packMimeBody(body);
  const files = attachments.map(({ encoded, ...file }) => ({
    ...file,
    packed: packContent(Buffer.from(encoded.buffer, encoded.byteOffset, encoded.byteLength)),
  }));
  // Content that is not worth compressing is stored from where it stands.
  const isUsed = [packed, ...files.map((file) => file.packed)].some(({ stored }) => stored.buffer === octets.buffer);
  if (!isUsed) freeOctets(octets);
  return { kind: "read", ...message, body: packed, files };
}

/** In memory once; the pieces are used up. */
function join(pieces: Uint8Array[]): Uint8Array {
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined) return only;
  const joined = Buffer.concat(pieces);
  for (const piece of pieces) freeOctets(piece);
  return joined;
}
