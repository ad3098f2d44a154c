// What arrives is what leaves: octet for octet, apart from the changes that are named here.

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { dkimVerify } from "mailauth/lib/dkim/verify";
import { recordOf, timelineOf } from "../../support/api/one-email.ts";
import type { Instance, Json } from "../../support/fakes/instance.ts";
import type { MxScript } from "../../support/fakes/mx.ts";
import type { Talk } from "../../support/inbound/kit.ts";
import { contentAt, openClient, startSubmitting } from "../../support/submission/kit.ts";
import { accepted, message } from "../../support/submission/wire.ts";

setDefaultTimeout(60_000);

interface Sender extends AsyncDisposable {
  pombo: Instance;
  /** Hands a message in and waits for its delivery: what the server got, one character an octet, without what is added. */
  pass(octets: string, ...recipients: string[]): Promise<string>;
}

async function startSending(mx: MxScript = {}): Promise<Sender> {
  const pombo = await startSubmitting({ mx });
  const talk: Talk = await openClient(pombo);
  return {
    pombo,
    async pass(octets, ...recipients) {
      await accepted(talk, octets, ...recipients);
      await pombo.app.worker.idle();
      return withoutAdded(contentAt(pombo));
    },
    async [Symbol.asyncDispose]() {
      talk.socket.destroy();
      await pombo[Symbol.asyncDispose]();
    },
  };
}

const ADDED = /^(?:DKIM-Signature: (?=v=1; a=(?:rsa|ed25519))|Feedback-ID: transactional:|X-Pombo-Trace: )/;

/** Only those at its beginning, where they are added. */
function withoutAdded(content: string): string {
  const lines = content.split(/(?<=\r\n)/);
  let first = 0;
  while (ADDED.test(lines[first] ?? "") || (first > 0 && /^[ \t]/.test(lines[first] ?? ""))) first += 1;
  return lines.slice(first).join("");
}

interface Verified {
  status: { result: string };
  signingDomain?: string;
}

async function verdicts(pombo: Instance): Promise<string[]> {
  const { results } = await dkimVerify(pombo.mx.messages.at(-1)?.content ?? Buffer.alloc(0), {
    resolver: (name: string) => Promise.resolve((pombo.dns.zone[name]?.TXT ?? []).map((each) => [each].flat())),
  });
  return results.map(({ status, signingDomain }: Verified) => `${signingDomain} ${status.result}`);
}

const MIXED = [
  'Content-Type: multipart/mixed; boundary="b"',
  "",
  "This is a preamble.",
  "--b",
  'Content-Type: multipart/alternative; boundary="c"',
  "",
  "--c",
  "Content-Type: text/plain; charset=utf-8",
  "Content-Transfer-Encoding: quoted-printable",
  "",
  "Ol=C3=A1  =20",
  ".dot",
  "--c",
  "content-type:   TEXT/html",
  "",
  "<p>Bom dia</p>",
  "--c",
  "Content-Type: text/calendar; method=REQUEST",
  "",
  "BEGIN:VCALENDAR",
  "END:VCALENDAR",
  "--c--",
  "--b",
  'Content-Type: application/pdf; name="a.pdf"',
  "Content-Transfer-Encoding: base64",
  "Content-Disposition: attachment",
  "",
  "JVBERi0x",
  "LjQ=",
  "--b",
  "Content-Type: message/rfc822",
  "",
  "From: x@y.test",
  "",
  "Inner",
  "--b--",
  "An epilogue.",
  "",
].join("\r\n");

/** The same with a header of its own. */
function tree(text: string, fields: Record<string, string | null> = {}): string {
  const [type = ""] = text.split("\r\n", 1);
  return message(
    { "MIME-Version": "1.0", "Content-Type": type.replace("Content-Type: ", ""), ...fields },
    text.slice(type.length + 4),
  );
}

describe("octet for octet", () => {
  test.each([
    ["a plain one", message()],
    ["a tree with an invitation, a file and a message in it", tree(MIXED)],
    ["odd spelling, folding and fields", message({ "X-Odd": "a\r\n\t b", subject: "=?utf-8?q?Ol=C3=A1?=", "X-A": "" })],
    ["one without a body", message({}, "")],
    ["dots at the beginning of lines", message({}, ".\r\n..\r\n.x\r\n\r\n\r\n")],
    ["trailing white space", message({}, "a  \r\nb\t\r\n\r\n")],
    ["a signature of another", message({ "DKIM-Signature": "v=1; a=x; d=client.test; s=a; b=AA==" })],
  ])("%s", async (_, octets) => {
    await using sender = await startSending();
    expect(await sender.pass(octets)).toBe(octets);
    expect((await verdicts(sender.pombo)).filter((each) => each.startsWith("loja.test"))).toEqual([
      "loja.test pass",
      "loja.test pass",
    ]);
  });

  test("a large one with a file that the third thread read", async () => {
    await using sender = await startSending();
    const file = Buffer.from(crypto.getRandomValues(new Uint8Array(65_536)));
    const base64 = Buffer.concat(Array.from({ length: 20 }, () => file))
      .toString("base64")
      .replaceAll(/.{76}/g, "$&\r\n");
    const octets = tree(MIXED.replace("JVBERi0x\r\nLjQ=", base64));
    expect((await sender.pass(octets)) === octets).toBe(true);
    expect(await verdicts(sender.pombo)).toEqual(["loja.test pass", "loja.test pass"]);
  });

  test("each copy has fields of its own in front, and both signatures", async () => {
    await using sender = await startSending();
    const { pombo } = sender;
    const octets = message({ To: "maria@example.com, joao@example.com" });
    await sender.pass(octets, "maria@example.com", "joao@example.com");
    const copies = pombo.mx.messages.map(({ content }) => content.toString("latin1"));
    const traces = copies.map((copy) => /^X-Pombo-Trace: (\S+)\r\n/m.exec(copy)?.[1]);
    expect(new Set(traces).size).toBe(2);
    for (const copy of copies) {
      expect(copy).toContain(`Feedback-ID: transactional:${pombo.workspace.id}:loja.test:pombo\r\n`);
      expect(withoutAdded(copy)).toBe(octets);
    }
  });
});

describe("what changes", () => {
  test("Bcc, Return-Path, X-Pombo-*, Feedback-ID and Authentication-Results go", async () => {
    await using sender = await startSending();
    const gone = {
      ...{
        Bcc: "secret@example.com,\r\n other@example.com",
        "Resent-Bcc": "s2@example.com",
        "Return-Path": "<x@y.test>",
      },
      ...{ "X-Pombo-Trace": "forged", "x-pombo-anything": "1", "Feedback-ID": "a:b:c:d" },
      ...{ "Authentication-Results": "loja.test; dkim=pass", "X-Pombo-Tag": "receipt" },
    };
    const sent = await sender.pass(message(gone), "maria@example.com", "secret@example.com");
    expect(sent).toBe(message());
    for (const { content } of sender.pombo.mx.messages) {
      expect(content.toString()).not.toMatch(/secret@|other@|forged|a:b:c:d|dkim=pass/);
      expect(content.toString().match(/^X-Pombo-/gim)).toHaveLength(1);
    }
  });

  test("Date and Message-ID are added where they are missing or unusable, the same for all of a group", async () => {
    await using sender = await startSending();
    const { pombo } = sender;
    for (const fields of [
      { Date: null, "Message-ID": null },
      { Date: "yesterday", "Message-ID": "<a b@c>" },
    ]) {
      pombo.mx.messages.length = 0;
      await sender.pass(message(fields), "maria@example.com", "joao@example.com");
      const heads = pombo.mx.messages.map(({ content }) => content.toString());
      const found = heads.map((head) => [/^Date: .+$/gm, /^Message-ID: <.+>$/gim].map((each) => head.match(each)));
      expect(found[0]?.map((each) => each?.length)).toEqual([1, 1]);
      expect(found[0]).toEqual(found[1] as never);
      expect(heads.join("")).not.toMatch(/yesterday|<a b@c>/);
      expect((await verdicts(pombo)).at(0)).toBe("loja.test pass");
    }
  });

  test("a Message-ID that is good stays, and the record has it as providerId", async () => {
    await using sender = await startSending();
    const { pombo } = sender;
    using talk = await openClient(pombo);
    const id = await accepted(talk, message({ "Message-ID": " <Ticket-4711.a@help.test> " }));
    await pombo.app.worker.idle();
    expect(contentAt(pombo)).toContain("Message-ID:  <Ticket-4711.a@help.test> \r\n");
    expect((await recordOf(pombo, id)).providerId).toBe("Ticket-4711.a@help.test");
  });

  test("Sender stays only where its domain is verified in the workspace and allowed by the key", async () => {
    await using sender = await startSending();
    const { pombo } = sender;
    await pombo.addDomain(pombo.workspace, "outra.test");
    const other = await pombo.newWorkspace();
    await pombo.addDomain(other, "alheia.test");
    const bare = { Date: null, "Message-ID": null };
    const has = async (field: string) => /^sender:/im.test(await sender.pass(message({ ...bare, Sender: field })));
    expect(await has("Robô <robo@outra.test>")).toBe(true);
    expect(await has("robo@alheia.test")).toBe(false);
    expect(await has("robo@unknown.test")).toBe(false);
    expect(await has("a@loja.test, b@outra.test")).toBe(false);
    expect(await has("nonsense")).toBe(false);
    const domains = await pombo.workspace.call("GET", "/api/v1/domains");
    const domainId = domains.body.data.find(({ domain }: { domain: string }) => domain === "loja.test").id;
    const made = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "one", domainId } });
    using talk = await openClient(pombo, { key: made.body.data.key });
    await accepted(talk, message({ ...bare, Sender: "robo@outra.test" }));
    await pombo.app.worker.idle();
    expect(contentAt(pombo)).not.toMatch(/^sender:/im);
    await accepted(talk, message({ ...bare, Sender: "robo@loja.test" }));
    await pombo.app.worker.idle();
    expect(contentAt(pombo)).toMatch(/^Sender: robo@loja\.test\r\n/m);
  });

  test("bare line feeds become CR LF", async () => {
    await using sender = await startSending();
    const octets = `${message().replaceAll("\r\n", "\n").slice(0, -1)}\r\n`;
    expect(await sender.pass(octets)).toBe(message());
  });

  test("header text beyond ASCII becomes encoded-words, 8-bit parts are encoded once, and any server takes them", async () => {
    await using sender = await startSending({ capabilities: ["PIPELINING"] });
    const utf8 = (text: string) => Buffer.from(text).toString("latin1");
    const octets = message(
      {
        From: utf8("João da Loja <loja@loja.test>"),
        To: utf8("Mária Ã <maria@example.com>"),
        Subject: utf8("Olá, São João"),
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Transfer-Encoding": "8bit",
      },
      utf8("Bom dia, São João. This line is ASCII all through, as most of it is.\r\n"),
    );
    const sent = await sender.pass(octets);
    expect(sent).not.toMatch(/[^\0-\x7f]/);
    expect(sent).toContain("Content-Transfer-Encoding: quoted-printable\r\n");
    expect(sent).toContain("Bom dia, S=C3=A3o Jo=C3=A3o. This line is");
    expect(sent).toMatch(/^Subject: .*=\?utf-8\?/im);
    expect(await verdicts(sender.pombo)).toEqual(["loja.test pass", "loja.test pass"]);
  });
});

describe("what is signed by the sender", () => {
  const signed = (text: string) =>
    tree(
      [
        'Content-Type: multipart/signed; protocol="application/pgp-signature"; boundary=s',
        "",
        "--s",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: 8bit",
        "",
        text,
        "--s",
        'Content-Type: application/pgp-signature; name="signature.asc"',
        "",
        "-----BEGIN PGP SIGNATURE-----",
        "AAAA",
        "--s--",
        "",
      ].join("\r\n"),
    );

  test("is never touched, whatever it holds", async () => {
    await using sender = await startSending();
    const octets = signed("Trailing  \r\n.dot\r\nFrom here");
    expect(await sender.pass(octets)).toBe(octets);
    expect(sender.pombo.mx.connections.flatMap(({ commands }) => commands).join("\n")).not.toContain("BODY=");
  });

  test("with 8-bit text goes with BODY=8BITMIME, as it is", async () => {
    await using sender = await startSending();
    const octets = signed("Ol\xc3\xa1");
    expect(await sender.pass(octets)).toBe(octets);
    const mail = sender.pombo.mx.connections
      .flatMap(({ commands }) => commands)
      .find((line) => line.startsWith("MAIL"));
    expect(mail).toMatch(/ BODY=8BITMIME$/);
    expect(await verdicts(sender.pombo)).toEqual(["loja.test pass", "loja.test pass"]);
  });

  test("with 8-bit text and a large file goes the same way", async () => {
    await using sender = await startSending();
    const base64 = Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString("base64");
    const file = `${base64.replaceAll(/.{76}/g, "$&\r\n")}\r\n`.repeat(20);
    const inner = [
      "Content-Type: multipart/mixed; boundary=m",
      "",
      "--m",
      "Content-Type: text/plain; charset=utf-8",
      "",
      "Ol\xc3\xa1",
      "--m",
      "Content-Type: application/octet-stream; name=a.bin",
      "Content-Transfer-Encoding: base64",
      "",
      `${file}--m--`,
    ].join("\r\n");
    const octets = signed("MARK").replace(/Content-Type: text\/plain[^]*?MARK/, inner);
    expect((await sender.pass(octets)) === octets).toBe(true);
    expect(await verdicts(sender.pombo)).toEqual(["loja.test pass", "loja.test pass"]);
    const [record] = (await sender.pombo.workspace.call("GET", "/api/v1/emails")).body.data;
    expect((await recordOf(sender.pombo, record.id)).attachments.map(({ filename }: Json) => filename)).toEqual([
      "a.bin",
      "signature.asc",
    ]);
  });

  test("with 8-bit text is bounced 5.6.3 by a server without 8BITMIME", async () => {
    await using sender = await startSending({ capabilities: ["PIPELINING", "SIZE 52428800"] });
    const { pombo } = sender;
    using talk = await openClient(pombo);
    const id = await accepted(talk, signed("Ol\xc3\xa1"));
    await pombo.app.worker.idle();
    expect(pombo.mx.messages).toEqual([]);
    const record = await recordOf(pombo, id);
    expect(["bounced", "failed"]).toContain(record.status);
    expect(JSON.stringify([record, await timelineOf(pombo, id)])).toContain("5.6.3");
  });
});

test("an address beyond ASCII goes with SMTPUTF8, and stands in the header as it is", async () => {
  await using sender = await startSending();
  const to = Buffer.from("joão@example.com").toString("latin1");
  const { pombo } = sender;
  using talk = await openClient(pombo);
  await talk.say("MAIL FROM:<app@client.test> SMTPUTF8 BODY=8BITMIME");
  await talk.say("RCPT TO:<joão@example.com>");
  await talk.say("DATA");
  talk.write(Buffer.from(`${message({ To: to })}.\r\n`, "latin1"));
  expect(await talk.reply()).toStartWith("250 ");
  await pombo.app.worker.idle();
  expect(withoutAdded(contentAt(pombo))).toBe(message({ To: to }));
  expect(pombo.mx.messages[0]?.to).toEqual(["joão@example.com"]);
  expect(pombo.mx.connections.flatMap(({ commands }) => commands).join("\n")).toContain(" SMTPUTF8 BODY=8BITMIME");
});
