// Programs that speak SMTP oddly, and people who try to have more out of it than is theirs.

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Instance } from "../../support/fakes/instance.ts";
import { openTalk, until } from "../../support/inbound/kit.ts";
import { contentAt, openClient, openSecure, portOf, startSubmitting } from "../../support/submission/kit.ts";
import {
  accepted,
  beginData,
  handIn,
  message,
  passwordOf,
  toBase64,
  writePieces,
} from "../../support/submission/wire.ts";

setDefaultTimeout(60_000);

async function arrivedBodies(pombo: Instance): Promise<string[]> {
  await pombo.app.worker.idle();
  return pombo.mx.messages.map(({ content }) => content.toString("latin1").split("\r\n\r\n").slice(1).join("\r\n\r\n"));
}

/** Without Date and Message-ID: nothing of it is recognised. */
const again = (body: string) => message({ Date: null, "Message-ID": null }, body);

describe("the end of the data", () => {
  const INNER = "MAIL FROM:<x@client.test>\r\nRCPT TO:<smuggled@example.com>\r\nDATA\r\nSubject: smuggled\r\n\r\nx";
  /** What another server may take for the end. */
  const FALSE_ENDS = [
    "\n.\n",
    "\r.\r",
    "\n.\r\n",
    "\r\n.\n",
    "\r.\r\n",
    "\r\n.\r",
    "\r.\n",
    "\n.\r",
    "\n\n.\n\n",
    "\r\r.\r\r",
  ];

  test("is CR LF . CR LF and nothing else, wherever the packets are cut", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    for (const falseEnd of FALSE_ENDS) {
      const before = again("line");
      const whole = `${before}${falseEnd}${INNER}\r\n.\r\n`;
      for (let cut = 0; cut <= falseEnd.length; cut += 1) {
        await beginData(talk);
        await writePieces(talk, [whole.slice(0, before.length + cut), whole.slice(before.length + cut)]);
        expect([falseEnd, cut, await talk.reply()]).toEqual([falseEnd, cut, expect.stringMatching(/^250 2\.0\.0 /)]);
        // A second transaction would have been answered by now.
        expect(await talk.say("NOOP")).toBe("250 OK\r\n");
      }
    }
    await pombo.app.worker.idle();
    expect(pombo.mx.messages.flatMap(({ to }) => to).filter((to) => to !== "maria@example.com")).toEqual([]);
    for (const { stuffed } of pombo.mx.messages) {
      const sent = stuffed.toString("latin1");
      // As one message, whose line ends are CR LF and whose dots are doubled.
      expect(sent).toContain("MAIL FROM:<x@client.test>\r\n");
      expect(sent).not.toMatch(/(?<!\r)\n|\r(?!\n)/);
      expect(sent).not.toMatch(/^\.$|^\.[^.]/m);
    }
  });

  test("doubled dots are one, wherever the packets are cut, and arrive doubled once", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    const head = again("");
    const sent = "..\r\n...\r\n..x\r\nx.\r\n..\r\n.\r\n";
    for (let cut = 0; cut < sent.length; cut += 1) {
      await beginData(talk);
      await writePieces(talk, [head + sent.slice(0, cut), sent.slice(cut)]);
      expect([cut, await talk.reply()]).toEqual([cut, expect.stringMatching(/^250 2\.0\.0 /)]);
    }
    expect(new Set(await arrivedBodies(pombo))).toEqual(new Set([".\r\n..\r\n.x\r\nx.\r\n.\r\n"]));
  });

  test("in packets of one byte is found too", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    await beginData(talk);
    await writePieces(talk, [...`${again("a\r\n..\r\nb\r\n")}.\r\n`]);
    expect(await talk.reply()).toStartWith("250 ");
    expect(await arrivedBodies(pombo)).toEqual(["a\r\n.\r\nb\r\n"]);
  });

  test("an empty message has no From, and what follows its end is a command", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    await beginData(talk);
    talk.write(".\r\nNOOP\r\n");
    expect(await talk.reply()).toStartWith("550 5.7.1 the message has no From field");
    expect(await talk.reply()).toBe("250 OK\r\n");
  });
});

describe("pipelining", () => {
  test("a whole session in one write is answered in order", async () => {
    await using pombo = await startSubmitting();
    using talk = await openSecure(portOf(pombo));
    const one = (id: number, to: string) =>
      `MAIL FROM:<>\r\nRCPT TO:<${to}>\r\nRCPT TO:<none>\r\nDATA\r\n${message({ "Message-ID": `<${id}@loja.test>` })}.\r\n`;
    talk.write(
      `AUTH PLAIN ${passwordOf(pombo.workspace.key)}\r\n${one(1, "maria@example.com")}RSET\r\n${one(2, "joao@example.com")}QUIT\r\n`,
    );
    const codes: string[] = [];
    for (let n = 0; n < 13; n += 1) codes.push((await talk.reply()).slice(0, 3));
    expect(codes.join(" ")).toBe("235 250 250 553 354 250 250 250 250 553 354 250 221");
    await pombo.app.worker.idle();
    expect(pombo.mx.messages.map(({ to }) => to[0]).toSorted()).toEqual(["joao@example.com", "maria@example.com"]);
  });

  test("a message whose every recipient was refused cannot be given, and the next one can", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    talk.write("MAIL FROM:<>\r\nRCPT TO:<none>\r\nDATA\r\n");
    expect([await talk.reply(), await talk.reply()].map((reply) => reply.slice(0, 3))).toEqual(["250", "553"]);
    expect(await talk.reply()).toStartWith("503 ");
    await talk.say("RSET");
    await accepted(talk, message());
  });
});

describe("STARTTLS", () => {
  const injected = (pombo: Instance) =>
    `EHLO x\r\nAUTH PLAIN ${passwordOf(pombo.workspace.key)}\r\nMAIL FROM:<>\r\nRCPT TO:<injected@example.com>\r\nDATA\r\n${message()}.\r\n`;

  test.each([
    ["in the same packet", false],
    ["before the handshake", true],
  ])("commands sent in the clear behind it (%s) are not run inside", async (_, isLater) => {
    await using pombo = await startSubmitting();
    using talk = await openTalk(portOf(pombo));
    await talk.say("EHLO client.test");
    talk.write(`STARTTLS\r\n${isLater ? "" : injected(pombo)}`);
    expect(await talk.reply()).toStartWith("220");
    if (isLater) {
      talk.write(injected(pombo));
      await until("the end", () => talk.isClosed);
      expect(talk.heard).not.toMatch(/^[25]\d\d/m);
    } else {
      const isSecured = await talk.secure().then(
        () => true,
        () => false,
      );
      if (isSecured) {
        expect(talk.heard).toBe("");
        expect(await talk.say("MAIL FROM:<>")).toStartWith("503 ");
        expect(await talk.say("EHLO client.test")).toContain("AUTH PLAIN LOGIN");
      }
    }
    await pombo.app.worker.idle();
    expect(pombo.mx.messages).toEqual([]);
  });

  test("is not there inside, and a second one changes nothing", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    expect(await talk.say("STARTTLS")).toMatch(/^5\d\d /);
    await accepted(talk, message());
  });

  test("a client that speaks TLS at once on its port, or plainly on the other one, gets no further", async () => {
    await using pombo = await startSubmitting();
    for (const bytes of ["\x16\x03\x01\x00\x05aaaaa", "EHLO client.test\r\n", "GET / HTTP/1.1\r\n\r\n", ""]) {
      const talk = await openTalk(portOf(pombo, "implicit"), { hears: false });
      talk.write(Buffer.from(bytes, "latin1"));
      await new Promise<void>((resolve) => setImmediate(resolve));
      talk.socket.end();
      await talk.rest();
      expect(talk.heard).not.toContain("250");
      talk.socket.destroy();
    }
    using talk = await openClient(pombo, { mode: "implicit" });
    await accepted(talk, message());
    expect(pombo.bugs).toEqual([]);
  });
});

describe("AUTH", () => {
  test("twice is refused, and it stays who it is", async () => {
    await using pombo = await startSubmitting();
    const other = await pombo.newWorkspace();
    using talk = await openClient(pombo);
    expect(await talk.say(`AUTH PLAIN ${passwordOf(other.key)}`)).toStartWith("503 ");
    await accepted(talk, message());
  });

  test("cancelled with * at either step is 501, and may be begun again", async () => {
    await using pombo = await startSubmitting();
    using talk = await openSecure(portOf(pombo));
    const { key } = pombo.workspace;
    expect(await talk.say("AUTH LOGIN")).toStartWith("334 ");
    expect(await talk.say("*")).toStartWith("501 ");
    expect(await talk.say("AUTH LOGIN")).toStartWith("334 ");
    expect(await talk.say(toBase64("pombo"))).toStartWith("334 ");
    expect(await talk.say("*")).toStartWith("501 ");
    expect(await talk.say("AUTH PLAIN")).toStartWith("334 ");
    expect(await talk.say("*")).toStartWith("501 ");
    expect(await talk.say("MAIL FROM:<>")).toStartWith("530 5.7.0 ");
    expect(await talk.say("AUTH LOGIN")).toStartWith("334 ");
    expect(await talk.say(toBase64("pombo"))).toStartWith("334 ");
    expect(await talk.say(toBase64(key))).toStartWith("235 ");
  });

  test("with what is no token, or by another mechanism, is refused", async () => {
    await using pombo = await startSubmitting();
    using talk = await openSecure(portOf(pombo));
    for (const line of [
      "AUTH",
      "AUTH CRAM-MD5",
      "AUTH XOAUTH2 x",
      "AUTH PLAIN =",
      "AUTH PLAIN %%%",
      `AUTH PLAIN ${toBase64("a\0b\0c\0d")}`,
      `AUTH PLAIN ${passwordOf(pombo.workspace.key)} x`,
    ])
      expect([line, await talk.say(line)]).toEqual([line, expect.stringMatching(/^5\d\d /)]);
    expect(await talk.say(`AUTH PLAIN ${"A".repeat(5_000)}`)).toMatch(/^[45]\d\d /);
    expect(pombo.bugs).toEqual([]);
  });

  test("twenty commands without one end the session", async () => {
    await using pombo = await startSubmitting();
    using talk = await openSecure(portOf(pombo));
    talk.write("NOOP\r\n".repeat(50));
    expect((await talk.rest()).trimEnd().split("\r\n").at(-1)).toStartWith("421 ");
  });
});

test("what is not there is not there: BDAT, proxies' commands, VRFY that tells, EXPN, TURN, BINARYMIME", async () => {
  await using pombo = await startSubmitting();
  using talk = await openClient(pombo);
  for (const line of [
    "BDAT 5 LAST",
    "XCLIENT ADDR=10.0.0.1",
    "XFORWARD ADDR=10.0.0.1",
    "EXPN staff",
    "TURN",
    "HELP",
    "WIZ x",
  ])
    expect([line, await talk.say(line)]).toEqual([line, expect.stringMatching(/^50[02] /)]);
  expect(await talk.say("VRFY maria@example.com")).toBe(await talk.say("VRFY nobody"));
  expect(await talk.say("MAIL FROM:<> BODY=BINARYMIME")).toMatch(/^5\d\d /);
  expect(await talk.say("MAIL FROM:<> SIZE=x")).toMatch(/^501 /);
  expect(await talk.say("MAIL FROM:<> BODY=8BITMIME SMTPUTF8 AUTH=<>")).toStartWith("250 ");
  expect(await talk.say("MAIL FROM:<>")).toStartWith("503 ");
});

test("MAIL FROM is not believed: null, foreign or odd, the return path is pombo's own", async () => {
  await using pombo = await startSubmitting();
  using talk = await openClient(pombo);
  for (const [index, sender] of ["", "ceo@bank.example", "root@localhost", "app@[127.0.0.1]", "a b@x"].entries()) {
    const taken = await talk.say(`MAIL FROM:<${sender}>`);
    if (sender === "a b@x") {
      expect(taken).toMatch(/^501 /);
      continue;
    }
    expect([sender, taken]).toEqual([sender, expect.stringMatching(/^250 /)]);
    await talk.say("RCPT TO:<maria@example.com>");
    await talk.say("DATA");
    talk.write(`${message({ "Message-ID": `<${index}@loja.test>` })}.\r\n`);
    expect(await talk.reply()).toStartWith("250 ");
  }
  await pombo.app.worker.idle();
  for (const { from } of pombo.mx.messages) expect(from).toMatch(/^b-.+@bounce\.loja\.test$|@/);
  for (const { from } of pombo.mx.messages) expect(from).not.toMatch(/bank|localhost|127/);
});

test("the message of a client that goes in its middle is not taken, and nothing is left of it", async () => {
  await using pombo = await startSubmitting();
  for (const how of ["end", "reset"] as const) {
    const talk = await openClient(pombo);
    await beginData(talk);
    talk.write(message().slice(0, 100));
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (how === "end") talk.socket.end();
    else talk.socket.destroy();
    await until(`the ${how}`, () => talk.isClosed);
  }
  using talk = await openClient(pombo);
  await accepted(talk, message());
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toHaveLength(1);
  expect(contentAt(pombo)).toContain("Bom dia");
  expect(pombo.bugs).toEqual([]);
  expect(await handIn(talk, "")).toStartWith("550 5.7.1 ");
});
