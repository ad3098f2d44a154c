// The listener over real sockets: who is let in, what is kept, and what is said when it cannot be.
import { expect, setDefaultTimeout, test } from "bun:test";
import SMTPConnection from "nodemailer/lib/smtp-connection";
import { StorageError } from "../../../src/platform/db/storage-error.ts";
import type { InboundMessage } from "../../../src/modules/inbound-mail/inbound-message.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { BOUNCE_HOST, HOSTNAME, startDesk, until } from "../../support/inbound/kit.ts";

setDefaultTimeout(20_000);

const BOUNCE = "From: MAILER-DAEMON@example.com\r\nSubject: Undelivered\r\n\r\n..dots\r\n.\r\n. x\r\nend\r\n";
/** As it goes over the wire: dots at the beginning of a line doubled (RFC 5321 §4.5.2). */
const STUFFED = `${BOUNCE.replaceAll(/^\./gm, "..")}.\r\n`;

test("a bounce sent by a mail library is handed on with its envelope and exact bytes, and answered 250 after that", async () => {
  const kept = Promise.withResolvers<void>();
  const seen: InboundMessage[] = [];
  await using desk = await startDesk({
    receive: async (message) => {
      seen.push(message);
      await kept.promise;
    },
  });
  const { uid, address } = desk.sent();
  const connection = new SMTPConnection({
    host: "127.0.0.1",
    port: desk.port,
    name: "mx.client.test",
    ignoreTLS: true,
  });
  await new Promise<void>((resolve) => connection.connect(() => resolve()));
  const before = Date.now();
  let isAnswered = false;
  const answer = new Promise<string>((resolve, reject) =>
    connection.send({ from: "", to: [address.toUpperCase()] }, BOUNCE, (error, info) => {
      isAnswered = true;
      if (error === null) resolve(info.response);
      else reject(error);
    }),
  );
  await until("the message", () => seen.length === 1);
  const [message] = seen;
  expect(message).toMatchObject({
    destinations: [{ kind: "bounce", emailUid: uid }],
    envelopeFrom: "",
    clientAddress: "127.0.0.1",
    helo: "mx.client.test",
    isTls: false,
  });
  expect(Buffer.from(message?.bytes ?? []).toString()).toBe(BOUNCE);
  expect(message?.receivedAt).toBeWithin(before, Date.now() + 1);
  expect(isAnswered).toBe(false);
  kept.resolve();
  expect(await answer).toBe("250 2.6.0 Taken");
  connection.quit();
  await until("the log", () => desk.events.length === 1);
  expect(desk.events).toEqual([
    {
      name: "inbound.message",
      fields: { for: "bounce", bytes: Buffer.byteLength(BOUNCE), tls: false, client: "127.0.0.1" },
      level: "info",
    },
  ]);
  expect(desk.counted).toEqual(["message bounce"]);
  await until("the client's going", () => desk.inbound.clientCount === 0);
});

test("a message in pieces of one byte, its dots among them, is the same message", async () => {
  await using desk = await startDesk();
  using talk = await desk.client();
  await talk.message("postmaster");
  talk.socket.setNoDelay(true);
  for (const byte of Buffer.from(STUFFED)) {
    talk.write(Uint8Array.of(byte));
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  expect(await talk.reply()).toBe("250 2.6.0 Taken\r\n");
  expect(Buffer.from(desk.messages[0]?.bytes ?? []).toString()).toBe(BOUNCE);
});

test("a whole session in one write is answered in order, and a message of several recipients goes to each once", async () => {
  await using desk = await startDesk();
  const [one, two] = [desk.sent(), desk.sent()];
  using talk = await desk.client();
  await talk.say("EHLO client.test");
  const recipients = [one.address, two.address, one.address.toUpperCase(), `fbl@${BOUNCE_HOST}`];
  const envelope = `MAIL FROM:<someone@example.com>\r\n${recipients.map((to) => `RCPT TO:<${to}>\r\n`).join("")}DATA\r\n`;
  talk.write(`${envelope}${STUFFED}MAIL FROM:<>\r\nRCPT TO:<nobody@example.com>\r\nRCPT TO:<postmaster>\r\nDATA\r\n`);
  const codes: string[] = [];
  for (let n = 0; n < 10; n++) codes.push((await talk.reply()).slice(0, 3));
  expect(codes.join(" ")).toBe("250 250 250 250 250 354 250 250 550 250");
  expect(await talk.reply()).toStartWith("354");
  expect(await talk.say("\r\nx\r\n.")).toStartWith("250");
  expect(desk.messages.map(({ destinations }) => destinations)).toEqual([
    [{ kind: "bounce", emailUid: one.uid }, { kind: "bounce", emailUid: two.uid }, { kind: "complaint" }],
    [{ kind: "person", mailbox: "postmaster" }],
  ]);
  expect(desk.messages[0]?.envelopeFrom).toBe("someone@example.com");
  expect(desk.counted).toEqual(["message bounce", "message complaint", "recipient foreign", "message person"]);
});

test("EHLO offers what there is and nothing to sign in with; a client is told nothing of who is here", async () => {
  await using desk = await startDesk();
  using talk = await desk.client();
  const offered = (await talk.say("EHLO client.test")).split("\r\n").map((line) => line.slice(4));
  expect(offered).toEqual([
    HOSTNAME,
    "PIPELINING",
    "8BITMIME",
    "SMTPUTF8",
    "ENHANCEDSTATUSCODES",
    "STARTTLS",
    `SIZE ${2 * 1024 ** 2}`,
    "",
  ]);
  for (const [line, code] of [
    ["AUTH PLAIN AGEAYg==", "500"],
    ["AUTH LOGIN", "500"],
    ["EXPN staff", "500"],
    ["XCLIENT ADDR=10.0.0.1", "500"],
    ["XFORWARD ADDR=10.0.0.1", "500"],
    ["WIZ x", "500"],
    ["HELP", "500"],
    ["BDAT 5 LAST", "500"],
  ] as const) {
    expect([line, (await talk.say(line)).slice(0, 3)]).toEqual([line, code]);
  }
  const [known, unknown] = [await talk.say("VRFY postmaster"), await talk.say("VRFY nobody")];
  expect(known).toBe(unknown);
  expect(known).toStartWith("252");
});

test("nobody gets the same words, whatever is wrong: foreign, unknown, forged or expired", async () => {
  await using desk = await startDesk();
  const now = Date.now();
  const old = desk.sent({ at: now - 31 * 86_400_000 });
  const gone = desk.sent();
  desk.emails.delete(gone.uid);
  const forged = desk.sent();
  desk.emails.set(forged.uid, {
    recipientAddress: "other@example.com",
    isErased: false,
    returnPath: forged.address,
    sendAt: null,
  });
  const moved = desk.sent({ host: "bounce.loja.example" });
  using talk = await desk.client();
  await talk.say("EHLO client.test");
  await talk.say("MAIL FROM:<>");
  const expected: Record<string, string> = {
    "maria@example.com": "foreign",
    [`nobody@${HOSTNAME}`]: "unknown",
    [`maria%example.com@${HOSTNAME}`]: "unknown",
    [`example.com!maria@${HOSTNAME}`]: "unknown",
    "@mail.pombo.test:maria@example.com": "foreign",
    [old.address]: "expired",
    [gone.address]: "unknown",
    [forged.address]: "forged",
    [moved.address.replace("bounce.loja.example", HOSTNAME)]: "foreign",
  };
  for (const address of Object.keys(expected)) {
    expect([address, await talk.say(`RCPT TO:<${address}>`)]).toEqual([
      address,
      "550 5.1.1 There is no such mailbox here\r\n",
    ]);
  }
  // What is no address at all is refused before it is looked at.
  for (const address of [
    '"a@b"@mail.pombo.test',
    "a b@mail.pombo.test",
    "",
    "postmaster@",
    `${"a".repeat(300)}@${HOSTNAME}`,
  ])
    expect([address, (await talk.say(`RCPT TO:<${address}>`)).slice(0, 1)]).toEqual([address, "5"]);
  expect(await talk.say("DATA")).toStartWith("503");
  expect(desk.counted).toEqual(Object.values(expected).map((why) => `recipient ${why}`));
  expect(desk.messages).toEqual([]);
});

test("what was refused is one line of the log a minute, without addresses", async () => {
  const clock = fakeClock();
  await using desk = await startDesk({ clock });
  using talk = await desk.client();
  await talk.say("EHLO client.test");
  await talk.say("MAIL FROM:<>");
  for (const to of ["maria@example.com", "joao@example.com", `x@${HOSTNAME}`]) await talk.say(`RCPT TO:<${to}>`);
  expect(desk.events).toEqual([]);
  clock.advance(60_000);
  expect(desk.events).toEqual([
    { name: "inbound.refused", fields: { recipients_foreign: 2, recipients_unknown: 1 }, level: "info" },
  ]);
});

test("the sixth recipient has to come in another message", async () => {
  await using desk = await startDesk();
  const emails = Array.from({ length: 6 }, () => desk.sent());
  using talk = await desk.client();
  await talk.envelope(...emails.slice(0, 5).map(({ address }) => address));
  expect(await talk.say(`RCPT TO:<${emails[5]?.address}>`)).toBe("452 4.5.3 Error: too many recipients\r\n");
});

test("while recipients cannot be looked up they are asked to come again, not said to be nobody", async () => {
  let error: Error = new StorageError(new Error("disk I/O error"));
  await using desk = await startDesk({
    find: () => {
      throw error;
    },
  });
  const { address } = desk.sent();
  using talk = await desk.client();
  await talk.say("EHLO client.test");
  await talk.say("MAIL FROM:<>");
  expect(await talk.say(`RCPT TO:<${address}>`)).toStartWith("451 4.3.0 ");
  expect(desk.bugs).toEqual([]);
  error = new TypeError("a fault of ours");
  expect(await talk.say(`RCPT TO:<${address}>`)).toStartWith("451 4.3.0 ");
  expect(desk.bugs).toEqual([{ where: "inbound recipient", error }]);
  expect(await talk.say("RCPT TO:<postmaster>")).toStartWith("250");
});

test("a message that could not be kept is answered 451, and the connection goes on", async () => {
  const faults: (Error | null)[] = [new StorageError(new Error("full")), new Error("a fault of ours"), null];
  await using desk = await startDesk({
    receive: async () => {
      const fault = faults.shift();
      if (fault instanceof Error) throw fault;
    },
  });
  using talk = await desk.client();
  for (const code of ["451 4.3.0", "451 4.3.0", "250 2.6.0"]) {
    await talk.message("abuse@mail.pombo.test");
    expect(await talk.say("Subject: x\r\n\r\nx\r\n.")).toStartWith(code);
  }
  // Whoever takes messages tells of what went wrong.
  expect(desk.bugs).toEqual([]);
  expect(desk.counted).toEqual(["refused unavailable", "refused unavailable", "message person"]);
});

test("keeping that takes over a minute is answered 451, and what comes of it later changes nothing", async () => {
  const clock = fakeClock();
  const kept = Promise.withResolvers<void>();
  let isReceiving = false;
  await using desk = await startDesk({
    clock,
    receive: async () => {
      isReceiving = true;
      await kept.promise;
    },
  });
  using talk = await desk.client();
  await talk.message("postmaster");
  talk.write("x\r\n.\r\n");
  await until("the message", () => isReceiving);
  clock.advance(59_999);
  expect(talk.heard).toBe("");
  clock.advance(1);
  expect(await talk.reply()).toStartWith("451 4.3.0 ");
  kept.resolve();
  expect(await talk.say("NOOP")).toStartWith("250");
  expect(desk.counted).toEqual(["refused unavailable"]);
});

test("while the disk is in trouble nothing is taken, at MAIL or at the dot", async () => {
  let trouble: string | null = "the disk is full";
  await using desk = await startDesk({ blockedReason: () => trouble });
  using talk = await desk.client();
  await talk.say("EHLO client.test");
  expect(await talk.say("MAIL FROM:<>")).toStartWith("451 4.3.0 ");
  trouble = null;
  await talk.message("postmaster");
  trouble = "the disk is full";
  expect(await talk.say("x\r\n.")).toStartWith("451 4.3.0 ");
  trouble = null;
  await talk.message("postmaster");
  expect(await talk.say("x\r\n.")).toStartWith("250");
  expect(desk.messages).toHaveLength(1);
});

test("a client that goes in the middle of its message leaves nothing behind", async () => {
  await using desk = await startDesk();
  for (const how of ["end", "reset"] as const) {
    const talk = await desk.client();
    await talk.message("postmaster");
    talk.write("Subject: half\r\n\r\nhalf of it\r\n");
    await until("it came in", () => desk.inbound.clientCount === 1);
    if (how === "end") talk.socket.end();
    else talk.socket.resetAndDestroy();
    await until(`the ${how}`, () => desk.inbound.clientCount === 0);
  }
  expect(desk.messages).toEqual([]);
  expect(desk.bugs).toEqual([]);
});

test("a client that goes before the answer to its dot does not stop the keeping", async () => {
  const kept = Promise.withResolvers<void>();
  const steps: string[] = [];
  await using desk = await startDesk({
    receive: async () => {
      steps.push("begun");
      await kept.promise;
      steps.push("kept");
    },
  });
  const talk = await desk.client();
  await talk.message("postmaster");
  talk.write("x\r\n.\r\n");
  await until("the message", () => steps.length === 1);
  talk.socket.resetAndDestroy();
  await until("its going", () => desk.inbound.clientCount === 0);
  kept.resolve();
  await until("the keeping", () => desk.counted.length === 1);
  expect(steps).toEqual(["begun", "kept"]);
  expect(desk.bugs).toEqual([]);
});
