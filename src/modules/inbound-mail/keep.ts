import { decodeWords, readFields, findValue } from "../../protocols/dsn/fields.ts";
import { newId } from "../../platform/uuid.ts";
import type { Random } from "../../platform/random.ts";
import type { InboundMessage } from "./inbound-message.ts";
import type { InboundMail } from "./store.ts";

/** The part of the header in which sender and subject are looked for. */
const MAX_HEADER_BYTES = 64 * 1024;
const MAX_SHOWN = 500;
const MAX_ADDRESS = 320;

/** A message as it is stored for the operator. */
export async function toInboundMail(
  mailbox: InboundMail["mailbox"],
  message: InboundMessage,
  random: Random,
): Promise<Omit<InboundMail, "id">> {
  const { bytes, receivedAt, envelopeFrom, helo, clientAddress, isTls } = message;
  const fields = readFields(readHeader(bytes));
  const shown = (name: string) => {
    const value = findValue(fields, name);
    return value === null ? null : decodeWords(value).slice(0, MAX_SHOWN).toWellFormed();
  };
  return {
    uid: newId(receivedAt, random),
    mailbox,
    envelopeFrom: envelopeFrom.slice(0, MAX_ADDRESS).toWellFormed(),
    sender: shown("from"),
    subject: shown("subject"),
    receivedAt,
    helo: helo.slice(0, MAX_ADDRESS).toWellFormed(),
    clientAddress,
    isTls,
    size: bytes.byteLength,
    content: await Bun.zstdCompress(bytes),
  };
}

export function readContent({ content }: Pick<InboundMail, "content">): Buffer {
  return Bun.zstdDecompressSync(content);
}

function readHeader(bytes: Uint8Array): string {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, MAX_HEADER_BYTES));
  const text = start.toString("latin1");
  const end = text.search(/\r?\n\r?\n/);
  return end < 0 ? text : text.slice(0, end);
}
