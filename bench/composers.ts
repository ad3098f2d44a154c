// pombo's composer beside nodemailer's: hostile values, folding of header lines, messages a second of a core.
// Both compose the same emails on one thread; postal-mime, which neither uses, reads them.

import MailComposer, { type MailComposerOptions } from "nodemailer/lib/mail-composer";
import PostalMime, { decodeWords } from "postal-mime";
import type { Mailbox } from "../src/protocols/mime/address.ts";
import { composeMessage, type MessageSource } from "../src/protocols/mime/compose.ts";
import { HOSTILE } from "../test/support/mime/shapes.ts";
import { makeContent, SENDER_DOMAIN } from "./message.ts";
import { alignRows } from "./table.ts";

const ROUNDS = 7;
const ROUND_MS = 400;
const KIB = 1_024;
const FOLDED_AT = 78;
const ID = "01900000-0000-7000-8000-000000000000";

/** They end a line, or the text. */
const BREAKING: Record<string, string> = {
  CRLF: "a\r\nX-Evil: 1",
  LF: "a\nX-Evil: 1",
  CR: "a\rX-Evil: 1",
  NUL: "a\0X-Evil: 1",
};

const FIELDS = ["subject", "name", "field", "filename"] as const;
type Field = (typeof FIELDS)[number];

/** An email as both are given it. */
interface Email {
  subject: string;
  name: string;
  field: string;
  filename: string;
  text: string;
  html: string;
  attachment: Uint8Array | null;
}

type Compose = (email: Email) => Uint8Array | Promise<Uint8Array>;

const COMPOSERS: [name: string, compose: Compose][] = [
  ["pombo", (email) => composeMessage(toSource(email))],
  ["nodemailer", (email) => new MailComposer(toOptions(email)).compile().build()],
];

const PLAIN: Email = {
  ...{ subject: "Recibo", name: "Loja", field: "x", filename: "recibo.pdf" },
  ...{ text: "Olá", html: "<p>Olá", attachment: null },
};

for (const [, compose] of COMPOSERS) await compose(PLAIN);
await compareSafety();
await compareSpeed();

async function compareSafety(): Promise<void> {
  const rows = [["hostile value in subject, name, field, file name", ...COMPOSERS.map(([name]) => name)]];
  const lines: string[] = [];
  for (const [kind, value] of Object.entries({ ...BREAKING, ...HOSTILE })) {
    const cells: string[] = [];
    for (const [name, compose] of COMPOSERS) {
      const outcomes: string[] = [];
      for (const field of FIELDS) outcomes.push(await judge(compose, field, value));
      cells.push(outcomes.join(", "));
      lines.push(...(await findLongLines(name, compose, value)));
    }
    rows.push([kind, ...cells]);
  }
  console.log(alignRows(rows).join("\n"));
  for (const [name] of COMPOSERS) {
    const own = lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.length - name.length - 2);
    console.log(`${name}: ${own.length} header lines longer than ${FOLDED_AT}, the longest ${Math.max(0, ...own)}`);
  }
}

/** A reader finds this where `value` was put. */
async function judge(compose: Compose, field: Field, value: string): Promise<string> {
  let message: Uint8Array;
  try {
    message = await compose({ ...PLAIN, attachment: new Uint8Array(10), [field]: value });
  } catch {
    return "refused";
  }
  const octets = Buffer.from(message).toString("latin1");
  if (/^X-Evil:/m.test(octets.slice(0, octets.indexOf("\r\n\r\n")))) return "INJECTED";
  if (/\r(?!\n)|(?<!\r)\n|\0/.test(octets)) return "BARE";
  const mail = await PostalMime.parse(message);
  const read: Record<Field, string | undefined | null> = {
    subject: mail.subject,
    name: mail.from?.name,
    field: decodeWords(mail.headers.find(({ key }) => key === "x-own")?.value ?? ""),
    filename: mail.attachments[0]?.filename,
  };
  return read[field] === value ? "equal" : "altered";
}

async function findLongLines(name: string, compose: Compose, value: string): Promise<string[]> {
  try {
    const fields = Object.fromEntries(FIELDS.map((field) => [field, value]));
    const message = await compose({ ...PLAIN, attachment: new Uint8Array(10), ...fields });
    const header =
      Buffer.from(message)
        .toString("latin1")
        .split(/\r?\n\r?\n/)[0] ?? "";
    return header.split(/\r?\n/).flatMap((line) => (line.length > FOLDED_AT ? [`${name}: ${line}`] : []));
  } catch {
    return [];
  }
}

async function compareSpeed(): Promise<void> {
  const content = makeContent(1, "html+text");
  const letter = { ...PLAIN, subject: content.subject, html: content.html, text: content.text ?? "" };
  const octets = (count: number) => Buffer.from(Array.from({ length: count }, (_, i) => (i * 7 + (i >> 8)) % 256));
  const kinds: [name: string, email: Email][] = [
    ["text and html, 5 KB", letter],
    ["the same, with 100 KiB attached", { ...letter, attachment: octets(100 * KIB) }],
    ["the same, with 10 MiB attached", { ...letter, attachment: octets(10 * KIB * KIB) }],
  ];
  const rows = [["messages a second of a core", ...COMPOSERS.map(([name]) => name), "times"]];
  for (const [kind, email] of kinds) {
    const rates = COMPOSERS.map((): number[] => []);
    // In turn, so that both get the machine's good and bad moments.
    for (let round = 0; round < ROUNDS; round++)
      for (const [i, [, compose]] of COMPOSERS.entries()) rates[i]?.push(await measureRate(() => compose(email)));
    const [ours = 0, theirs = 0] = rates.map((each) => each.toSorted((a, b) => a - b)[ROUNDS >> 1] ?? 0);
    rows.push([kind, ours.toFixed(0), theirs.toFixed(0), (ours / theirs).toFixed(1)]);
  }
  console.log(alignRows(rows).join("\n"));
}

/** Measured in processor time, so that other programs count little. */
async function measureRate(work: () => unknown): Promise<number> {
  const spentMs = () => (process.cpuUsage().user + process.cpuUsage().system) / 1_000;
  const start = spentMs();
  let count = 0;
  do {
    await work();
    count += 1;
  } while (spentMs() - start < ROUND_MS);
  return (count * 1_000) / (spentMs() - start);
}

function toSource({ name, subject, field, text, html, filename, attachment }: Email): MessageSource {
  const mailbox = (displayName: string | null, localPart: string): Mailbox => ({
    ...{ displayName, localPart, domain: SENDER_DOMAIN, address: `${localPart}@${SENDER_DOMAIN}` },
  });
  return {
    ...{ id: ID, messageId: `${ID}@${SENDER_DOMAIN}`, createdAt: Date.UTC(2026, 0, 1), subject, text, html },
    from: mailbox(name, "loja"),
    to: [mailbox(null, "maria")],
    cc: [],
    replyTo: [],
    headers: [["X-Own", field]],
    attachments:
      attachment === null ? [] : [{ filename, contentType: "application/pdf", contentId: null, content: attachment }],
  };
}

function toOptions({ name, subject, field, text, html, filename, attachment }: Email): MailComposerOptions {
  return {
    ...{ messageId: `<${ID}@${SENDER_DOMAIN}>`, date: new Date(Date.UTC(2026, 0, 1)), subject, text, html },
    from: { name, address: `loja@${SENDER_DOMAIN}` },
    to: { name: "", address: `maria@${SENDER_DOMAIN}` },
    headers: { "X-Own": field },
    attachments:
      attachment === null
        ? []
        : [{ filename, contentType: "application/pdf", content: Buffer.from(attachment.buffer) }],
    newline: "windows",
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}
