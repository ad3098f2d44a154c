// What is known of a message that was handed in: the record, its contents, its files, events, webhooks, and what is
// erased of it.

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { erase, ERASED, exported, findInFiles, findLeft, PERSON } from "../../support/api/erased.ts";
import { download, passTime } from "../../support/api/attachments.ts";
import { totalOf, UNKNOWN_ID } from "../../support/api/kit.ts";
import { HOUR, LATER, recordOf, timelineOf } from "../../support/api/one-email.ts";
import { allowLoopback } from "../../support/api/webhook-kit.ts";
import type { Instance, Json } from "../../support/fakes/instance.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";
import { addPerson } from "../../support/people/member.ts";
import { contentAt, idsOf, openClient, startHeldSubmitting, startSubmitting } from "../../support/submission/kit.ts";
import { accepted, beginData, handIn, message } from "../../support/submission/wire.ts";
import { withPublicUrl } from "../../support/unsubscribe/kit.ts";

setDefaultTimeout(60_000);

const DAY = 24 * HOUR;

const FILED = [
  "--b",
  "Content-Type: multipart/alternative; boundary=c",
  "",
  "--c",
  "Content-Type: text/plain; charset=iso-8859-1",
  "Content-Transfer-Encoding: quoted-printable",
  "",
  "Ol=E1",
  "--c",
  "Content-Type: text/html; charset=utf-8",
  "Content-Transfer-Encoding: base64",
  "",
  Buffer.from("<p>Olá <img src='cid:logo'></p>").toString("base64"),
  "--c--",
  "--b",
  "Content-Type: application/pdf",
  "Content-Transfer-Encoding: base64",
  "Content-Disposition: attachment; filename=recibo.pdf",
  "",
  Buffer.from("%PDF-1.4 ContentOfZq").toString("base64"),
  "--b",
  "Content-Type: text/csv; charset=utf-8",
  "Content-Transfer-Encoding: quoted-printable",
  "Content-Disposition: attachment; filename*=utf-8''pre%C3%A7os.csv",
  "",
  "pre=C3=A7o;1=",
  "00",
  "--b",
  "Content-Type: image/png; name=logo.png",
  "Content-ID: <logo>",
  "Content-Transfer-Encoding: base64",
  "",
  "iVBORw0KGgo=",
  "--b--",
  "",
].join("\r\n");

const filed = (fields: Record<string, string | null> = {}) =>
  message({ "MIME-Version": "1.0", "Content-Type": "multipart/mixed; boundary=b", ...fields }, FILED);

async function readRaw(pombo: Instance, id: string, key = pombo.workspace.key): Promise<[number, string, Headers]> {
  const response = await fetch(`${pombo.app.url}/api/v1/emails/${id}/raw`, { headers: { "x-api-key": key } });
  return [response.status, Buffer.from(await response.arrayBuffer()).toString("latin1"), response.headers];
}

describe("the record", () => {
  test("says that it came by SMTP, by which key, from whom, to whom and about what", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    const fields = {
      ...{ From: "=?utf-8?q?Jo=C3=A3o?= <Loja@loja.test>", "Reply-To": "Ajuda <ajuda@loja.test>" },
      ...{ Subject: "=?utf-8?q?Ol=C3=A1?=\r\n  =?utf-8?q?_Maria?=", To: '"Maria da Silva" <maria@example.com>' },
      ...{
        "X-Pombo-Tag": "receipt",
        "X-Pombo-Metadata-Order": "4711",
        "X-PM-Metadata-customer": "=?utf-8?q?Jo=C3=A3o?=",
      },
    };
    const id = await accepted(talk, message(fields));
    await pombo.app.worker.idle();
    const record = await recordOf(pombo, id);
    expect(record).toMatchObject({
      ...{ source: "smtp", status: "delivered", from: "João <Loja@loja.test>", to: "maria@example.com" },
      ...{ toName: "Maria da Silva", replyTo: "ajuda@loja.test", subject: "Olá Maria", tag: "receipt" },
      ...{ metadata: { Order: "4711", customer: "João" }, providerId: "one@loja.test", recipients: null },
      ...{ text: "Bom dia\n", html: null },
    });
    const api = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
    expect((await recordOf(pombo, api.body.data.id)).source).toBe("api");
    expect(contentAt(pombo)).not.toMatch(/4711|X-PM/i);
  });

  test("html and text are read from the MIME, and the files can be had, decoded", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    const id = await accepted(talk, filed());
    const record = await recordOf(pombo, id);
    expect([record.text, record.html]).toEqual(["Olá", "<p>Olá <img src='cid:logo'></p>"]);
    const wanted: [string, string, string | null, Buffer][] = [
      ["recibo.pdf", "application/pdf", null, Buffer.from("%PDF-1.4 ContentOfZq")],
      ["preços.csv", "text/csv; charset=utf-8", null, Buffer.from("preço;100")],
      ["logo.png", "image/png", "logo", Buffer.from("iVBORw0KGgo=", "base64")],
    ];
    for (const [n, [filename, contentType, contentId, content]] of wanted.entries()) {
      expect(record.attachments[n]).toMatchObject({ filename, contentType, contentId, bytes: content.length });
      const { response, bytes } = await download(pombo, id, n);
      expect([response.status, bytes.toString("latin1")]).toEqual([200, content.toString("latin1")]);
      expect(response.headers.get("content-type")).toBe(contentType);
    }
    expect(record.attachments).toHaveLength(3);
    expect(pombo.bugs).toEqual([]);
  });

  test("a large file in base64 comes out octet for octet, and html is previewed with its pictures", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    const block = crypto.getRandomValues(new Uint8Array(65_536));
    const file = Buffer.concat(Array.from({ length: 45 }, (_, n) => Buffer.concat([block, Buffer.from([n])])));
    const base64 = file.toString("base64").replaceAll(/.{76}/g, "$&\r\n");
    const id = await accepted(talk, filed().replace(Buffer.from("%PDF-1.4 ContentOfZq").toString("base64"), base64));
    const { response, bytes } = await download(pombo, id, 0);
    expect([response.status, bytes.equals(file)]).toEqual([200, true]);
    expect((await recordOf(pombo, id)).attachments[0].bytes).toBe(file.length);
    const ana = addPerson(pombo, { role: "member" });
    const made = await ana.act("POST", `/api/v1/emails/${id}/preview`);
    const shown = await ana.call("GET", made.body.data.path);
    expect([shown.status, shown.text]).toEqual([200, expect.stringContaining("data:image/png;base64,iVBORw0KGgo=")]);
  });

  test("what is kept of a person is exported with its contents", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    await accepted(talk, filed({ To: PERSON }), PERSON, "joao@example.com");
    const [item] = await exported(pombo);
    expect(item.email).toMatchObject({ source: "smtp", to: PERSON, text: "Olá" });
    expect(item.email.attachments).toHaveLength(3);
    expect(JSON.stringify(item)).not.toContain("joao@");
  });

  test("each recipient is an email of a group: to, cc, else bcc", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    const fields = { To: "Maria <Maria@example.com>, Time: ana@example.com;", Cc: "joao@example.com" };
    const recipients = ["bcc@example.com", "joao@example.com", "ana@example.com", "maria@example.com"];
    const id = await accepted(talk, message(fields), ...recipients, "maria@EXAMPLE.com");
    const record = await recordOf(pombo, id);
    const shown = record.recipients.map(({ kind, address }: Json) => `${kind} ${address}`);
    expect(shown.toSorted()).toEqual(
      ["bcc bcc@example.com", "cc joao@example.com", "to ana@example.com", "to maria@example.com"].toSorted(),
    );
    expect(record.groupId).toBe(id);
    expect(await totalOf(pombo.workspace)).toBe(4);
    await pombo.app.worker.idle();
    expect(pombo.mx.messages).toHaveLength(4);
    for (const { content } of pombo.mx.messages) expect(content.toString()).not.toContain("bcc@");
  });

  test("events and webhooks come as for every email", async () => {
    await using receiver = startReceiver();
    await using pombo = await startSubmitting({ configure: allowLoopback });
    await pombo.workspace.call("POST", "/api/v1/webhooks", { body: { url: receiver.url, events: ["*"] } });
    using talk = await openClient(pombo);
    const id = await accepted(talk, message({ "X-Pombo-Tag": "receipt" }));
    await receiver.until(() => receiver.calls.some(({ event }) => event.type === "email.delivered"));
    const delivered = receiver.calls.find(({ event }) => event.type === "email.delivered")?.event;
    expect(JSON.stringify(delivered)).toContain(id);
    expect((await timelineOf(pombo, id)).map(({ type }: Json) => type)).toEqual(["email.queued", "email.delivered"]);
  });

  test("X-Pombo-Send-At waits, and X-Pombo-Unsubscribe-List makes a list of it in place of the program's own", async () => {
    await using held = await startHeldSubmitting({ configure: withPublicUrl });
    const { pombo } = held;
    using talk = await openClient(pombo);
    const id = await accepted(
      talk,
      message({
        ...{ "X-Pombo-Send-At": "2026-11-21T13:00:00Z", "X-Pombo-Unsubscribe-List": "news" },
        ...{ "List-Unsubscribe": "<https://loja.test/u>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" },
      }),
    );
    expect(await recordOf(pombo, id)).toMatchObject({
      sendAt: "2026-11-21T13:00:00.000Z",
      unsubscribe: { list: "news" },
    });
    await held.advance(30 * 60_000);
    expect(pombo.mx.messages).toEqual([]);
    await held.advance(31 * 60_000);
    await pombo.mx.until(() => pombo.mx.messages.length === 1);
    const sent = contentAt(pombo);
    expect(sent.match(/^List-Unsubscribe: /gm)).toHaveLength(1);
    expect(sent).toContain("https://mail.pombo.example/");
    expect(sent).not.toContain("loja.test/u");
  });

  test("a field that is not valid refuses the message, and its name is in the words", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    for (const [name, value] of [
      ["X-Pombo-Tag", "t".repeat(300)],
      ["X-PM-Tag", "a b"],
      ["X-Pombo-Send-At", "tomorrow"],
      ["X-Pombo-Send-At", "2126-01-01T00:00:00Z"],
      ["X-Pombo-Unsubscribe-List", "two words"],
      ["X-Pombo-Metadata-A", "v".repeat(3_000)],
    ] as const) {
      const reply = await handIn(talk, message({ [name]: value.replaceAll(/.{900}/g, "$&\r\n ") }));
      expect([name, reply]).toEqual([name, expect.stringMatching(/^554 5\.6\.0 /)]);
      if (value !== "2126-01-01T00:00:00Z") expect(reply).toContain(name);
    }
    expect(await totalOf(pombo.workspace)).toBe(0);
  });
});

test("who is suppressed between RCPT and the dot is recorded so, and the others get it", async () => {
  await using pombo = await startSubmitting();
  using talk = await openClient(pombo);
  await beginData(talk, ["maria@example.com", "gone@example.com"]);
  await pombo.workspace.call("POST", "/api/v1/suppressions", { body: { address: "gone@example.com" } });
  talk.write(`${message()}.\r\n`);
  const reply = await talk.reply();
  expect(reply).toMatch(/^250 2\.0\.0 Accepted: \S+ \(2 recipients\)/);
  await pombo.app.worker.idle();
  const ids = await idsOf(pombo, reply.split(" ")[3] ?? "");
  const states = await Promise.all(ids.map(async (id) => (await recordOf(pombo, id)).status));
  expect(states.toSorted()).toEqual(["delivered", "suppressed"]);
  expect(pombo.mx.messages.flatMap(({ to }) => to)).toEqual(["maria@example.com"]);
});

test("who has unsubscribed from the message's list is 550 5.1.1 at the dot, with how to lift it", async () => {
  await using pombo = await startSubmitting({ configure: withPublicUrl });
  const body = { address: "gone@example.com", list: "news" };
  expect((await pombo.workspace.call("POST", "/api/v1/suppressions", { body })).status).toBe(201);
  using talk = await openClient(pombo);
  const reply = await handIn(talk, message({ "X-Pombo-Unsubscribe-List": "news" }), "gone@example.com");
  expect(reply).toStartWith("550 5.1.1 The recipient is suppressed (");
  expect(reply).toContain("?list=news");
  await accepted(talk, message({ "X-Pombo-Unsubscribe-List": "other" }), "gone@example.com");
});

test("handed in again it is answered as at first, though one of its recipients has unsubscribed from its list", async () => {
  await using pombo = await startSubmitting({ configure: withPublicUrl });
  const body = { address: "gone@example.com", list: "news" };
  await pombo.workspace.call("POST", "/api/v1/suppressions", { body });
  using talk = await openClient(pombo);
  const octets = message({ "X-Pombo-Unsubscribe-List": "news" });
  const first = await handIn(talk, octets, "maria@example.com", "gone@example.com");
  expect(first).toStartWith("250 2.0.0 ");
  expect(await handIn(talk, octets, "maria@example.com", "gone@example.com")).toBe(first);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages.flatMap(({ to }) => to)).toEqual(["maria@example.com"]);
});

test("a scheduled one is rescheduled, cancelled and read as every email", async () => {
  await using held = await startHeldSubmitting();
  const { pombo } = held;
  using talk = await openClient(pombo);
  const id = await accepted(talk, message({ "X-Pombo-Send-At": "2026-11-21T13:00:00Z" }));
  const later = { body: { sendAt: "2026-11-21T14:00:00Z" } };
  const changed = await pombo.workspace.call("PATCH", `/api/v1/emails/${id}`, later);
  expect([changed.status, changed.body.data]).toMatchObject([
    200,
    { text: "Bom dia\n", sendAt: "2026-11-21T14:00:00.000Z" },
  ]);
  const canceled = await pombo.workspace.call("POST", `/api/v1/emails/${id}/cancel`);
  expect([canceled.status, canceled.body.data]).toMatchObject([200, { status: "canceled", text: "Bom dia\n" }]);
  await held.advance(3 * HOUR);
  await pombo.app.worker.idle();
  expect([pombo.mx.messages, pombo.bugs]).toEqual([[], []]);
});

test("a recipient is found in the header in whatever form its domain is written", async () => {
  await using pombo = await startSubmitting();
  using talk = await openClient(pombo);
  const octets = message({
    To: Buffer.from("Maria <maria@exãmple.com>").toString("latin1"),
    Cc: "joao@xn--exmple-jua.com",
  });
  const ace = new URL("http://exãmple.com").hostname;
  const id = await accepted(talk, octets.replace("xn--exmple-jua.com", ace), `maria@${ace}`, "JOAO@exãmple.com");
  const shown = (await recordOf(pombo, id)).recipients.map(({ kind }: Json) => kind);
  expect(shown).toEqual(["to", "cc"]);
});

describe("/raw", () => {
  test("is the message as it was sent, without the signatures; of an email by the API too", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    for (const octets of [filed({ Bcc: "x@example.com" }), message({ "Message-ID": "<2@loja.test>" }, ".\r\n..\r\n")]) {
      const id = await accepted(talk, octets);
      await pombo.app.worker.idle();
      const [status, raw, headers] = await readRaw(pombo, id);
      const sent = contentAt(pombo);
      expect([status, headers.get("content-type")]).toEqual([200, "message/rfc822"]);
      expect(headers.get("content-disposition")).toBe(`attachment; filename="${id}.eml"`);
      expect(sent.endsWith(raw)).toBe(true);
      expect(raw).not.toContain("DKIM-Signature");
    }
    const api = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
    await pombo.app.worker.idle();
    const [status, raw] = await readRaw(pombo, api.body.data.id);
    expect([status, contentAt(pombo).endsWith(raw)]).toEqual([200, true]);
  });

  test("of a large one has its dots once", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    const octets = message({}, `.\r\n..\r\n${".x\r\n".repeat(50_000)}`);
    const id = await accepted(talk, octets);
    const [status, raw] = await readRaw(pombo, id);
    expect([status, raw.endsWith(octets)]).toEqual([200, true]);
  });

  test("is for those who may see what messages say, and of another workspace there is none", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    const id = await accepted(talk, message());
    const other = await pombo.newWorkspace();
    expect((await readRaw(pombo, id, other.key))[0]).toBe(404);
    expect((await readRaw(pombo, UNKNOWN_ID))[0]).toBe(404);
    expect((await readRaw(pombo, "x"))[0]).toBe(422);
    const path = `/api/v1/emails/${id}/raw`;
    expect((await addPerson(pombo, { role: "viewer" }).act("GET", path)).status).toBe(403);
    expect((await addPerson(pombo, { role: "member" }).act("GET", path)).status).toBe(200);
  });

  test.each([
    ["attachments", { attachmentRetentionMs: DAY, contentRetentionMs: 30 * DAY }, true],
    ["contents", { attachmentRetentionMs: DAY, contentRetentionMs: DAY }, false],
  ])("is 404 once the %s are kept no longer", async (_, retention, hasText) => {
    await using held = await startHeldSubmitting({ configure: ({ email }) => void Object.assign(email, retention) });
    const { pombo } = held;
    using talk = await openClient(pombo);
    const id = await accepted(talk, filed());
    const plain = await accepted(talk, message({ "Message-ID": "<plain@loja.test>" }));
    await pombo.app.worker.idle();
    expect((await readRaw(pombo, id))[0]).toBe(200);
    await passTime(held, 2 * DAY);
    const [status, text] = await readRaw(pombo, id);
    expect([status, text]).toEqual([404, expect.stringContaining("This message is kept no longer")]);
    expect((await readRaw(pombo, plain))[0]).toBe(hasText ? 200 : 404);
    const record = await recordOf(pombo, id);
    expect([record.text, record.attachments.length]).toEqual([hasText ? "Olá" : null, 3]);
    expect((await download(pombo, id, 0)).response.status).toBe(404);
    expect(pombo.bugs).toEqual([]);
  });
});

describe("erasing", () => {
  test("one recipient of a group takes the address out of the stored header and the files; the others get theirs", async () => {
    await using held = await startHeldSubmitting({
      mx: { rcpt: (line) => (line.includes("joao") ? LATER : "250 Ok") },
    });
    const { pombo } = held;
    using talk = await openClient(pombo);
    const octets = message({
      ...{ To: "Zq.Person da Silva <Zq.Person@Example.com>, joao@example.com", Subject: "Recibo" },
      ...{ "X-Customer": "zq.person@example.com", Cc: "<zq.person@example.com>" },
    });
    const id = await accepted(talk, octets, "Zq.Person@Example.com", "joao@example.com");
    await pombo.app.worker.idle();
    expect(contentAt(pombo)).toContain("Zq.Person da Silva");
    const joao = (await recordOf(pombo, id)).recipients.find(({ address }: Json) => address.startsWith("joao")).id;
    expect(await erase(pombo)).toMatchObject({ complete: true, emails: 1 });
    const [status, raw] = await readRaw(pombo, joao);
    expect([status, /zq\.person/i.test(raw)]).toEqual([200, false]);
    const others = (await recordOf(pombo, joao)).recipients.map(({ address }: Json) => address);
    expect(others.toSorted()).toEqual([ERASED, "joao@example.com"].toSorted());
    pombo.mx.script = {};
    await held.advance(HOUR);
    await pombo.mx.until(() => pombo.mx.messages.length === 2);
    await pombo.app.worker.idle();
    expect(contentAt(pombo)).toContain("To: joao@example.com\r\n");
    expect(contentAt(pombo)).toContain("Bom dia");
    expect(contentAt(pombo)).not.toMatch(/zq\.person/i);
    talk.socket.destroy();
    expect(await findLeft(held)).toEqual([]);
    expect(pombo.bugs).toEqual([]);
  });

  test("the only one takes all of it, the message and its files too", async () => {
    await using held = await startHeldSubmitting();
    const { pombo } = held;
    using talk = await openClient(pombo);
    const id = await accepted(talk, filed({ To: PERSON, Subject: "SubjectOfZq" }), PERSON);
    await pombo.app.worker.idle();
    await erase(pombo);
    expect((await readRaw(pombo, id))[0]).toBe(404);
    talk.socket.destroy();
    // Files go a little after all that refers to them.
    await passTime(held, 2 * HOUR);
    let left: string[] = ["not looked at"];
    const words = ["zq.person", "SubjectOfZq", Buffer.from("%PDF-1.4 ContentOfZq").toString("base64")];
    await held.restart(() => (left = findInFiles(pombo.directory, words)));
    expect(left).toEqual([]);
  });
});
