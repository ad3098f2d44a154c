// Attachments from the request to the recipient's mail server, byte by byte.

import { createHash, randomBytes } from "node:crypto";
import { expect, setDefaultTimeout, test } from "bun:test";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { LATER, recordOf } from "../../support/api/one-email.ts";
import { expectErrors } from "../../support/api/kit.ts";
import {
  attach,
  countFiles,
  countRows,
  download,
  type SentFile,
  sendFiles,
  storedBytes,
} from "../../support/api/attachments.ts";
import { readByMailparser } from "../../support/mime/readers.ts";

setDefaultTimeout(30_000);

const EMAILS = "/api/v1/emails";
const MIB = 1024 * 1024;
const HTML = '<p>Olá</p><img src="cid:logo@loja">';

const LOGO: SentFile = { filename: "logo.png", contentId: "logo@loja", content: randomBytes(40_000) };
const BILL: SentFile = { filename: "Factura nº 7 – Março.pdf", content: randomBytes(2 * MIB + 7) };
const TABLE: SentFile = {
  filename: "dados.csv",
  contentType: "text/csv; charset=iso-8859-1",
  content: Buffer.from(Array.from({ length: 1_500_000 }, (_, n) => (n % 40 === 0 ? 10 : n % 251))),
};
const EMPTY: SentFile = { filename: "vazio.bin", content: Buffer.alloc(0) };
const FILES = [LOGO, BILL, TABLE, EMPTY];
const TYPES = ["image/png", "application/pdf", "text/csv; charset=iso-8859-1", "application/octet-stream"];

const hash = (content: Buffer) => createHash("sha256").update(content).digest("hex");
const listed = FILES.map(({ filename, contentId = null, content }, n) => ({
  filename,
  contentType: TYPES[n],
  contentId,
  bytes: content.length,
}));

/** What mailparser finds in the messages that came, by their recipient. */
async function readSent({ mx }: Instance) {
  const read = await Promise.all(
    mx.messages.map(async ({ to, content }) => [to[0] ?? "", await readByMailparser(content)] as const),
  );
  return Object.fromEntries(read);
}

const ofFiles = (files: SentFile[]) =>
  files.map(({ filename, content, contentId }) => ({
    filename,
    sha256: hash(content),
    contentId: contentId ?? null,
    isInline: contentId !== undefined,
  }));

test("what the mail server gets is what was sent, and the record lists it without its content", async () => {
  await using pombo = await startInstance();
  const id = await sendFiles(pombo, FILES, { html: HTML });
  await pombo.app.worker.idle();
  const record = await recordOf(pombo, id);
  expect(record).toMatchObject({ status: "delivered", attachments: listed, html: HTML });
  const mail = (await readSent(pombo))["maria@example.com"];
  expect(mail?.attachments).toMatchObject(ofFiles(FILES));
  expect([mail?.html?.trim(), mail?.text]).toEqual([HTML, "Bom dia"]);
  const source = pombo.mx.messages[0]?.content.toString("latin1") ?? "";
  expect(source).toMatch(/^Content-Type: multipart\/mixed;/m);
  expect(source).toMatch(/^Content-Type: multipart\/related;/m);
  for (const [n, { content }] of FILES.entries())
    expect((await download(pombo, id, n)).bytes.equals(content)).toBe(true);
  // Neither lists nor events carry them.
  const list = await pombo.workspace.call("GET", EMAILS);
  expect(Object.keys(list.body.data[0])).toHaveLength(8);
  await pombo.restart();
  expect(await recordOf(pombo, id)).toEqual(record);
  expect((await download(pombo, id, 1)).bytes.equals(BILL.content)).toBe(true);
  expect(pombo.bugs).toEqual([]);
});

test("each email of a batch has its own, and one without any has none", async () => {
  await using pombo = await startInstance();
  const emails = [
    pombo.email({ to: "a@example.com", attachments: attach(BILL, EMPTY) }),
    pombo.email({ to: "b@example.com" }),
    pombo.email({ to: "c@example.com", html: HTML, attachments: attach(LOGO) }),
    pombo.email({ to: "d@example.com", attachments: [] }),
  ];
  const { status, body } = await pombo.workspace.call("POST", `${EMAILS}/batch`, { body: { emails } });
  expect(status).toBe(202);
  await pombo.app.worker.idle();
  const mails = await readSent(pombo);
  const expected = [[BILL, EMPTY], [], [LOGO], []];
  for (const [index, name] of ["a", "b", "c", "d"].entries()) {
    const files = expected[index] ?? [];
    expect(mails[`${name}@example.com`]?.attachments).toMatchObject(ofFiles(files));
    const { attachments } = await recordOf(pombo, body.data[index].id);
    expect(attachments.map(({ filename }: SentFile) => filename)).toEqual(files.map(({ filename }) => filename));
  }
  // Of those without there is no row beside a plain email's.
  expect(countRows(pombo, "email_extra")).toBe(2);
});

test("a workspace stores a file once, whatever it is called; another workspace has its own", async () => {
  await using pombo = await startInstance();
  const first = await sendFiles(pombo, [BILL, { ...BILL, filename: "again.pdf" }]);
  const second = await sendFiles(pombo, [{ ...BILL, filename: "other.pdf", contentType: "text/plain" }]);
  expect(countFiles(pombo)).toEqual([1, 1, 3, 3]);
  const stored = await storedBytes(pombo);
  expect(stored).toBeWithin(BILL.content.length, BILL.content.length + 1_000);
  expect((await recordOf(pombo, second)).attachments).toMatchObject([
    { filename: "other.pdf", contentType: "text/plain" },
  ]);
  expect((await recordOf(pombo, first)).attachments).toMatchObject([
    { filename: BILL.filename },
    { filename: "again.pdf" },
  ]);
  const other = await pombo.newWorkspace();
  await pombo.addDomain(other, "other.test");
  const third = await sendFiles(pombo, [BILL], { from: "a@other.test" }, other);
  expect(countFiles(pombo)).toEqual([2, 2, 6, 4]);
  expect(await storedBytes(pombo, other)).toBeGreaterThan(BILL.content.length);
  expect((await download(pombo, third, 0)).response.status).toBe(404);
  expect((await download(pombo, third, 0, other.key)).bytes.equals(BILL.content)).toBe(true);
});

test("many emails with one logo store it once", async () => {
  await using pombo = await startInstance();
  const email = pombo.email({ html: HTML, attachments: attach(LOGO) });
  for (let n = 0; n < 2; n += 1) {
    const answer = await pombo.workspace.call("POST", `${EMAILS}/batch`, {
      body: { emails: Array.from({ length: 100 }, () => email) },
    });
    expect(answer.status).toBe(202);
  }
  expect(countFiles(pombo)).toEqual([1, 1, 1, 200]);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toHaveLength(200);
  expect(new Set(pombo.mx.messages.map(({ content }) => content.length)).size).toBe(1);
});

test("the copies of a group are sent with the files of the first, and give them", async () => {
  await using pombo = await startInstance();
  pombo.mx.script.rcpt = (command) => (command.includes("joao") ? LATER : "250 2.1.5 OK");
  const body = pombo.email({
    to: ["maria@example.com", "joao@example.com"],
    bcc: "arquivo@example.com",
    html: HTML,
    attachments: attach(LOGO, BILL),
  });
  const { data } = (await pombo.workspace.call("POST", EMAILS, { body })).body;
  await pombo.app.worker.idle();
  expect(countFiles(pombo)).toEqual([2, 2, 4, 2]);
  pombo.mx.script.rcpt = "250 2.1.5 OK";
  for (const { id, address } of data.recipients) {
    expect((await recordOf(pombo, id)).attachments).toMatchObject([
      { filename: LOGO.filename },
      { filename: BILL.filename },
    ]);
    expect([address, (await download(pombo, id, 1)).bytes.equals(BILL.content)]).toEqual([address, true]);
    if (address === "joao@example.com") await pombo.workspace.call("POST", `${EMAILS}/${id}/retry`);
  }
  await pombo.mx.until(() => pombo.mx.messages.length === 3);
  const mails = await readSent(pombo);
  expect(Object.keys(mails).toSorted()).toEqual(["arquivo@example.com", "joao@example.com", "maria@example.com"]);
  for (const mail of Object.values(mails)) expect(mail.attachments).toMatchObject(ofFiles([LOGO, BILL]));
});

test("under an Idempotency-Key nothing is stored twice, and the first answer comes again", async () => {
  await using pombo = await startInstance();
  const send = (file: SentFile) =>
    pombo.workspace.call("POST", EMAILS, {
      body: pombo.email({ attachments: attach(file) }),
      headers: { "idempotency-key": "k" },
    });
  const [first, meanwhile] = await Promise.all([send(BILL), send(BILL)]);
  expect([first.status, meanwhile.text]).toEqual([202, first.text]);
  const before = await storedBytes(pombo);
  const again = await send(BILL);
  expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([first.text, "true"]);
  expect([countFiles(pombo), await storedBytes(pombo), countRows(pombo, "email")]).toEqual([[1, 1, 3, 1], before, 1]);
});

test("a message above max_message is refused with both sizes, one below it is sent, and nothing of the first is stored", async () => {
  await using pombo = await startInstance({
    configure: ({ email, http }) => {
      email.maxMessageBytes = 2 * MIB;
      http.maxBodyBytes = 6 * MIB;
    },
  });
  // Of base64 with its line ends, 1.37 octets for each.
  const tooLarge = { filename: "a.bin", content: randomBytes(1.5 * MIB) };
  const refused = await pombo.workspace.call("POST", EMAILS, {
    body: pombo.email({ attachments: attach(tooLarge, EMPTY) }),
  });
  expectErrors(refused, 422, [
    { field: "attachments", message: /make a message of 2\.1 MiB; the largest has 2\.0 MiB$/ },
  ]);
  const batch = await pombo.workspace.call("POST", `${EMAILS}/batch`, {
    body: { emails: [pombo.email({ attachments: attach(EMPTY) }), pombo.email({ attachments: attach(tooLarge) })] },
  });
  expectErrors(batch, 422, [{ field: "attachments", path: "emails[1].attachments", message: /2\.1 MiB/ }]);
  expect(countFiles(pombo)).toEqual([0, 0, 0, 0]);
  const fits = { filename: "a.bin", content: randomBytes(1.45 * MIB) };
  const id = await sendFiles(pombo, [fits]);
  await pombo.app.worker.idle();
  expect((await recordOf(pombo, id)).status).toBe("delivered");
  expect(pombo.mx.messages[0]?.content.length).toBeWithin(1.45 * MIB * 1.36, 2 * MIB);
});

test("a body above max_body is 413, and nothing of it is stored", async () => {
  await using pombo = await startInstance({ configure: ({ http }) => void (http.maxBodyBytes = MIB) });
  const body = pombo.email({ attachments: attach({ filename: "a.bin", content: randomBytes(MIB) }) });
  expectErrors(await pombo.workspace.call("POST", EMAILS, { body }), 413, [
    { code: "PAYLOAD_TOO_LARGE", message: "The body is larger than 1,024 KiB" },
  ]);
  expect(countFiles(pombo)).toEqual([0, 0, 0, 0]);
});

test("storage that is full refuses the email with its file", async () => {
  await using pombo = await startInstance({
    configure: (config) => void Object.assign(config.plans["starter"] ?? {}, { storage: 3 * MIB }),
  });
  const workspace = await pombo.newWorkspace("starter");
  await pombo.addDomain(workspace, "own.test");
  const changes = { from: "a@own.test" };
  await sendFiles(pombo, [BILL], changes, workspace);
  // The same takes no more room.
  await sendFiles(pombo, [BILL], changes, workspace);
  const body = pombo.email({ ...changes, attachments: attach({ filename: "b", content: randomBytes(MIB) }) });
  expectErrors(await workspace.call("POST", EMAILS, { body }), 402, [{ code: "PLAN_LIMIT_REACHED" }]);
  expect(countFiles(pombo)).toEqual([1, 1, 3, 2]);
});

test("a file's name in a server's answer is not the server's own word", async () => {
  await using pombo = await startInstance({ mx: { dot: "550 Not wanted here: virus list.pdf" } });
  const content = Buffer.from("a");
  const own = await sendFiles(pombo, [{ filename: "virus list.pdf", content }]);
  const other = await sendFiles(pombo, [{ filename: "other.pdf", content }]);
  await pombo.app.worker.idle();
  const categories = [own, other].map(async (id) => (await recordOf(pombo, id)).bounce.category);
  expect(await Promise.all(categories)).toEqual(["unknown", "spam_content"]);
});
