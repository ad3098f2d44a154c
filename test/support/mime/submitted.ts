// Messages as programs submit them, and what is sent of them.

import {
  readMessage,
  type ReadMessage,
  type ReadOptions,
  type SubmittedMessage,
} from "../../../src/protocols/mime/submitted/read-message.ts";

const OPTIONS: ReadOptions = {
  isTaken: (name) => name === "x-pombo-tag",
  isDropped: (name) => name === "bcc" || name === "return-path",
  isSetAside: (name) => name === "sender",
};

/** `text`: one character an octet, or octets. */
export function toOctets(text: string | Uint8Array): Uint8Array {
  return typeof text === "string" ? Buffer.from(text, "latin1") : text;
}

function submit(message: string | Uint8Array): ReadMessage {
  return readMessage(toOctets(message), OPTIONS);
}

/** What is read of a message that must be taken. */
export function accept(message: string | Uint8Array): SubmittedMessage {
  const read = submit(message);
  if (read.kind === "fault") throw new Error(`${read.fault}: ${read.message}`);
  return read.message;
}

/** "syntax: line 1 …", or "": there is none. */
export function faultOf(message: string | Uint8Array): string {
  const read = submit(message);
  return read.kind === "fault" ? `${read.fault}: ${read.message}` : "";
}

/** The message as it is sent. */
export function reassemble({ header, body, holes, attachments }: SubmittedMessage): Buffer {
  const pieces: Uint8Array[] = [Buffer.from(header, "utf8"), Buffer.from("\r\n")];
  let at = 0;
  for (const [i, hole] of holes.entries()) {
    pieces.push(body.subarray(at, hole), attachments[i]?.encoded ?? new Uint8Array());
    at = hole;
  }
  return Buffer.concat([...pieces, body.subarray(at)]);
}

/** As it is sent, one character an octet. */
export function sent(message: string | Uint8Array): string {
  return reassemble(accept(message)).toString("latin1");
}

/** Lines with CRLF. */
export function lines(...all: string[]): string {
  return all.map((line) => `${line}\r\n`).join("");
}
