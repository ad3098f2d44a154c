import { describe, expect, test } from "bun:test";
import { type AttemptEvent, RunningAttempts } from "../../../../../src/modules/emails/delivery/running-attempts.ts";
import { createEmailSource } from "../../../../../src/modules/live/email-source.ts";
import { LiveStreams } from "../../../../../src/modules/live/streams.ts";
import { Changes } from "../../../../../src/platform/db/changes.ts";
import { makeReply } from "../../../../../src/protocols/smtp/replies/reply.ts";
import { Dialogue } from "../../../../../src/protocols/smtp/session/transcript.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";

const TARGET = { host: "mx.test", address: "192.0.2.1", isReused: false };

function start() {
  const clock = fakeClock();
  const attempts = new RunningAttempts(clock);
  const begin = (number = 1) => attempts.begin({ id: 7, attempt: number, startedAt: 1_000 });
  const watch = () => {
    const heard: AttemptEvent[] = [];
    return { heard, stop: attempts.watch(7, (event) => heard.push(event)) };
  };
  return { clock, attempts, begin, watch, newDialogue: () => new Dialogue(() => clock.now()) };
}

function readTexts(heard: AttemptEvent[]): string[] {
  return heard.flatMap((event) =>
    event.kind === "dialogue" ? event.lines.map(({ ms, text }) => `${ms} ${text}`) : [],
  );
}

describe("who watches", () => {
  test("from the beginning and who comes in the middle hear the same lines in the same order", () => {
    const on = start();
    const first = on.watch();
    const attempt = on.begin();
    attempt.note(() => "DNS");
    on.clock.advance(5);
    const dialogue = on.newDialogue();
    attempt.connecting(TARGET, dialogue);
    on.clock.advance(20);
    dialogue.received(makeReply(220, ["hello"]), false);
    const second = on.watch();
    on.clock.advance(1);
    dialogue.sent("EHLO a.test\r\n");
    attempt.broken("no answer to EHLO within 300 s");
    on.attempts.end(attempt, "no answer to EHLO within 300 s");
    const lines = [
      "0 DNS",
      "5 mx.test [192.0.2.1]",
      "25 220 hello",
      "26 EHLO a.test",
      "26 no answer to EHLO within 300 s",
    ];
    for (const { heard } of [first, second]) {
      expect(readTexts(heard)).toEqual(lines);
      expect(heard[0]).toEqual({ kind: "attempt", attempt: 1, startedAt: 1_000 });
      expect(heard.at(-1)).toEqual({ kind: "result", attempt: 1, ms: 26, reason: "no answer to EHLO within 300 s" });
    }
  });

  test("of a session that an earlier message left, its opening has times before the attempt", () => {
    const on = start();
    const dialogue = on.newDialogue();
    dialogue.received(makeReply(220, ["hello"]), false);
    on.clock.advance(3_000);
    const attempt = on.begin();
    const { heard } = on.watch();
    dialogue.beginMessage();
    attempt.connecting({ ...TARGET, isReused: true }, dialogue);
    expect(readTexts(heard)).toEqual([
      "0 mx.test [192.0.2.1], over the session of an earlier message",
      "-3000 220 hello",
    ]);
    expect(dialogue.text(attempt.since)).toBe("-3000 < 220 hello");
  });

  test("who left hears nothing more, and the session's next message is told to nobody", () => {
    const on = start();
    const attempt = on.begin();
    const dialogue = on.newDialogue();
    attempt.connecting(TARGET, dialogue);
    const { heard, stop } = on.watch();
    stop();
    const before = heard.length;
    dialogue.sent("QUIT\r\n");
    on.attempts.end(attempt, null);
    dialogue.sent("MAIL FROM:<a@b.test>\r\n");
    on.begin(2);
    expect(heard).toHaveLength(before);
  });

  test("hears so many lines and no more, whatever a server says, and its end all the same", () => {
    const on = start();
    const { heard } = on.watch();
    const attempt = on.begin();
    for (let nth = 0; nth < 20; nth += 1) {
      const dialogue = on.newDialogue();
      attempt.connecting(TARGET, dialogue);
      dialogue.received(
        makeReply(
          220,
          Array.from({ length: 100 }, () => "x"),
        ),
        false,
      );
    }
    on.attempts.end(attempt, null);
    expect(readTexts(heard)).toHaveLength(150);
    expect(heard.at(-1)).toMatchObject({ kind: "result", reason: null });
  });
});

test("without a watcher no words are made", () => {
  const on = start();
  const attempt = on.begin();
  attempt.note(() => {
    throw new Error("nobody asked");
  });
  on.attempts.end(attempt, null);
});

test("a watcher that takes nothing is dropped, and the attempt goes on", () => {
  const on = start();
  const streams = new LiveStreams(on.clock);
  const now = { status: "sending", nextAttemptAt: null, lastReply: null, failedReason: null };
  const email = { id: 7, uid: "public-id", workspaceId: 1, isErased: false };
  const deps = { changes: new Changes(), attempts: on.attempts, clock: on.clock, findNow: () => now };
  streams.open({ owner: "key 1", mayRead: () => true }, createEmailSource(email, deps));
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const running = on.begin(attempt);
    const dialogue = on.newDialogue();
    running.connecting(TARGET, dialogue);
    dialogue.received(
      makeReply(
        220,
        Array.from({ length: 100 }, () => "x".repeat(300)),
      ),
      false,
    );
    on.attempts.end(running, null);
  }
  expect([streams.count, on.clock.pending]).toEqual([0, 0]);
});
