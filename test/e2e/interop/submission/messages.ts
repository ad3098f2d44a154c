// The five messages that each program hands in, as the file that it reads them from; what arrives is compared with them.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { comparableText, hashContent } from "../../../support/mime/shapes.ts";
import { MX_DOMAIN } from "../mx.ts";

export const SENDER_DOMAIN = "carta.test";
export const SENDER = `loja@${SENDER_DOMAIN}`;

export interface Person {
  name: string;
  address: string;
}

export interface Message {
  /** Its X-Sample. */
  key: string;
  from: Person;
  to: Person[];
  cc: Person[];
  bcc: Person[];
  subject: string;
  text: string;
  html: string | null;
  attachments: { filename: string; contentType: string; path: string }[];
}

const ROLES = ["to", "also", "cc", "copy", "bcc"] as const;
export type Role = (typeof ROLES)[number];

/** How many of the five messages go to whom. */
export const MESSAGES_BY_ROLE: Record<Role, number> = { to: 5, also: 1, cc: 1, copy: 1, bcc: 1 };

const PDF_BYTES = 20_000;
// Every octet, and every pair of line ends and dots that a mail server looks at.
const PDF = Buffer.concat([
  Buffer.from("%PDF-1.4\n\r\n.\r\n..\r\n\0\r\r\n\n"),
  Buffer.from(Array.from({ length: PDF_BYTES }, (_, i) => (i * 31 + (i >> 8)) % 256)),
]);
const PDF_HASH = hashContent(PDF);

const TEXT = "Good day,\n\n.\n..\n.a line that begins with a dot\nFrom here on: = =3D =\n--boundary\n\nThe shop\n";
const OLA = "Olá Conceição,\n\na sua encomenda nº 1234 está confirmada: não é necessária nenhuma acção.\n\nJoão\n";
const HTML = `<h1>Olá!</h1>\n<p>${"A sua encomenda já saiu de São Tomé. ".repeat(30)}</p>\n<p class="x">.</p>\n`;

/** The user at the MX who is sent the messages of one program. */
export function userOf(peer: string, role: Role): string {
  return `${peer}-${role}`;
}

export function usersOf(peer: string): string[] {
  return ROLES.map((role) => userOf(peer, role));
}

/** The attachment's file, in `folder`. */
export function writeAttachment(folder: string): void {
  writeFileSync(attachmentPath(folder), PDF);
}

const attachmentPath = (folder: string): string => join(folder, "attachment.pdf");

export function buildMessages(options: { folder: string; peer: string; mode: string }): Message[] {
  const person = (role: Role, name = ""): Person => ({ name, address: `${userOf(options.peer, role)}@${MX_DOMAIN}` });
  const usual = {
    from: { name: "Loja", address: SENDER },
    to: [person("to")],
    cc: [],
    bcc: [],
    subject: "Your order",
    text: TEXT,
    html: null,
    attachments: [],
  };
  const file = { filename: "Relatório de acção nº 5.pdf", contentType: "application/pdf" };
  const messages: (Partial<Message> & { key: string })[] = [
    { key: "plain" },
    { key: "html", subject: "Your order has left", text: OLA, html: HTML },
    { key: "attachment", text: OLA, attachments: [{ ...file, path: attachmentPath(options.folder) }] },
    {
      key: "portuguese",
      from: { name: "João Conceição", address: SENDER },
      to: [person("to", "Maria da Conceição Araújo")],
      subject: "Confirmação da encomenda nº 1234: não é necessária nenhuma acção, obrigado pela preferência",
      text: OLA,
    },
    {
      key: "several",
      to: [person("to", "Inês"), person("also")],
      cc: [person("cc", "João Conceição"), person("copy")],
      bcc: [person("bcc", "Cópia oculta")],
      text: OLA,
    },
  ];
  return messages.map((message) => ({ ...usual, ...message, key: `${options.mode}-${message.key}` }));
}

/** Whom it goes to. */
export function addressesOf({ to, cc, bcc }: Message): string[] {
  return [...to, ...cc, ...bcc].map(({ address }) => address);
}

/** What every reader must find in a message. */
export interface Content {
  subject: string;
  from: Person[];
  to: Person[];
  cc: Person[];
  text: string | null;
  html: string | null;
  attachments: { filename: string; contentType: string; sha256: string }[];
}

/** `fault`: what the program itself makes of a text. */
export function toContent(message: Message, fault = (text: string) => text): Content {
  const { subject, from, to, cc, html, attachments } = message;
  const text = fault(message.text);
  const files = attachments.map(({ filename, contentType }) => ({ filename, contentType, sha256: PDF_HASH }));
  const parts = { text: comparableText(text), html: html === null ? null : comparableText(html) };
  return { subject, from: [from], to, cc, ...parts, attachments: files };
}
