// What one client may ask of the ports: places, time, room and patience.

import type { Submission } from "../../../src/modules/emails/submitted/accept.ts";
import { connect } from "node:net";
import { StorageError } from "../../../src/platform/db/storage-error.ts";
import { ThreadGone } from "../../../src/platform/worker-threads/worker-thread.ts";
import { readSubmitted } from "../../../src/modules/emails/submitted/read-submitted.ts";
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { turn } from "../../support/db/temporary.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { openTalk, type Talk, until } from "../../support/inbound/kit.ts";
import { KEY, OTHER_KEY, startSubmissionDesk, type SubmissionDesk } from "../../support/submission/desk.ts";
import { openSecure, passUntil } from "../../support/submission/kit.ts";
import { beginData, message, passwordOf } from "../../support/submission/wire.ts";

setDefaultTimeout(60_000);

const MIB = 1024 * 1024;
const [SECOND, MINUTE] = [1_000, 60_000];

async function open(desk: SubmissionDesk, key = KEY): Promise<Talk> {
  const talk = await openSecure(desk.port);
  expect(await talk.say(`AUTH PLAIN ${passwordOf(key)}`)).toStartWith("235 ");
  return talk;
}

const closeAll = (talks: Talk[]) => talks.forEach(({ socket }) => socket.destroy());

describe("places", () => {
  test("of one address are max_clients_per_address, and one that went leaves its place", async () => {
    await using desk = await startSubmissionDesk({ limits: { clients: 10, clientsPerAddress: 2 } });
    const talks = [await open(desk), await open(desk)];
    const refused = async () => {
      using talk = await openTalk(desk.port, { hears: false });
      return await talk.rest();
    };
    const words = "421 4.7.0 Too many connections from your address, come back later\r\n";
    expect(await refused()).toBe(words);
    using other = await openTalk(desk.port, { localAddress: "127.1.0.2" });
    expect(await other.say("NOOP")).toStartWith("250 ");
    talks[0]?.socket.destroy();
    await until("its going", () => desk.server.clientCount === 2);
    talks.push(await open(desk));
    expect(await refused()).toBe(words);
    closeAll(talks);
  });

  test("taken by a crowd without a password are given to one who comes later: the oldest of them goes", async () => {
    await using desk = await startSubmissionDesk({ limits: { clients: 4, clientsPerAddress: 4 } });
    using known = await open(desk);
    const crowd: Talk[] = [];
    for (let n = 0; n < 3; n += 1) crowd.push(await openTalk(desk.port));
    using late = await openTalk(desk.port, { localAddress: "127.1.0.2" });
    expect(await crowd[0]?.rest()).toBe("421 4.7.0 Authenticate sooner: others wait for this place\r\n");
    expect(await late.say("NOOP")).toStartWith("250 ");
    expect(await crowd[1]?.say("NOOP")).toStartWith("250 ");
    await handOver(known);
    closeAll(crowd);
  });

  test("taken by those who have authenticated stay theirs", async () => {
    await using desk = await startSubmissionDesk({ limits: { clients: 2, clientsPerAddress: 4 } });
    const talks = [await open(desk), await open(desk)];
    using late = await openTalk(desk.port, { hears: false });
    expect(await late.rest()).toBe("421 4.3.2 Too many connections, come back later\r\n");
    for (const talk of talks) await handOver(talk);
    closeAll(talks);
  });

  test("a crowd of five hundred that says nothing leaves none of them taken in the end", async () => {
    const clock = fakeClock();
    await using desk = await startSubmissionDesk({ clock, limits: { clients: 20, clientsPerAddress: 600 } });
    const crowd = await Promise.all(Array.from({ length: 500 }, () => openTalk(desk.port, { hears: false })));
    using known = await open(desk);
    await handOver(known);
    await passUntil(clock, "the going of the crowd", () => crowd.every(({ isClosed }) => isClosed), SECOND);
    await until("their places", () => desk.server.clientCount === 1);
    expect(desk.bugs).toEqual([]);
    closeAll(crowd);
  });
});

test("a crowd larger than what may be on its way out is turned away", async () => {
  const limits = { clients: 20, clientsPerAddress: 600, refusedAtOnce: 30 };
  await using desk = await startSubmissionDesk({ clock: fakeClock(), limits });
  // They never close, whatever they are told.
  const crowd = Array.from({ length: 200 }, () => connect({ port: desk.port, host: "127.0.0.1", allowHalfOpen: true }));
  for (const each of crowd) each.on("error", () => undefined);
  await until("the crowd", () => desk.server.clientCount >= 50);
  await turn(200);
  expect(desk.server.clientCount).toBe(50);
  for (const each of crowd) each.destroy();
});

test("where not even the workspace can be read, each command has its reply, and the session goes on", async () => {
  let isBroken = false;
  const standing = { uid: "w", blockedAt: null, blockReason: null, rateBlockedAt: null, rateBlockReason: null };
  const broken = () => {
    throw new StorageError(new Error("disk I/O error"));
  };
  await using desk = await startSubmissionDesk({
    workspaces: { byId: () => (isBroken ? broken() : standing) },
    accept: () =>
      isBroken ? Promise.reject(new StorageError(new Error("disk I/O error"))) : Promise.resolve({ id: "1", count: 1 }),
  });
  using talk = await open(desk);
  await beginData(talk);
  isBroken = true;
  talk.write(`${message()}.\r\n`);
  expect(await talk.reply()).toStartWith("452 4.3.1 ");
  expect(await talk.say("MAIL FROM:<>")).toStartWith("452 4.3.1 ");
  isBroken = false;
  await handOver(talk);
  expect(desk.bugs).toEqual([]);
});

test("what fails is temporary, says whether it is the disk, and only faults of ours are in the log", async () => {
  let fault: Error = new StorageError(new Error("disk I/O error"));
  let isReading = false;
  await using desk = await startSubmissionDesk({
    suppressions: {
      reasonFor: () => {
        if (!isReading) return null;
        throw fault;
      },
    },
    read: (submitted) =>
      fault instanceof ThreadGone ? Promise.reject(fault) : Promise.resolve(readSubmitted({ submitted })),
    accept: () => Promise.reject(fault),
  });
  using talk = await open(desk);
  const answers: string[] = [];
  const bug = new TypeError("a fault of ours");
  for (const each of [fault, new ThreadGone("gone", true), bug]) {
    fault = each;
    isReading = false;
    await beginData(talk);
    talk.write(`${message()}.\r\n`);
    answers.push((await talk.reply()).slice(0, 9));
    isReading = true;
    await talk.say("MAIL FROM:<>");
    answers.push((await talk.say("RCPT TO:<maria@example.com>")).slice(0, 9));
    await talk.say("RSET");
  }
  expect(answers).toEqual(["452 4.3.1", "452 4.3.1", "451 4.3.0", "451 4.3.0", "451 4.3.0", "451 4.3.0"]);
  expect(desk.bugs.filter((each) => (each as { error: unknown }).error === bug)).toHaveLength(2);
});

test("a client that never begins or ends its TLS handshake loses its place after two minutes", async () => {
  const clock = fakeClock();
  await using desk = await startSubmissionDesk({ clock });
  const silent = await openTalk(desk.tlsPort, { hears: false });
  const half = await openTalk(desk.tlsPort, { hears: false });
  half.write(Buffer.from("\x16\x03\x01\x02\x00", "latin1"));
  const upgrading = await openTalk(desk.port);
  await upgrading.say("EHLO client.test");
  expect(await upgrading.say("STARTTLS")).toStartWith("220 ");
  const talks = [silent, half, upgrading];
  await until("their coming", () => desk.server.clientCount === 3);
  clock.advance(2 * MINUTE - 1);
  await turn(20);
  expect(talks.map(({ isClosed }) => isClosed)).toEqual([false, false, false]);
  await passUntil(clock, "their going", () => desk.server.clientCount === 0, SECOND);
  await until("the end", () => talks.every(({ isClosed }) => isClosed));
  expect(desk.bugs).toEqual([]);
  closeAll(talks);
});

/** The desk numbers what it accepts. */
async function handOver(talk: Talk, octets = message()): Promise<void> {
  await beginData(talk);
  talk.write(Buffer.from(`${octets}.\r\n`, "latin1"));
  expect(await talk.reply()).toMatch(/^250 2\.0\.0 Accepted: /);
}

describe("time", () => {
  test("two minutes for a password, five of silence after it", async () => {
    const clock = fakeClock();
    await using desk = await startSubmissionDesk({ clock });
    using stranger = await openSecure(desk.port);
    using known = await open(desk);
    clock.advance(2 * MINUTE);
    expect(await stranger.rest()).toBe("421 4.4.2 This session has taken too long\r\n");
    expect(await known.say("NOOP")).toStartWith("250 ");
    clock.advance(5 * MINUTE - 1);
    expect(await known.say("NOOP")).toStartWith("250 ");
    // A command that drips in is no command.
    known.write("NOO");
    clock.advance(5 * MINUTE);
    expect(await known.rest()).toBe("421 4.4.2 Nothing was said for too long\r\n");
  });

  test("a session may last for days while it says something", async () => {
    const clock = fakeClock();
    await using desk = await startSubmissionDesk({ clock });
    using talk = await open(desk);
    for (let n = 0; n < 500; n += 1) {
      clock.advance(4 * MINUTE);
      expect(await talk.say("NOOP")).toStartWith("250 ");
    }
    await handOver(talk);
  });

  test("a sender of one byte a second ends after five minutes, one that is slow but goes on does not", async () => {
    const clock = fakeClock();
    await using desk = await startSubmissionDesk({ clock });
    using slow = await open(desk);
    await beginData(slow);
    let sent = 0;
    for (; sent < 300 && !slow.isClosed; sent += 1) {
      slow.write("y");
      clock.advance(SECOND);
      await turn();
    }
    expect(await slow.rest()).toBe("421 4.4.2 This message has taken too long\r\n");
    using steady = await open(desk);
    await beginData(steady);
    const before = message();
    steady.write(before);
    for (let n = 0; n < 8; n += 1) {
      const seen = desk.server.clientCount;
      steady.write(`${"z".repeat(76)}\r\n`.repeat(4_000));
      await passUntilRead(steady);
      clock.advance(4 * MINUTE);
      expect([n, steady.heard, seen]).toEqual([n, "", 1]);
    }
    steady.write(".\r\n");
    expect(await steady.reply()).toStartWith("250 2.0.0 ");
    expect(desk.bugs).toEqual([]);
  });

  test("keeping that takes over two minutes is answered 451, and the session goes on", async () => {
    const clock = fakeClock();
    const kept = Promise.withResolvers<{ id: string; count: number }>();
    let given: Submission | null = null;
    await using desk = await startSubmissionDesk({
      clock,
      accept: (submission) => {
        given = submission;
        return kept.promise;
      },
    });
    using talk = await open(desk);
    await beginData(talk);
    talk.write(`${message()}.\r\n`);
    await until("the message", () => given !== null);
    const isAwaited = () => given?.isAwaited();
    expect(isAwaited()).toBe(true);
    clock.advance(2 * MINUTE);
    expect(await talk.reply()).toStartWith("451 4.3.0 ");
    // It comes again, and must not be written now.
    expect(isAwaited()).toBe(false);
    kept.resolve({ id: "1", count: 1 });
    await handOver(talk);
  });
});

/** What was written has left, and the other side has had turns to read it. */
async function passUntilRead(talk: Talk): Promise<void> {
  await until("the writing", () => talk.socket.writableLength === 0);
  await turn(50);
}

describe("room", () => {
  const large = message({}, `${"y".repeat(76)}\r\n`.repeat(4_000));

  test("a message that finds none waits for thirty seconds, then is 452; small ones pass", async () => {
    const clock = fakeClock();
    await using desk = await startSubmissionDesk({ clock, inFlightBytes: 20 * MIB });
    using first = await open(desk);
    await beginData(first);
    first.write(large);
    using second = await open(desk);
    await beginData(second);
    second.write(`${large}.\r\n`);
    using small = await open(desk, OTHER_KEY);
    await handOver(small);
    await until("the waiting", () => second.socket.writableLength === 0);
    clock.advance(30 * SECOND - 1);
    await turn(20);
    expect(second.heard).toBe("");
    clock.advance(1);
    expect(await second.reply()).toBe("452 4.3.1 Too many large messages come in now: come back in a moment\r\n");
    first.write(".\r\n");
    expect(await first.reply()).toStartWith("250 ");
    await handOver(second, large);
    expect(desk.bugs).toEqual([]);
  });

  test("is given back by a client that goes, and the next one gets it", async () => {
    const clock = fakeClock();
    await using desk = await startSubmissionDesk({ clock, inFlightBytes: 20 * MIB });
    const first = await open(desk);
    await beginData(first);
    first.write(large);
    await passUntilRead(first);
    using second = await open(desk);
    await beginData(second);
    second.write(`${large}.\r\n`);
    await passUntilRead(second);
    expect(second.heard).toBe("");
    first.socket.destroy();
    expect(await second.reply()).toStartWith("250 ");
    expect(desk.submissions).toHaveLength(1);
  });

  test("is what SIZE said, so that many of a megabyte come in at once", async () => {
    const clock = fakeClock();
    await using desk = await startSubmissionDesk({ clock, inFlightBytes: 20 * MIB });
    const talks = await Promise.all(Array.from({ length: 10 }, () => open(desk)));
    for (const talk of talks) {
      await beginData(talk, undefined, ` SIZE=${large.length}`);
      talk.write(large);
    }
    for (const talk of talks) {
      talk.write(".\r\n");
      expect(await talk.reply()).toStartWith("250 ");
    }
    closeAll(talks);
  });

  test("of a message that was read into memory is the message whole, wherever blocks end", async () => {
    await using desk = await startSubmissionDesk();
    using talk = await open(desk);
    const pieces: string[] = [];
    const line = (n: number) => `${String(n).padStart(76, "0")}\r\n`;
    for (let n = 0; pieces.length * 78 < 3 * MIB; n += 1) pieces.push(line(n));
    await handOver(talk, message({}, pieces.join("")));
    const [submission] = desk.submissions;
    expect(submission?.message.body.bytes).toBe(pieces.length * 78);
    const body = Bun.zstdDecompressSync(submission?.message.body.stored ?? new Uint8Array());
    expect(Buffer.from(body).toString() === pieces.join("")).toBe(true);
  });
});

test("a session of 1,000 messages, one in five with a recipient that is refused, goes on to its end", async () => {
  await using desk = await startSubmissionDesk();
  using talk = await open(desk);
  for (let n = 0; n < 1_000; n += 1) {
    const hasRefused = n % 5 === 0;
    talk.write(`MAIL FROM:<>\r\nRCPT TO:<r${n}@example.com>\r\n${hasRefused ? "RCPT TO:<none>\r\n" : ""}DATA\r\n`);
    for (const code of ["250", "250", ...(hasRefused ? ["553"] : []), "354"])
      expect([n, (await talk.reply()).slice(0, 3)]).toEqual([n, code]);
    talk.write(`${message({}, `${n}\r\n`)}.\r\n`);
    expect(await talk.reply()).toBe(`250 2.0.0 Accepted: ${n + 1}\r\n`);
  }
  expect(await talk.say("QUIT")).toStartWith("221 ");
  expect([desk.submissions.length, desk.bugs]).toEqual([1_000, []]);
});
