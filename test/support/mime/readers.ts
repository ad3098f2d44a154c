// The readers in JavaScript: what they make of a message, in the form in which readers are compared.

import { simpleParser, type AddressObject } from "mailparser";
import PostalMime, { type Address, decodeWords } from "postal-mime";
import { comparableText, hashContent, OWN_FIELDS, type ReadAddress, type ReadMail } from "./shapes.ts";

export async function readByMailparser(message: Uint8Array): Promise<ReadMail> {
  const mail = await simpleParser(Buffer.from(message), {
    skipHtmlToText: true,
    skipTextToHtml: true,
    skipTextLinks: true,
    skipImageLinks: true,
  });
  const addresses = (field: AddressObject | AddressObject[] | undefined): ReadAddress[] =>
    [field ?? []].flat().flatMap(({ value }) => value.map(({ name, address = "" }) => ({ name, address })));
  return {
    subject: mail.subject ?? "",
    from: addresses(mail.from),
    to: addresses(mail.to),
    cc: addresses(mail.cc),
    replyTo: addresses(mail.replyTo),
    headers: OWN_FIELDS.map((name) => {
      const value = mail.headers.get(name.toLowerCase());
      // It leaves encoded-words in fields that it does not know; the References it makes a list.
      if (typeof value === "string") return decodeWords(value);
      return Array.isArray(value) ? value.map(String).join(" ") : null;
    }),
    // Beside attachments it makes an empty text of none.
    text: mail.text === undefined || mail.text === "" ? null : comparableText(mail.text),
    html: mail.html === false ? null : comparableText(mail.html),
    attachments: mail.attachments.map(({ filename = "", contentType, cid, contentDisposition, content }) => ({
      filename,
      contentType,
      contentId: cid ?? null,
      isInline: contentDisposition === "inline",
      sha256: hashContent(content),
    })),
  };
}

export async function readByPostalMime(message: Uint8Array): Promise<ReadMail> {
  const mail = await PostalMime.parse(message);
  const addresses = (field: Address | Address[] | undefined): ReadAddress[] =>
    [field ?? []].flat().map(({ name, address = "" }) => ({ name, address }));
  return {
    subject: mail.subject ?? "",
    from: addresses(mail.from),
    to: addresses(mail.to),
    cc: addresses(mail.cc),
    replyTo: addresses(mail.replyTo),
    headers: OWN_FIELDS.map((name) => {
      const value = mail.headers.find(({ key }) => key === name.toLowerCase())?.value;
      return value === undefined ? null : decodeWords(value);
    }),
    text: mail.text === undefined ? null : comparableText(mail.text),
    html: mail.html === undefined ? null : comparableText(mail.html),
    attachments: mail.attachments.map(({ filename, mimeType, contentId, disposition, content }) => ({
      filename: filename ?? "",
      contentType: mimeType,
      contentId: contentId?.replace(/^<|>$/g, "") ?? null,
      isInline: disposition === "inline",
      sha256: hashContent(typeof content === "string" ? Buffer.from(content) : new Uint8Array(content)),
    })),
  };
}
