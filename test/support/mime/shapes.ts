// Every shape of an email times values that mail software gets wrong, and what a reader must find in each.

import { createHash } from "node:crypto";
import type { Mailbox } from "../../../src/protocols/mime/address.ts";
import type { Attachment, MessageSource } from "../../../src/protocols/mime/compose.ts";
import { source } from "./mailbox.ts";

/** A message as a reader shows it: decoded, line ends alike, no line end at the end of a text. */
export interface ReadMail {
  subject: string;
  from: ReadAddress[];
  to: ReadAddress[];
  cc: ReadAddress[];
  replyTo: ReadAddress[];
  /** Of OWN_FIELDS, in their order; null: it is not there. */
  headers: (string | null)[];
  text: string | null;
  html: string | null;
  attachments: ReadAttachment[];
}

export interface ReadAddress {
  name: string;
  address: string;
}

export interface ReadAttachment {
  filename: string;
  /** Lower case, without parameters. */
  contentType: string;
  /** Without angle brackets. */
  contentId: string | null;
  isInline: boolean;
  /** Of the content, in hexadecimal. */
  sha256: string;
}

export interface Shape {
  name: string;
  source: MessageSource;
}

/** The sender's own fields that a shape with lists has. The second one's name leaves no room beside it. */
export const OWN_FIELDS = ["X-Own", `X-${"Long".repeat(18)}`, "References"];

/** By what is hard in it. CR, LF and NUL are refused (compose.test.ts); all of these are sent. */
export const HOSTILE: Record<string, string> = {
  plain: "invoice.pdf",
  accents: "Relatório de acção nº 5 – São João.pdf",
  "bidi override": "exe.\u202efdp.exe",
  "line separators": "a\u2028Bcc: x@evil.example\u2029b\u0085c",
  "an encoded-word that is none": "50% =? off",
  "an encoded-word": "=?utf-8?Q?x?= =?utf-8?B?eA==?=",
  "a long word": `${"x".repeat(200)}.pdf`,
  "a long word beyond ASCII": `${"ação".repeat(50)}.pdf`,
  "words to fold": `${"seven letters ".repeat(16)}.pdf`,
  quotes: 'a "b" \\c\\ \'d\'; filename="evil.exe"',
  "parameter syntax": "utf-8''a%41%zz*0*=b; charset=x, <y@evil.example> (z)",
  spaces: "two  spaces   and more",
  "RFC 822 specials": "Silva, João: a@b.example; [x] {y} ~z",
  emoji: "👩‍👩‍👧‍👦 🇲🇿 👍🏽.png",
  "right to left": "مرحبا بكم في المتجر.pdf",
  "boundary lines": `--=_${source().id}--`,
  combining: "e\u0301te\u0301 Å.txt",
};

/** Texts and html, each followed by a hostile value. */
const BODIES: [name: string, text: string | null, html: string | null][] = [
  ["text", "Olá.\n.\n--\n", null],
  ["html", null, '<p>Olá.</p><img src="cid:logo@exemplo"> '],
  ["text and html", "Plain ASCII, 7 bit.\n", '<p>Plain ASCII</p><img src="cid:logo@exemplo"> '],
];

/** Octets that no encoding but base64 carries. */
const BINARY = Buffer.from(Array.from({ length: 1_000 }, (_, i) => (i * 7) % 256));

/** Three bodies × with and without inline and attached files × one recipient or lists and own fields. */
export function makeShapes(hostile: string): Shape[] {
  return BODIES.flatMap(([body, text, html]) =>
    [false, true].flatMap((hasInline) =>
      [false, true].flatMap((hasAttached) =>
        [false, true].map((hasLists) => {
          const with_ = [hasInline && "inline", hasAttached && "attached", hasLists && "lists"].filter(Boolean);
          return {
            name: [body, ...with_].join(" + "),
            source: source({
              from: person(hostile, "loja@exemplo.co.mz"),
              subject: hostile,
              text: text === null ? null : `${text}${hostile}`,
              html: html === null ? null : `${html}${hostile}`,
              attachments: [...(hasInline ? inlineFiles(hostile) : []), ...(hasAttached ? attachedFiles(hostile) : [])],
              ...(hasLists ? makeLists(hostile) : {}),
            }),
          };
        }),
      ),
    ),
  );
}

/** Some readers decode an encoded-word in a name that RFC 2231 has already given them: attachments/rules.ts refuses it. */
function toFilename(hostile: string): string {
  return hostile.replaceAll("?=", "?");
}

function inlineFiles(hostile: string): Attachment[] {
  return [{ filename: toFilename(hostile), contentType: "image/png", contentId: "logo@exemplo", content: BINARY }];
}

function attachedFiles(hostile: string): Attachment[] {
  return [
    { filename: "fatura.pdf", contentType: "application/pdf", contentId: null, content: BINARY.subarray(1) },
    {
      filename: toFilename(hostile),
      contentType: "text/csv; charset=utf-8",
      contentId: null,
      content: Buffer.from("a;b\n1;é\r2"),
    },
    { filename: "carta", contentType: "message/rfc822", contentId: null, content: Buffer.from("Subject: x\n\ny") },
    {
      filename: `empty ${toFilename(hostile)}`,
      contentType: "application/x-none",
      contentId: null,
      content: Buffer.alloc(0),
    },
  ];
}

function makeLists(hostile: string): Partial<MessageSource> {
  const [own = "", long = "", references = ""] = OWN_FIELDS;
  return {
    to: [person(null, "a@b.example"), person(hostile, "b@b.example"), person("Ana Sá", "c@b.example")],
    cc: [person(hostile, "d@b.example"), person(hostile, "e@b.example")],
    replyTo: [person(hostile, "f@b.example"), person(null, `${"g".repeat(60)}@b.example`)],
    headers: [
      ["X-Pombo-Trace", "x".repeat(60)],
      [own, hostile],
      [long, hostile],
      [references, Array.from({ length: 6 }, (_, i) => `<${i}.${"r".repeat(40)}@b.example>`).join(" ")],
    ],
  };
}

function person(displayName: string | null, address: string): Mailbox {
  const [localPart = "", domain = ""] = address.split("@");
  return { displayName, localPart, domain, address };
}

/** What a reader must find. */
export function toReadMail(written: MessageSource): ReadMail {
  const isInline = ({ contentId }: Attachment) => contentId !== null && written.html !== null;
  const inTreeOrder = [
    ...written.attachments.filter(isInline),
    ...written.attachments.filter((attachment) => !isInline(attachment)),
  ];
  return {
    subject: written.subject,
    from: [toReadAddress(written.from)],
    to: written.to.map(toReadAddress),
    cc: written.cc.map(toReadAddress),
    replyTo: written.replyTo.map(toReadAddress),
    headers: OWN_FIELDS.map((name) => written.headers.find(([each]) => each === name)?.[1] ?? null),
    text: written.text === null ? null : comparableText(written.text),
    html: written.html === null ? null : comparableText(written.html),
    attachments: inTreeOrder.map((attachment) => ({
      filename: attachment.filename,
      // RFC 2046 §5.2.1: base64 may not be of type message/rfc822.
      contentType: attachment.contentType.startsWith("message/")
        ? "application/octet-stream"
        : attachment.contentType.replace(/;.*$/, ""),
      contentId: attachment.contentId,
      isInline: isInline(attachment),
      sha256: hashContent(attachment.content),
    })),
  };
}

export function hashContent(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

export function comparableText(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(/\n+$/, "");
}

function toReadAddress({ displayName, address }: Mailbox): ReadAddress {
  return { name: displayName ?? "", address };
}
