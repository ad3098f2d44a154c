// `pombo inbox …`: mail to the operator. Strangers wrote it, so it is shown as plain text without control characters.

import { decodeWords, findValue } from "../../protocols/dsn/fields.ts";
import { type Message, readMessage, decodePart } from "../../protocols/dsn/message.ts";
import type { InboxEntry, InboxMail } from "../../modules/inbound-mail/operator-schema.ts";
import { findMail } from "../client/find.ts";
import { UsageError } from "../framework/definition.ts";
import { list, type OperatorCommand, record, type Shown, type Work } from "../client/operator-command.ts";
import type { Column } from "../framework/table.ts";
import { labelledLines, plain, timeText } from "../framework/text.ts";

type Entry = typeof InboxEntry.static;
type Mail = typeof InboxMail.static;

const COLUMNS: Column<Entry>[] = [
  { title: "ID", of: ({ id }) => id, kind: "id" },
  { title: "RECEIVED", of: ({ receivedAt }) => receivedAt, kind: "time" },
  { title: "MAILBOX", of: ({ mailbox }) => mailbox },
  { title: "FROM", of: ({ from }) => from },
  { title: "SUBJECT", of: ({ subject }) => subject, kind: "prose" },
];

export const INBOX_COMMANDS: OperatorCommand[] = [
  {
    name: "inbox",
    about:
      "List your mail, newest first: to postmaster and abuse, complaint reports that match no email (fbl), and reports that cannot be parsed (bounce). The newest 1,000 are kept for 30 days.",
    async run({ api }) {
      return list(await api.all<Entry>("/operator/inbox"), COLUMNS, "You have no mail.");
    },
  },
  {
    name: "inbox show",
    arguments: ["ID"],
    options: { raw: { about: "the mail as it was received, byte for byte" } },
    about: "Show a mail as text.",
    run: show,
  },
  {
    name: "inbox delete",
    arguments: ["ID"],
    about: "Delete a mail.",
    async run({ api, args }) {
      const deleted = await api.call("DELETE", inboxPath(await findMail(api, args.argument("ID"))));
      return record(deleted, "The mail is deleted.");
    },
  },
];

async function show({ api, args, terminal, isJson }: Work): Promise<Shown> {
  const isRaw = args.isSet("raw");
  if (isRaw && isJson) throw new UsageError("--raw and --json cannot be combined.");
  const mail = await api.call<Mail>("GET", inboxPath(await findMail(api, args.argument("ID"))));
  const bytes = Buffer.from(mail.content, "base64");
  if (!isRaw) return record(mail, formatMail(mail, readMessage(bytes)));
  terminal.write(bytes);
  return { kind: "shown" };
}

function formatMail(mail: Mail, message: Message): string {
  const { from, subject, mailbox, envelopeFrom, helo, clientAddress, receivedAt } = mail;
  const to = findValue(message.fields, "to");
  const head = labelledLines([
    ["From", plain(from ?? "-")],
    ["To", to === null ? mailbox : plain(`${decodeWords(to)} (${mailbox})`)],
    ["Subject", plain(subject ?? "-")],
    ["Received", timeText(receivedAt)],
    ["Client", plain(`${helo} [${clientAddress}]`)],
    ["Envelope", plain(`<${envelopeFrom}>`)],
  ]);
  return [head, ...message.parts.map(formatPart)].join("\n\n");
}

/** A part that is not text is only named. */
function formatPart(part: Message["parts"][number]): string {
  const isText = part.type.startsWith("text/") || part.type.startsWith("message/");
  if (!isText) return plain(`[${part.type}, ${part.body.length.toLocaleString("en")} characters: see --raw]`);
  return decodePart(part).split(/\r?\n/).map(plain).join("\n").trimEnd();
}

function inboxPath(id: string): string {
  return `/operator/inbox/${id}`;
}
