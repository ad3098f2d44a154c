// Emails with every member that the API takes, from a running instance to Postfix and back: each recipient's copy as
// Python's email reads it, its signatures, and what is signed against addition.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Zone } from "../../support/fakes/zone.ts";
import { comparableText, HOSTILE, hashContent, OWN_FIELDS, type ReadMail } from "../../support/mime/shapes.ts";
import { checkSignatures } from "../../support/peers/zone.ts";
import { EXPECTED_VERDICTS, type Sending, waitForStatus } from "./delivery.ts";
import { MX_DOMAIN } from "./mx.ts";
import { findDifference, readByPython, toComparable } from "./reader-checks.ts";
import { fieldsOf, isPlainOnTheWire, openDkimVerdicts } from "./received.ts";

export const PUBLIC_URL = "https://mail.pombo.test";
/** One for each place in an email; the last gets blind copies. */
export const MEMBER_USERS = ["members-to", "members-also", "members-cc", "members-bcc"];
const [TO = "", ALSO = "", CC = "", BCC = ""] = MEMBER_USERS.map((user) => `${user}@${MX_DOMAIN}`);

/** Kinds of HOSTILE that a name, a field and a filename may all hold. */
const KINDS = ["accents", "quotes", "emoji"];
const MORE_KINDS = [
  ...["plain", "a long word", "a long word beyond ASCII", "words to fold", "RFC 822 specials", "right to left"],
  "combining",
];
const IMAGE = Buffer.from(Array.from({ length: 3_000 }, (_, i) => (i * 11) % 256));
const READ_FIELDS = [...OWN_FIELDS, "List-Unsubscribe", "List-Unsubscribe-Post"];
const SCHEDULED_MS = 1_000;

type Checking = Sending & { folder: string; zone: Zone; isSmoke: boolean };

export async function checkMembers(options: Checking): Promise<void> {
  const { api, checks, isSmoke } = options;
  const folder = join(options.folder, "members");
  mkdirSync(folder);
  for (const [n, kind] of (isSmoke ? KINDS : [...KINDS, ...MORE_KINDS]).entries()) {
    const value = toValue(kind);
    await checks.group(`all members, ${kind}`, async () => {
      // The first one waits for its time.
      const sendAt = n === 0 ? { sendAt: new Date(Date.now() + SCHEDULED_MS).toISOString() } : {};
      const email = { ...toRequest(value, options.sender), ...sendAt };
      const { id, recipients } = (await api.expect(202, "POST", "/api/v1/emails", email)).data;
      for (const each of recipients) await waitForStatus(api, each.id, ["delivered", "bounced", "failed"]);
      await checkCopies({ ...options, folder, kind, value, id, sent: n + 1 });
    });
  }
}

/** A filename may hold neither of its separators, and a name no runs of spaces. */
function toValue(kind: string): string {
  return (HOSTILE[kind] ?? "").replaceAll(/[/\\]/g, "").replaceAll(/ {2,}/g, " ").trim();
}

function named(value: string, address: string): string {
  return `"${value.replaceAll(/["\\]/g, "\\$&")}" <${address}>`;
}

/** As the request gives it; a long name goes where it has room. */
const toName = (value: string) => [...value].slice(0, 120).join("").trim();

function toRequest(value: string, sender: string) {
  const name = toName(value);
  const files = listFiles(value);
  return {
    from: named(name, sender),
    to: [named(name, TO), ALSO],
    cc: named(name, CC),
    bcc: [named("Cópia oculta", BCC)],
    replyTo: [named(name, sender), "ajuda@loja.test"],
    subject: value,
    html: `<p>${Bun.escapeHTML(value)}</p><img src="cid:logo"><a href="{{unsubscribe_url}}">x</a>`,
    text: `${value}\n{{unsubscribe_url}}`,
    headers: {
      [OWN_FIELDS[0] ?? ""]: value,
      [OWN_FIELDS[1] ?? ""]: value,
      References: "<a.1@b.example> <2@b.example>",
    },
    attachments: files.map(({ content, ...file }) => ({ ...file, content: content.toString("base64") })),
    tag: "interop:members",
    metadata: { secret: "never-in-the-mail" },
    unsubscribe: { list: "news" },
  };
}

function listFiles(value: string): { filename: string; contentType: string; contentId?: string; content: Buffer }[] {
  return [
    { filename: `logo ${value}`, contentType: "image/png", contentId: "logo", content: IMAGE },
    { filename: value, contentType: "application/pdf", content: IMAGE.subarray(1) },
    { filename: "dados.csv", contentType: "text/csv; charset=utf-8", content: Buffer.from("a;b\n1;é\r2") },
  ];
}

async function checkCopies(
  options: Checking & { kind: string; value: string; id: string; sent: number },
): Promise<void> {
  const { mx, checks, folder, kind, value, id, sent, sender } = options;
  const copies: { user: string; copy: Buffer; file: string }[] = [];
  for (const user of MEMBER_USERS) {
    const all = await mx.allMailOf(user, sent);
    const copy = all.find((each) => fieldsOf(each, "Message-ID")[0] === `<${id}@${sender.split("@")[1]}>`);
    if (!checks.claim(`${kind}: ${user} has a copy with the group's Message-ID`, copy !== undefined) || !copy) return;
    const file = join(folder, `${sent}-${user}.eml`);
    writeFileSync(file, copy);
    copies.push({ user, copy, file });
  }
  const lines = (
    await readByPython(
      copies.map(({ file }) => file),
      READ_FIELDS,
    )
  )
    .split("\n")
    .filter((line) => line.startsWith("{"));
  const links = new Set<string>();
  for (const [n, { user, copy }] of copies.entries()) {
    const read = JSON.parse(lines[n] ?? "{}") as ReadMail;
    const link = /^<(https:[^>]+)>, <mailto:u\+[a-z2-7]{42}@[^>]+>$/.exec(read.headers[OWN_FIELDS.length] ?? "")?.[1];
    checks.claim(`${kind}: ${user} can unsubscribe`, link?.startsWith(`${PUBLIC_URL}/u/`) === true, () => read.headers);
    links.add(link ?? "");
    const difference = findDifference(toComparable(read), toExpected(value, sender, read, link ?? ""));
    checks.equal(`${kind}: ${user}: Python reads what was sent`, difference, null);
    checkPrivacy(options, user, copy);
    await checkSigned(options, user, copy);
  }
  checks.equal(`${kind}: each copy has a link of its own`, links.size, copies.length);
}

function toExpected(value: string, sender: string, read: ReadMail, link: string): ReadMail {
  const person = (address: string, name = "") => ({ name, address });
  const name = toName(value);
  return {
    subject: value,
    from: [person(sender, name)],
    to: [person(TO, name), person(ALSO)],
    cc: [person(CC, name)],
    replyTo: [person(sender, name), person("ajuda@loja.test")],
    headers: [
      ...[value, value, "<a.1@b.example> <2@b.example>", read.headers[OWN_FIELDS.length] ?? null],
      "List-Unsubscribe=One-Click",
    ],
    text: comparableText(`${value}\n${link}`),
    html: `<p>${Bun.escapeHTML(value)}</p><img src="cid:logo"><a href="${link}">x</a>`,
    attachments: listFiles(value).map(({ filename, contentType, contentId = null, content }) => ({
      ...{ filename, contentId, contentType: contentType.replace(/;.*$/, ""), isInline: contentId !== null },
      sha256: hashContent(content),
    })),
  };
}

/** A message without what the MX wrote above it. */
function withoutTrace(copy: Buffer): string {
  const text = copy.toString("latin1");
  return text.slice(text.indexOf("DKIM-Signature:"));
}

function checkPrivacy({ checks, kind }: Checking & { kind: string }, user: string, copy: Buffer): void {
  const own = withoutTrace(copy);
  const told = ["members-bcc", "oculta", "never-in-the-mail", "interop:members"].filter((word) => own.includes(word));
  checks.equal(`${kind}: ${user}: nothing of blind copies, tag and metadata`, told, []);
  checks.claim(`${kind}: ${user}: short 7-bit lines`, isPlainOnTheWire(copy));
}

async function checkSigned(
  { checks, kind, zone, sender }: Checking & { kind: string },
  user: string,
  copy: Buffer,
): Promise<void> {
  const byOpenDkim = openDkimVerdicts(copy, sender.split("@")[1] ?? "").map((verdict) => verdict.join(" "));
  checks.equal(`${kind}: ${user}: OpenDKIM passes both signatures`, byOpenDkim.toSorted(), EXPECTED_VERDICTS);
  const byMailauth = (await checkSignatures(copy, zone)).map(({ algorithm, result }) => `${algorithm} ${result}`);
  checks.equal(`${kind}: ${user}: mailauth passes both`, byMailauth.toSorted(), EXPECTED_VERDICTS);
  for (const signature of fieldsOf(copy, "DKIM-Signature")) {
    const names = (/;\s*h=([^;]+)/.exec(signature)?.[1] ?? "").toLowerCase().split(/\s*:\s*/);
    const counts = ["list-unsubscribe", "list-unsubscribe-post", "cc", "to", "message-id"].map(
      (name) => names.filter((each) => each.trim() === name).length,
    );
    checks.equal(`${kind}: ${user}: signed once more than they are there`, counts, [2, 2, 2, 2, 2]);
  }
}
