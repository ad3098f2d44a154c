import { expect, test } from "bun:test";
import { Dialogue, joinDialogues, parseDialogue } from "../../../../../src/protocols/smtp/session/transcript.ts";
import { makeReply } from "../../../../../src/protocols/smtp/replies/reply.ts";

test("commands and replies stand in their order with the time of each, a line each", () => {
  let now = 1_000;
  const dialogue = new Dialogue(() => now);
  dialogue.received(makeReply(220, ["mx ready"]), false);
  now = 1_031;
  dialogue.sent("EHLO a.test\r\n");
  dialogue.received(makeReply(250, ["mx", "PIPELINING"]), false);
  dialogue.sent("MAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\n");
  expect(dialogue.text()).toBe(
    [
      "0 < 220 mx ready",
      "31 > EHLO a.test",
      "31 < 250-mx",
      "31 < 250 PIPELINING",
      "31 > MAIL FROM:<a@b.test>",
      "31 > RCPT TO:<c@d.test>",
      "31 > DATA",
    ].join("\n"),
  );
});

test("of a session's messages the last is kept, behind its opening, however many there were", () => {
  const dialogue = new Dialogue(() => 0);
  dialogue.received(makeReply(220, ["hello"]), false);
  for (let message = 0; message < 1_000; message += 1) {
    dialogue.beginMessage();
    dialogue.sent(`MAIL FROM:<${message}@a.test>\r\n`);
    dialogue.received(makeReply(250, ["ok"]), false);
  }
  expect(dialogue.text()).toBe("0 < 220 hello\n0 > MAIL FROM:<999@a.test>\n0 < 250 ok");
});

test("of a secret answer there is the code alone", () => {
  const dialogue = new Dialogue(() => 0);
  dialogue.sent("AUTH PLAIN");
  dialogue.received(makeReply(535, ["5.7.8 wrong password hunter2"]), true);
  expect(dialogue.text()).toBe("0 > AUTH PLAIN\n0 < 535 …");
});

test("an attempt keeps so much: its last connections whole, and none is without its name", () => {
  const one = { host: "mx.test", address: "192.0.2.1", text: "0 < 220 hello" };
  expect(joinDialogues([])).toBeNull();
  expect(joinDialogues([one, { ...one, host: "mx2.test", text: "" }])).toBe(
    "= mx.test [192.0.2.1]\n0 < 220 hello\n= mx2.test [192.0.2.1]",
  );
  const long = joinDialogues(
    Array.from({ length: 5 }, (_, index) => ({ ...one, text: `${index} ${"x".repeat(1_000)}` })),
  );
  expect(long?.length).toBeLessThan(2_700);
  expect(long).toContain("\n4 xxx");
  expect(long).toContain("…");
  expect(long).not.toContain("\n1 xxx");
});

test("what was kept is read again line by line, also where it was cut", () => {
  const stored =
    "= mx.test [192.0.2.1]\n-12 < 220 hello\n3 > EHLO a.test\n9 > (TLSv1.3 X, certificate valid)\n9 > MA\n…";
  expect(parseDialogue(stored)).toEqual([
    { ms: null, by: "connect", text: "mx.test [192.0.2.1]" },
    { ms: -12, by: "server", text: "220 hello" },
    { ms: 3, by: "client", text: "EHLO a.test" },
    { ms: 9, by: "note", text: "TLSv1.3 X, certificate valid" },
    { ms: 9, by: "client", text: "MA" },
    { ms: null, by: "note", text: "…" },
  ]);
});
