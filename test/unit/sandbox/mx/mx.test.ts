import { afterEach, beforeEach, expect, test } from "bun:test";
import { createPrivateKey } from "node:crypto";
import { createTransport } from "nodemailer";
import { generateKeyPairs } from "../../../../src/protocols/dkim/keys.ts";
import { dkimRecordValue } from "../../../../src/protocols/dkim/record.ts";
import { signMessage } from "../../../../src/protocols/dkim/sign.ts";
import type { Lookup } from "../../../../src/protocols/dns/client.ts";
import { openInbox } from "../../../../src/sandbox/mx/inbox.ts";
import type { Inbox } from "../../../../src/sandbox/mx/inbox.ts";
import { MAX_MESSAGE_BYTES, startSandboxMx } from "../../../../src/sandbox/mx/server.ts";
import type { SandboxMx } from "../../../../src/sandbox/mx/server.ts";
import { readMessage } from "../../../../src/sandbox/mx/parse.ts";
import { NOON, lines, rawClient, stoppedClock } from "../../../support/sandbox/kit.ts";

const RETURN_PATH = "b.token@bounce.shop.example";
const MESSAGE = lines(
  "From: =?utf-8?Q?Jos=C3=A9?= <jose@shop.example>",
  "To: grace@example.com",
  "Subject: =?utf-8?Q?Ol=C3=A1?=",
  "",
  ".starts with a dot",
);

let inbox: Inbox;
let clock: ReturnType<typeof stoppedClock>;
let events: string[];
let waiters: { pattern: RegExp; resolve: () => void }[];
let records: Map<string, string>;
let mx: SandboxMx;

beforeEach(async () => {
  inbox = openInbox(":memory:");
  clock = stoppedClock();
  events = [];
  waiters = [];
  records = new Map();
  mx = await startSandboxMx({
    inbox,
    clock,
    lookupTxt: async (name): Promise<Lookup<string>> => {
      const record = records.get(name);
      return record === undefined
        ? { kind: "no_name", server: "test" }
        : { kind: "found", records: [record], ttlS: 60, server: "test" };
    },
    onEvent(line) {
      events.push(line);
      for (const waiter of waiters) if (waiter.pattern.test(line)) waiter.resolve();
    },
  });
});

afterEach(async () => {
  await mx.close();
  inbox.close();
});

test("a message sent with STARTTLS is kept with its envelope, protocol and exact source", async () => {
  await send({ to: ["Grace@example.com"] });
  const [message] = inbox.list();
  expect(message).toMatchObject({
    envelopeFrom: RETURN_PATH,
    from: '"José" <jose@shop.example>',
    to: "Grace@example.com",
    subject: "Olá",
    receivedAt: NOON,
    tls: "TLSv1.3",
    dkim: "none",
    signatures: [],
    sizeBytes: MESSAGE.byteLength,
  });
  expect(Buffer.from(inbox.raw(message?.id ?? "") ?? "")).toEqual(MESSAGE);
});

test("a message sent in clear text is kept and marked as such", async () => {
  await send({ ignoreTLS: true });
  expect(inbox.list()[0]?.tls).toBeNull();
  expect(events).toEqual([expect.stringContaining("no TLS")]);
});

test("the MX offers STARTTLS, PIPELINING and its size limit, and no AUTH", async () => {
  const client = await rawClient(mx.port);
  const capabilities = await client.say("EHLO client.example");
  expect(capabilities).toContain("STARTTLS\r\n");
  expect(capabilities).toContain("PIPELINING\r\n");
  expect(capabilities).toContain(`SIZE ${MAX_MESSAGE_BYTES}\r\n`);
  expect(capabilities).not.toContain("AUTH");
  client.drop();
});

test("a signed message is shown as passing, a changed one as failing", async () => {
  const { rsa, ed25519 } = await generateKeyPairs();
  const keys = [rsa, ed25519].map((pair, i) => {
    records.set(`s${i}._domainkey.shop.example`, dkimRecordValue(pair));
    const privateKey = createPrivateKey(pair.privateKeyPem);
    return { domain: "shop.example", selector: `s${i}`, algorithm: pair.algorithm, privateKey };
  });
  const dated = Buffer.concat([
    lines("Date: Sun, 01 Mar 2026 12:00:00 +0000", "Message-ID: <1@shop.example>"),
    MESSAGE,
  ]);
  const signed = Buffer.concat([await signMessage(dated, keys, NOON), dated]);
  await send({ raw: signed });
  await send({ raw: Buffer.concat([signed, lines("added later")]) });
  const [changed, intact] = inbox.list();
  expect(intact?.dkim).toBe("pass");
  expect(intact?.signatures.map((signature) => signature.result)).toEqual(["pass", "pass"]);
  expect(changed?.dkim).toBe("fail");
  expect(events[0]).toContain("DKIM pass (shop.example)");
});

test("each recipient of a message gets a copy", async () => {
  await send({ to: ["a@example.com", "b@example.com"] });
  expect(inbox.list().map((message) => message.to)).toEqual(["b@example.com", "a@example.com"]);
});

test("the null sender is kept as an empty return path", async () => {
  const client = await rawClient(mx.port);
  for (const line of ["EHLO x.example", "MAIL FROM:<>", "RCPT TO:<a@example.com>", "DATA"]) await client.say(line);
  expect(await client.say("Subject: bounce\r\n\r\ntext\r\n.")).toStartWith("250 2.6.0 ");
  expect(inbox.list()[0]?.envelopeFrom).toBe("");
  client.drop();
});

test("bounce@ is refused at RCPT with 550 5.1.1, with a tag too, and nothing is kept", async () => {
  for (const to of ["bounce@example.com", "bounce+tag@example.org"]) {
    const refusal = await refused({ to: [to] });
    expect(refusal).toMatchObject({ responseCode: 550, command: "RCPT TO" });
    expect(refusal.response).toStartWith("550 5.1.1 ");
  }
  expect(inbox.list()).toEqual([]);
  expect(events[0]).toContain("(bounce@example.com)");
});

test("defer@ is greylisted with 451 4.7.1 twice and then taken", async () => {
  for (const _ of [1, 2]) {
    const refusal = await refused({ to: ["defer+x@example.com"] });
    expect(refusal).toMatchObject({ responseCode: 451, command: "RCPT TO" });
    expect(refusal.response).toStartWith("451 4.7.1 ");
  }
  await send({ to: ["defer+x@example.com"] });
  expect(inbox.list()).toHaveLength(1);
});

test("slow@ is kept at once and answered five seconds after the dot", async () => {
  let isAnswered = false;
  const sending = send({ to: ["slow@example.com"] }).then(() => (isAnswered = true));
  await eventMatching(/received for slow@/);
  expect(inbox.list()).toHaveLength(1);
  clock.advance(4_999);
  await send({ to: ["somebody@example.com"] });
  expect(isAnswered).toBe(false);
  clock.advance(1);
  await sending;
});

test("closing answers a slow message that still waits", async () => {
  const sending = send({ to: ["slow+1@example.com"] });
  await eventMatching(/received for slow/);
  await mx.close();
  await sending;
});

test("closing does not wait for a connection that stays open", async () => {
  const client = await rawClient(mx.port);
  await client.say("EHLO client.example");
  await mx.close();
  client.drop();
});

test("a message over 25 MB is refused with 552 and not kept", async () => {
  const raw = Buffer.concat([MESSAGE, Buffer.alloc(MAX_MESSAGE_BYTES, "0123456789abcdef\r\n")]);
  expect(await refused({ raw })).toMatchObject({ responseCode: 552 });
  expect(inbox.list()).toEqual([]);
  expect(events).toEqual(["552 message over 25 MB refused"]);
});

test("a sender that vanishes within DATA leaves nothing behind", async () => {
  const client = await rawClient(mx.port);
  for (const line of ["EHLO x.example", "MAIL FROM:<a@x.example>", "RCPT TO:<a@example.com>", "DATA"])
    await client.say(line);
  client.write("Subject: half\r\n\r\nhalf a mess");
  client.drop();
  await eventMatching(/not kept/);
  expect(inbox.list()).toEqual([]);
});

test("many messages travel over one connection, pipelined", async () => {
  const client = await rawClient(mx.port);
  await client.say("EHLO x.example");
  for (let i = 0; i < 200; i++) {
    client.write(`MAIL FROM:<a@x.example>\r\nRCPT TO:<${i}@example.com>\r\nDATA\r\n`);
    for (const code of ["250", "250", "354"]) expect(await client.reply()).toStartWith(code);
    expect(await client.say(`Subject: ${i}\r\n\r\n..${i}\r\n.`)).toStartWith("250");
  }
  expect(inbox.list({ limit: 500 })).toHaveLength(200);
  client.drop();
});

test("a hostile message is taken: ten megabytes, broken MIME, eight-bit headers", async () => {
  const large = Buffer.concat([MESSAGE, Buffer.alloc(10 * 1024 * 1024, "0123456789abcdef\r\n")]);
  const broken = lines(
    "Content-Type: multipart/mixed; boundary=x",
    "From: \xff\xfe<",
    "Subject: =?utf-8?B?!!!?=",
    "",
    "--x",
    "Content-Type: text/html",
    "",
    "<p>cut",
  );
  const headless = lines("", "no header at all");
  for (const raw of [large, broken, headless]) await send({ raw });
  const kept = inbox.list();
  expect(kept).toHaveLength(3);
  for (const { id } of kept) expect((await readMessage(inbox.raw(id) ?? Buffer.alloc(0))).fault).toBeNull();
});

test("what a message says cannot control the terminal that shows its event", async () => {
  const escape = Buffer.from("\u001b[2J\u001b]0;owned\u0007\u202Egnp").toString("base64");
  await send({ raw: lines(`Subject: =?utf-8?B?${escape}?=`, "", "x") });
  expect(events).toHaveLength(1);
  expect(events[0]).not.toMatch(/\p{C}/u);
  expect(events[0]).toContain("[2J]0;ownedgnp");
});

test("trouble with the inbox is answered with 451, so that the sender comes back", async () => {
  const closed = openInbox(":memory:");
  closed.close();
  const own = await startSandboxMx({
    inbox: closed,
    clock,
    lookupTxt: async () => ({ kind: "no_name", server: "test" }),
  });
  const refusal = await refused({ port: own.port });
  expect(refusal.response).toStartWith("451 4.3.0 ");
  await own.close();
});

test("a port in use is an error of the start", async () => {
  const starting = startSandboxMx({
    inbox,
    clock,
    port: mx.port,
    lookupTxt: async () => ({ kind: "no_name", server: "test" }),
  });
  await expect(starting).rejects.toMatchObject({ code: "EADDRINUSE" });
});

interface Sending {
  to?: string[];
  raw?: Buffer;
  port?: number;
  ignoreTLS?: boolean;
}

async function send({ to = ["grace@example.com"], raw = MESSAGE, port = mx.port, ignoreTLS = false }: Sending) {
  const transport = createTransport({
    host: "127.0.0.1",
    port,
    ignoreTLS,
    requireTLS: !ignoreTLS,
    tls: { rejectUnauthorized: false },
  });
  try {
    return await transport.sendMail({ envelope: { from: RETURN_PATH, to }, raw });
  } finally {
    transport.close();
  }
}

/** The refusal that a sending meets; a test fails when it meets none. */
async function refused(sending: Sending): Promise<{ responseCode: number; response: string; command: string }> {
  return send(sending).then(
    () => {
      throw new Error("the message was taken");
    },
    (error: unknown) => error as { responseCode: number; response: string; command: string },
  );
}

function eventMatching(pattern: RegExp): Promise<void> {
  if (events.some((line) => pattern.test(line))) return Promise.resolve();
  return new Promise((resolve) => waiters.push({ pattern, resolve }));
}
