import { decodeWords, findValue } from "../../protocols/dsn/fields.ts";
import { type Message, readMessage, decodePart } from "../../protocols/dsn/message.ts";
import type { InboxEntry, InboxMail } from "../../modules/inbound-mail/operator-schema.ts";
import { UsageError } from "../framework/failure.ts";
import { list, type OperatorCommand, record, type Shown, type Work } from "../client/operator-command.ts";
import type { Column } from "../framework/table.ts";
import { facts, plain, timeText } from "../framework/text.ts";

// `pombo inbox …`: mail that came for the operator. It was written by strangers: shown as text, on a terminal
// that must not obey it.

type Entry = typeof InboxEntry.static;
type Mail = typeof InboxMail.static;

const COLUMNS: Column<Entry>[] = [
  { title: "ID", of: ({ id }) => id },
  { title: "RECEIVED", of: ({ receivedAt }) => receivedAt, isTime: true },
  { title: "MAILBOX", of: ({ mailbox }) => mailbox },
  { title: "FROM", of: ({ from }) => from },
  { title: "SUBJECT", of: ({ subject }) => subject },
];

export const INBOX_COMMANDS: OperatorCommand[] = [
  {
    name: "inbox",
    about:
      "Lists the mail that came for you, newest first: to postmaster and abuse, and reports of complaints that belong to no email (fbl) or cannot be read (bounce). The newest 1,000 are kept, for 30 days.",
    async run({ api }) {
      return list(await api.all<Entry>("/operator/inbox"), COLUMNS, "No mail came for you.");
    },
  },
  {
    name: "inbox show",
    arguments: ["ID"],
    options: { raw: { about: "the mail as it came, byte for byte" } },
    about: "Shows one of them as text.",
    run: show,
  },
  {
    name: "inbox delete",
    arguments: ["ID"],
    about: "Deletes one of them.",
    async run({ api, given }) {
      const id = given.argument("ID");
      const deleted = await api.call("DELETE", pathOf(id));
      return record(deleted, "The mail is deleted.");
    },
  },
];

async function show({ api, given, terminal, isJson }: Work): Promise<Shown> {
  const isRaw = given.isSet("raw");
  if (isRaw && isJson) throw new UsageError("--raw and --json exclude each other.");
  const mail = await api.call<Mail>("GET", pathOf(given.argument("ID")));
  const bytes = Buffer.from(mail.content, "base64");
  if (!isRaw) return record(mail, asText(mail, readMessage(bytes)));
  terminal.write(bytes);
  return { kind: "shown" };
}

function asText(mail: Mail, message: Message): string {
  const { from, subject, mailbox, envelopeFrom, helo, clientAddress, receivedAt } = mail;
  const to = findValue(message.fields, "to");
  const head = facts([
    ["From", plain(from ?? "-")],
    ["To", to === null ? mailbox : plain(`${decodeWords(to)} (${mailbox})`)],
    ["Subject", plain(subject ?? "-")],
    ["Received", timeText(receivedAt)],
    ["Brought by", plain(`${helo} [${clientAddress}]`)],
    ["Envelope", plain(`<${envelopeFrom}>`)],
  ]);
  return [head, ...message.parts.map(partText)].join("\n\n");
}

/** What is no text is named. */
function partText(part: Message["parts"][number]): string {
  const isText = part.type.startsWith("text/") || part.type.startsWith("message/");
  if (!isText) return plain(`[${part.type}, ${part.body.length.toLocaleString("en")} characters: see --raw]`);
  return decodePart(part).split(/\r?\n/).map(plain).join("\n").trimEnd();
}

function pathOf(id: string): string {
  return `/operator/inbox/${encodeURIComponent(id)}`;
}
