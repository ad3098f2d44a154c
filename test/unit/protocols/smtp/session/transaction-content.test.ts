import { expect, test } from "bun:test";
import { DEFAULT_TIMEOUTS, MAX_SESSION_STEP_MS } from "../../../../../src/protocols/smtp/session/timeouts.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";
import { raw } from "../../../../support/fakes/mx.ts";
import { CONTENT, ENVELOPE, largeContent, runOut, withSession } from "../../../../support/smtp/helpers.ts";

const nothing = async () => {};

test("an address that could carry a command is refused before anything is sent", async () => {
  const hostile = [
    "a@b.example>\r\nRCPT TO:<z@z.example",
    "a@b.example\r\nDATA",
    "a@b.example\n",
    "a b@c.example",
    "<a@b.example>",
    "a>b@c.example",
    "a@b.example SIZE=1",
    "a@b.example\u2028x",
    "a\u0000@b.example",
    "",
    "nobody",
    '"a\r\nb"@c.example',
    '"a"b"@c.example',
    "josé@example.net",
  ];
  await withSession({}, async (session, mx) => {
    for (const address of hostile) {
      await expect(session.send({ ...ENVELOPE, to: address }, CONTENT, nothing)).rejects.toThrow();
      await expect(session.send({ ...ENVELOPE, from: address }, CONTENT, nothing)).rejects.toThrow();
    }
    expect(session.isUsable).toBe(true);
    expect(await session.send({ ...ENVELOPE, to: '"a b>"@c.example' }, CONTENT, nothing)).toMatchObject({
      kind: "accepted",
    });
    expect(mx.connections[0]!.commands.filter((command) => command.startsWith("MAIL"))).toHaveLength(1);
  });
});

test("content that could end itself is refused before anything is sent (R23)", async () => {
  await withSession({}, async (session, mx) => {
    for (const end of ["\n.\n", "\r.\r", "\r\n.\n", "\n.\r\n"]) {
      await expect(session.send(ENVELOPE, Buffer.from(`a${end}b\r\n`), nothing)).rejects.toThrow("bare");
    }
    expect(mx.connections[0]!.commands).toHaveLength(1);
    expect(session.isUsable).toBe(true);
  });
});

test("lines of dots arrive as they were composed, in one write or in many (R23)", async () => {
  const small = Buffer.from("A: b\r\n\r\n.\r\n..\r\n.a\r\n...\r\nx.\r\n\r\n.\r\n");
  const large = Buffer.concat(Array<Buffer>(20_000).fill(small.subarray(8)));
  await withSession({}, async (session, mx) => {
    for (const content of [small, large]) {
      expect(await session.send(ENVELOPE, content, nothing)).toMatchObject({ kind: "accepted" });
      expect(mx.messages.at(-1)!.content.equals(content)).toBe(true);
    }
    expect(mx.messages).toHaveLength(2);
  });
});

for (const [name, content] of [
  ["small", CONTENT],
  ["large", largeContent(300_000)],
] as const) {
  test(`${name} content: the dot waits for beforeDot (rule 2 of §2.3)`, async () => {
    const recorded = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    await withSession({}, async (session, mx) => {
      const sending = session.send(ENVELOPE, content, () => (asked.resolve(), recorded.promise));
      await asked.promise;
      if (name === "large") await mx.until(() => mx.connections[0]!.bytes.length > content.length);
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      expect(mx.messages).toHaveLength(0);
      expect(mx.connections[0]!.bytes.toString()).not.toContain("\r\n.\r\n");
      recorded.resolve();
      expect(await sending).toMatchObject({ kind: "accepted" });
      expect(mx.messages[0]!.content.equals(content)).toBe(true);
    });
  });

  test(`${name} content: when beforeDot fails the connection closes without the dot`, async () => {
    for (const fails of [
      () => Promise.reject(new Error("disk full")),
      () => {
        throw new Error("disk full");
      },
    ]) {
      await withSession({}, async (session, mx) => {
        const result = await session.send(ENVELOPE, content, fails);
        expect(result).toEqual({
          kind: "broken",
          stage: "block",
          reason: "the attempt could not be recorded: disk full",
          isDotSent: false,
        });
        expect(session.isUsable).toBe(false);
        await mx.until(() => mx.connections[0]!.isClosed);
        expect(mx.messages).toHaveLength(0);
      });
    }
  });
}

test("a connection dropped within the content is broken before the dot", async () => {
  await withSession({ dropInContentAfter: 100_000 }, async (session, mx) => {
    const result = await session.send(ENVELOPE, largeContent(16_000_000), nothing);
    expect(result).toMatchObject({ kind: "broken", stage: "block", isDotSent: false });
    expect(mx.messages).toHaveLength(0);
  });
});

test("a server that stops reading is given up after 3 minutes without progress (R13)", async () => {
  const clock = fakeClock();
  await withSession(
    { isContentUnread: true },
    async (session) => {
      const result = await runOut(clock, session.send(ENVELOPE, largeContent(16_000_000), nothing));
      expect(result).toEqual({ kind: "broken", stage: "block", reason: "no progress within 180 s", isDotSent: false });
    },
    { clock },
  );
});

test("a refusal in the middle of the content is taken as one, and the dot is not sent", async () => {
  const held = Promise.withResolvers<void>();
  await withSession({ content: "552 5.3.4 Too much" }, async (session, mx) => {
    const sending = session.send(ENVELOPE, largeContent(100_000), () => held.promise);
    await mx.until(() => mx.connections[0]!.isClosed);
    held.resolve();
    expect(await sending).toMatchObject({ kind: "refused", stage: "block", reply: { code: 552 }, isReusable: false });
    expect(mx.messages).toHaveLength(0);
  });
});

test("a 250 before the dot is no acceptance", async () => {
  const held = Promise.withResolvers<void>();
  await withSession({ data: raw("354 Go on\r\n250 2.0.0 Queued\r\n") }, async (session, mx) => {
    held.resolve();
    expect(await session.send(ENVELOPE, CONTENT, () => held.promise)).toMatchObject({
      kind: "broken",
      isDotSent: false,
    });
    expect(mx.messages).toHaveLength(0);
  });
});

test("the whole of one message has a limit of its own, however long each step may take (R13)", async () => {
  const clock = fakeClock();
  const timeouts = { ...DEFAULT_TIMEOUTS, blockMs: 10 * MAX_SESSION_STEP_MS };
  await withSession(
    { isContentUnread: true },
    async (session) => {
      const startedAt = clock.now();
      const result = await runOut(clock, session.send(ENVELOPE, largeContent(16_000_000), nothing), 10_000);
      expect(result).toEqual({ kind: "broken", stage: "block", reason: "the whole took too long", isDotSent: false });
      expect(clock.now() - startedAt).toBeWithin(MAX_SESSION_STEP_MS, MAX_SESSION_STEP_MS + 10_001);
    },
    { clock, timeouts },
  );
});
