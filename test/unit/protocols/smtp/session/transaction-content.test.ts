import { expect, test } from "bun:test";
import { BrokenWire } from "../../../../../src/protocols/smtp/session/connection.ts";
import { prepareContent } from "../../../../../src/protocols/smtp/session/content.ts";
import { type Link, transact } from "../../../../../src/protocols/smtp/session/transaction.ts";
import { DEFAULT_TIMEOUTS, MAX_SESSION_STEP_MS } from "../../../../../src/protocols/smtp/session/timeouts.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";
import { raw, stall } from "../../../../support/fakes/mx.ts";
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

test("a server that stops reading is given up without progress (R13), and with a large message after 2 minutes", async () => {
  for (const [blockMs, end] of [
    [DEFAULT_TIMEOUTS.blockMs, { reason: "it took less than 16 KiB a second for 120 s", isSlow: true }],
    [60_000, { reason: "no progress within 60 s" }],
  ] as const) {
    const clock = fakeClock();
    await withSession(
      { isContentUnread: true },
      async (session) => {
        const result = await runOut(clock, session.send(ENVELOPE, largeContent(16_000_000), nothing));
        expect(result).toEqual({ kind: "broken", stage: "block", isDotSent: false, ...end });
      },
      { clock, timeouts: { ...DEFAULT_TIMEOUTS, blockMs } },
    );
  }
});

/** A server that takes 64 KiB in so many milliseconds, which may change on the way. */
function slowLink(msAt: (bytes: number) => number) {
  let [now, bytes] = [0, 0];
  const reply = (code: number) => ({ code, enhanced: null, lines: [""] });
  const wire = {
    get now() {
      return now;
    },
    assertQuiet: () => undefined,
    ask: () => undefined,
    next: (_: number, to: string) => Promise.resolve(reply(to.endsWith("DATA") ? 354 : 250)),
    write: (chunk: Uint8Array) => void (bytes += chunk.length),
    drained(limitMs: number) {
      const ms = msAt(bytes);
      now += Math.min(ms, limitMs);
      return ms <= limitMs ? Promise.resolve() : Promise.reject(new BrokenWire("no progress"));
    },
    destroy: () => undefined,
    stray: null,
    isQuiet: true,
  };
  const capabilities = { hasPipelining: true, maxSizeBytes: null, hasSmtpUtf8: false, has8BitMime: false };
  const link = { wire, capabilities, timeouts: DEFAULT_TIMEOUTS, isTransactionOpen: false } as unknown as Link;
  return { link, now: () => now };
}

test.each([
  ["at 17 KiB a second all the way", 8, () => 3_760, null],
  ["at 15 KiB a second", 8, () => 4_260, 120_000],
  ["at 15 KiB a second, with a megabyte", 1, () => 4_260, null],
  ["fast, and then not at all", 8, (bytes: number) => (bytes > 4_000_000 ? 1e9 : 0), 120_000],
  ["fast, and then 8 KiB a second", 8, (bytes: number) => (bytes > 4_000_000 ? 8_000 : 0), 120_000],
] as const)("a message that is taken %s", async (_, mib, msAt, slowAfterMs) => {
  const { link, now } = slowLink(msAt);
  const result = await transact(link, ENVELOPE, largeContent(mib * 1_040_000), nothing);
  if (slowAfterMs === null) expect(result).toMatchObject({ kind: "accepted" });
  else expect(result).toMatchObject({ kind: "broken", stage: "block", isDotSent: false, isSlow: true });
  if (slowAfterMs !== null) expect(now()).toBe(slowAfterMs);
});

test("content that was prepared elsewhere goes out as it is, with the size of what was composed", async () => {
  const content = Buffer.from("A: b\r\n\r\n.\r\n..a\r\n");
  const stuffed = prepareContent(content, false);
  expect(stuffed.length).toBe(content.length + 2);
  await withSession({ capabilities: ["SIZE 1000"] }, async (session, mx) => {
    expect(await session.send(ENVELOPE, { stuffed, bytes: content.length }, nothing)).toMatchObject({
      kind: "accepted",
    });
    expect(mx.messages[0]!.content.equals(content)).toBe(true);
    expect(mx.connections[0]!.commands.find((command) => command.startsWith("MAIL"))).toEndWith(
      `SIZE=${content.length}`,
    );
  });
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
  const timeouts = { ...DEFAULT_TIMEOUTS, dotMs: 10 * MAX_SESSION_STEP_MS };
  await withSession(
    { dot: stall },
    async (session) => {
      const startedAt = clock.now();
      const result = await runOut(clock, session.send(ENVELOPE, CONTENT, nothing), 10_000);
      expect(result).toEqual({ kind: "broken", stage: "dot", reason: "the whole took too long", isDotSent: true });
      expect(clock.now() - startedAt).toBeWithin(MAX_SESSION_STEP_MS, MAX_SESSION_STEP_MS + 10_001);
    },
    { clock, timeouts },
  );
});
