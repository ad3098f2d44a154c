// SMTP smuggling: whatever another server may take for the end of a message, here only CR LF . CR LF is, and
// a message that holds one of the others is refused as a whole.
import { expect, setDefaultTimeout, test } from "bun:test";
import { type Desk, startDesk, type Talk } from "../../support/inbound/kit.ts";

setDefaultTimeout(30_000);

const SMUGGLED =
  "MAIL FROM:<smuggled@example.com>\r\nRCPT TO:<abuse@mail.pombo.test>\r\nDATA\r\nSubject: smuggled\r\n\r\nx";

/** Everything between "line" and the smuggled commands that may be taken for an end of the message, but is none. */
const FALSE_ENDS = [
  "\n.\n",
  "\n.\r\n",
  "\r\n.\n",
  "\r.\r",
  "\r.\r\n",
  "\r\n.\r",
  "\r.\n",
  "\n.\r",
  "\n\n.\n\n",
  "\r\r.\r\r",
  "\r\n\n.\r\n",
  "\n\r\n.\n",
  "\r\r\n.\r\r\n",
  "\r\n.\r\r\n",
  "\r\n\r.\r\n",
  "\r\n.\0\r\n",
  "\r\n\0.\r\n",
  "\r\n.\n\r\n",
];

async function send(talk: Talk, bytes: string, cuts: number[]): Promise<void> {
  const whole = Buffer.from(bytes, "latin1");
  let from = 0;
  for (const to of [...cuts, whole.length]) {
    if (to <= from) continue;
    talk.write(whole.subarray(from, to));
    from = to;
    // So that each piece arrives as one.
    await new Promise<void>((resolve) => setImmediate(resolve));
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

/** One connection a false end; several messages over it, cut at each place inside the false end and around it. */
async function attack(desk: Desk, falseEnd: string): Promise<string[]> {
  const before = "Subject: outer\r\n\r\nline";
  const message = `${before}${falseEnd}${SMUGGLED}\r\n.\r\n`;
  using talk = await desk.client();
  talk.socket.setNoDelay(true);
  const replies = new Set<string>();
  const cuts = [[], ...Array.from({ length: falseEnd.length + 2 }, (_, n) => [before.length - 1 + n])];
  const bytewise = Array.from({ length: falseEnd.length + 2 }, (_, n) => before.length - 1 + n);
  for (const each of [...cuts, bytewise]) {
    await talk.message("postmaster");
    await send(talk, message, each);
    replies.add(await talk.reply());
    // Nothing else is said: a second transaction would have been answered by now.
    expect(await talk.say("NOOP")).toBe("250 2.0.0 OK\r\n");
  }
  return [...replies];
}

test.each(FALSE_ENDS.map((falseEnd) => [falseEnd]))("%j begins no second message", async (falseEnd) => {
  // Many of the refused messages in one session.
  await using desk = await startDesk({ limits: { errors: 1_000 } });
  const replies = await attack(desk, falseEnd);
  const isPlain = !/(?<!\r)\n|\r(?!\n)/.test(falseEnd);
  expect(replies).toEqual([
    isPlain ? "250 2.6.0 Taken\r\n" : "554 5.6.0 Lines must end with CR LF, and with nothing else\r\n",
  ]);
  const subjects = desk.messages.map(({ bytes }) => /^Subject: (\w+)/.exec(Buffer.from(bytes).toString())?.[1]);
  expect(new Set(subjects)).toEqual(new Set(isPlain ? ["outer"] : []));
  expect(desk.messages.flatMap(({ envelopeFrom }) => (envelopeFrom === "" ? [] : [envelopeFrom]))).toEqual([]);
});

test("a false end right at the beginning of the message ends nothing either", async () => {
  await using desk = await startDesk({ limits: { errors: 1_000 } });
  for (const start of [".\n", ".\r", "\n.\r\n", "\r.\r\n", "\n.\n", ".\0\r\n"]) {
    for (let cut = 0; cut <= start.length; cut++) {
      using talk = await desk.client();
      await talk.message("postmaster");
      await send(talk, `${start}${SMUGGLED}\r\n.\r\n`, [cut]);
      expect([start, cut, (await talk.reply()).slice(0, 3)]).toEqual([
        start,
        cut,
        start.includes("\0") ? "250" : "554",
      ]);
      expect(await talk.say("NOOP")).toBe("250 2.0.0 OK\r\n");
    }
  }
  expect(desk.messages.every(({ destinations }) => destinations[0]?.kind === "person")).toBe(true);
  expect(desk.messages.map(({ envelopeFrom }) => envelopeFrom).join("")).toBe("");
});

test("doubled dots are one, and a line of one doubled dot ends nothing, wherever it is cut", async () => {
  await using desk = await startDesk();
  const sent = "..\r\n...\r\n..x\r\n..\r\n.\r\n";
  using talk = await desk.client();
  talk.socket.setNoDelay(true);
  for (let cut = 0; cut < sent.length; cut++) {
    await talk.message("postmaster");
    await send(talk, sent, [cut]);
    expect([cut, await talk.reply()]).toEqual([cut, "250 2.6.0 Taken\r\n"]);
  }
  const kept = new Set(desk.messages.map(({ bytes }) => Buffer.from(bytes).toString()));
  expect([...kept]).toEqual([".\r\n..\r\n.x\r\n.\r\n"]);
});

test("an empty message is one, and what follows its end is a command", async () => {
  await using desk = await startDesk();
  using talk = await desk.client();
  await talk.message("postmaster");
  talk.write(".\r\nNOOP\r\n");
  expect(await talk.reply()).toStartWith("250 2.6.0");
  expect(await talk.reply()).toStartWith("250 2.0.0");
  expect(desk.messages.map(({ bytes }) => bytes.length)).toEqual([0]);
});
