// What one stranger may ask of the listener: sizes, times and counts.
import { expect, setDefaultTimeout, test } from "bun:test";
import { INBOUND_LIMITS } from "../../../src/modules/inbound-mail/server/limits.ts";
import { turn } from "../../support/db/temporary.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { HOSTNAME, openTalk, OFTEN, startDesk, type Talk, until } from "../../support/inbound/kit.ts";

setDefaultTimeout(60_000);

const MIB = 1024 ** 2;

/** Writes `bytes` in all, as fast as they are taken, until the other side hangs up; how many went out. */
async function pour(talk: Talk, bytes: number, piece: Uint8Array): Promise<number> {
  let sent = 0;
  while (sent < bytes && !talk.isClosed) {
    sent += piece.length;
    if (talk.socket.write(piece)) continue;
    await Promise.race([
      new Promise<void>((resolve) => talk.socket.once("drain", () => resolve())),
      new Promise<void>((resolve) => talk.socket.once("close", () => resolve())),
    ]);
  }
  return sent;
}

const LINES = Buffer.from(`${"a".repeat(76)}\r\n`.repeat(1024));

test("a message of the largest size is taken, one byte more is refused at its end, and at MAIL when it says so", async () => {
  await using desk = await startDesk();
  using talk = await desk.client();
  const body = (bytes: number) => `x\r\n\r\n${"a".repeat(bytes - 7)}\r\n`;
  await talk.message("postmaster");
  talk.write(`${body(2 * MIB)}.\r\n`);
  expect(await talk.reply()).toStartWith("250");
  expect(desk.messages[0]?.bytes.length).toBe(2 * MIB);
  await talk.message("postmaster");
  talk.write(`${body(2 * MIB + 1)}.\r\n`);
  expect(await talk.reply()).toStartWith("552 5.3.4");
  expect(await talk.say(`MAIL FROM:<> SIZE=${2 * MIB + 1}`)).toStartWith("552 5.3.4");
  expect(await talk.say(`MAIL FROM:<> SIZE=${2 * MIB}`)).toStartWith("250");
  expect(desk.counted).toEqual(["message person", "refused too_large"]);
});

test("a message of 100 MB is refused while it streams, and takes no more memory than the largest", async () => {
  await using desk = await startDesk();
  using talk = await desk.client();
  await talk.message("postmaster");
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  talk.write("\r\n");
  const sent = await pour(talk, 100 * MIB, LINES);
  expect(await talk.rest()).toBe("552 5.3.4 The message is too large\r\n");
  expect(sent).toBeLessThan(100 * MIB);
  expect(process.memoryUsage.rss() - before).toBeLessThan(64 * MIB);
  await until("its going", () => desk.inbound.clientCount === 0);
  expect(desk.counted).toEqual(["refused too_large"]);
  using next = await desk.client();
  await next.message("postmaster");
  expect(await next.say("x\r\n.")).toStartWith("250");
});

test("a header without end is refused, in one line or in many", async () => {
  await using desk = await startDesk();
  for (const piece of ["a".repeat(8192), `X-Filler: ${"a".repeat(60)}\r\n`.repeat(100)]) {
    using talk = await desk.client();
    await talk.message("postmaster");
    await pour(talk, MIB, Buffer.from(piece));
    talk.write("\r\n.\r\n");
    expect(await talk.reply()).toBe("554 5.6.0 The message's header is too long\r\n");
  }
  expect(desk.counted).toEqual(["refused header", "refused header"]);
});

test("what is at fault is read on for a while, and then cut", async () => {
  await using desk = await startDesk();
  using talk = await desk.client();
  await talk.message("postmaster");
  talk.write("x\ny\r\n");
  await pour(talk, 100 * MIB, LINES);
  expect(await talk.rest()).toStartWith("554 5.6.0 Lines must end");
});

test("all messages together have a limit, and what is let go makes room", async () => {
  await using desk = await startDesk({ limits: { keptBytes: 17 * MIB } });
  const half = `x\r\n\r\n${"a".repeat(1.5 * MIB)}\r\n`;
  using one = await desk.client();
  using two = await desk.client();
  await one.message("postmaster");
  await two.message("postmaster");
  await writeAndLetRead(one, half);
  two.write(half);
  two.write(".\r\n");
  const first = await two.reply();
  expect(["250", "451"]).toContain(first.slice(0, 3));
  one.write(".\r\n");
  const second = await one.reply();
  expect([first, second].map((reply) => reply.slice(0, 9)).toSorted()[1]).toBe("451 4.3.0");
  await two.message("postmaster");
  two.write(`${half}.\r\n`);
  expect(await two.reply()).toStartWith("250");
});

test("a command line without end is cut, and so is one that only drips", async () => {
  const clock = fakeClock();
  await using desk = await startDesk({ clock });
  using talk = await desk.client();
  await pour(talk, MIB, Buffer.alloc(4096, "a"));
  expect(await talk.rest()).toBe("421 4.4.2 Error: Command line too long\r\n");

  using drips = await desk.client();
  for (let second = 0; second < 50; second += 10) {
    drips.write("E");
    clock.advance(10_000);
  }
  expect(drips.heard).toBe("");
  drips.write("H");
  clock.advance(10_000);
  expect(await drips.rest()).toBe("421 4.4.2 Nothing was said for too long\r\n");
});

test("silence ends a connection: before a command, inside a message, inside a handshake", async () => {
  await using desk = await startDesk({ limits: { silenceMs: 300 } });
  using mute = await desk.client();
  using half = await desk.client();
  await half.message("postmaster");
  half.write("Subject: half a message\r\n");
  using shy = await desk.client();
  await shy.say("EHLO client.test");
  expect(await shy.say("STARTTLS")).toStartWith("220");
  expect(await mute.rest()).toStartWith("421 4.4.2 ");
  expect(await half.rest()).toStartWith("421 4.4.2 ");
  // Between the 220 and the handshake nothing may be said in the clear.
  expect(await shy.rest()).toBe("");
  await until("the going of all", () => desk.inbound.clientCount === 0);
  expect(desk.messages).toEqual([]);
});

test("a message that drips in is over after five minutes, a session after fifteen", async () => {
  const clock = fakeClock();
  await using desk = await startDesk({ clock });
  using drips = await desk.client();
  await drips.message("postmaster");
  for (let second = 0; second < 300; second += 50) {
    drips.write("a");
    expect(drips.heard).toBe("");
    clock.advance(50_000);
  }
  expect(await drips.rest()).toBe("421 4.4.2 This message has taken too long\r\n");

  using talks = await desk.client();
  for (let second = 0; second < 900; second += 50) {
    expect(await talks.say("NOOP")).toStartWith("250");
    clock.advance(50_000);
  }
  expect(await talks.rest()).toBe("421 4.4.2 This session has taken too long\r\n");
});

test("a session whose time is over while its message is kept gets that answer first", async () => {
  const clock = fakeClock();
  const kept = Promise.withResolvers<void>();
  let isReceiving = false;
  await using desk = await startDesk({
    clock,
    limits: { sessionMs: 30_000 },
    receive: async () => {
      isReceiving = true;
      await kept.promise;
    },
  });
  using talk = await desk.client();
  await talk.message("postmaster");
  talk.write("x\r\n.\r\n");
  await until("the message", () => isReceiving);
  clock.advance(40_000);
  kept.resolve();
  expect(await talk.rest()).toBe("250 2.6.0 Taken\r\n421 4.4.2 This session has taken too long\r\n");
});

test("commands, errors and messages of a session are counted", async () => {
  await using desk = await startDesk({ limits: { commands: 30, errors: 8, messages: 2 } });
  using chatty = await desk.client();
  chatty.write("NOOP\r\n".repeat(100));
  // The greeting was the first of the thirty.
  expect((await chatty.rest()).split("\r\n").slice(-3)).toEqual(["250 2.0.0 OK", "421 4.7.0 Too many commands", ""]);
  using guesses = await desk.client();
  await guesses.say("EHLO client.test");
  await guesses.say("MAIL FROM:<>");
  guesses.write("RCPT TO:<maria@example.com>\r\n".repeat(100));
  const said = (await guesses.rest()).split("\r\n");
  expect(said.filter((line) => line.startsWith("550"))).toHaveLength(8);
  expect(said.at(-2)).toBe("421 4.7.0 Too many errors");
  using busy = await desk.client();
  for (let n = 0; n < 2; n++) {
    await busy.message("postmaster");
    await busy.say("x\r\n.");
  }
  expect(await busy.say("MAIL FROM:<>")).toBe("421 4.4.2 Too many messages in one session\r\n");
  expect(await busy.rest()).toBe("");
});

/** The server, which runs in this process, reads it before anything else comes. */
async function writeAndLetRead(talk: Talk, bytes: string): Promise<void> {
  talk.write(bytes);
  await until("it is on its way", () => talk.socket.writableLength === 0);
  await turn(200);
}

/** In `count` different networks of the widest kind. */
const apart = (count: number, from = 1) => Array.from({ length: count }, (_, n) => `127.${from + n}.0.1`);

test("of one address ten clients are let in, and the next are told to come back later", async () => {
  await using desk = await startDesk();
  const talks: Talk[] = [];
  try {
    for (let n = 0; n < 10; n++) talks.push(await desk.client());
    using eleventh = await openTalk(desk.port, { hears: false });
    expect(await eleventh.rest()).toBe(`421 ${HOSTNAME} Too many connections, come back later\r\n`);
    expect(desk.counted).toEqual(["client network"]);
    using neighbour = await desk.client({ localAddress: "127.1.0.1" });
    expect(await neighbour.say("NOOP")).toStartWith("250");
    talks.pop()?.socket.destroy();
    await until("a place", () => desk.inbound.clientCount === 10);
    using next = await desk.client();
    expect(await next.say("NOOP")).toStartWith("250");
  } finally {
    for (const talk of talks) talk.socket.destroy();
  }
});

test("a flood of strangers leaves places, and room for their messages, to those who bring reports", async () => {
  const known = "127.50.0.1";
  await using desk = await startDesk({
    timesHeard: (address) => (address === known ? OFTEN : 0),
    limits: { openBytes: 11 * MIB, keptBytes: 12 * MIB },
  });
  const half = `x\r\n\r\n${"a".repeat(1.5 * MIB)}\r\n`;
  using flooder = await desk.client({ localAddress: "127.60.0.1" });
  using second = await desk.client({ localAddress: "127.61.0.1" });
  for (const talk of [flooder, second]) await talk.message("postmaster");
  await writeAndLetRead(flooder, half);
  second.write(half);
  second.write(".\r\n");
  await second.reply();
  await flooder.say(".");
  expect(desk.counted).toContain("refused no_room");
  await flooder.message("postmaster");
  flooder.write(half);

  const flood = await Promise.all(
    apart(70, 101).map((localAddress) => openTalk(desk.port, { hears: false, localAddress })),
  );
  const greetings = await Promise.all(flood.map((talk) => talk.reply()));
  expect(greetings.filter((greeting) => greeting.startsWith("220 "))).toHaveLength(54);
  expect(desk.inbound.clientCount).toBe(56);
  // Those of its own address, while no other stranger gets in.
  const { address } = desk.sent();
  const bringers = await Promise.all(Array.from({ length: 7 }, () => desk.client({ localAddress: known })));
  for (const bringer of bringers) {
    await bringer.message(address);
    expect(await bringer.say("Subject: bounce\r\n\r\n.")).toStartWith("250");
  }
  const [bringer] = bringers;
  await bringer?.message(address);
  bringer?.write(half);
  expect(await bringer?.say(".")).toStartWith("250");
  for (const talk of [...flood, ...bringers]) talk.socket.destroy();
});

test("500 connections at once cost little memory, all over the cap are told so, and then there is room again", async () => {
  await using desk = await startDesk();
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  const flood = await Promise.all(
    Array.from({ length: 500 }, (_, n) =>
      openTalk(desk.port, { hears: false, localAddress: `127.${1 + (n % 50)}.0.1` }),
    ),
  );
  const greetings = await Promise.all(flood.map((talk) => talk.reply()));
  expect(greetings.filter((greeting) => greeting.startsWith("220 "))).toHaveLength(87);
  expect(greetings.filter((greeting) => greeting.startsWith("421 "))).toHaveLength(413);
  expect(process.memoryUsage.rss() - before).toBeLessThan(64 * MIB);
  for (const talk of flood) talk.socket.destroy();
  await until("room", () => desk.inbound.clientCount === 0);
  using normal = await desk.client();
  await normal.message("postmaster");
  expect(await normal.say("x\r\n.")).toStartWith("250");
});

test("of too many refused clients the last get no words", async () => {
  await using desk = await startDesk({ limits: { clientsOfNetwork: [0], refusedAtOnce: 0 } });
  using talk = await openTalk(desk.port, { hears: false });
  expect(await talk.rest()).toBe("");
  expect(INBOUND_LIMITS.refusedAtOnce).toBeGreaterThan(INBOUND_LIMITS.openClients + INBOUND_LIMITS.keptClients);
});

test("connections that are reset at every stage leave no place taken", async () => {
  await using desk = await startDesk();
  const stages = [
    "",
    "EHLO x\r\n",
    "EHLO x\r\nSTARTTLS\r\n",
    "EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<postmaster>\r\nDATA\r\nx",
  ];
  for (let round = 0; round < 3; round++) {
    for (const stage of stages) {
      const talk = await desk.client();
      talk.write(stage);
      await until("it came in", () => stage === "" || talk.heard !== "");
      talk.socket.resetAndDestroy();
    }
    await until("the going of all", () => desk.inbound.clientCount === 0);
  }
  expect(desk.bugs).toEqual([]);
});
