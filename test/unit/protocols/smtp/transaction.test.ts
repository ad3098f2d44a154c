import { expect, test } from "bun:test";
import { fakeClock } from "../../../support/fakes/clock.ts";
import { drop, raw, sayThenDrop, stall, type MxScript } from "../../../support/fakes/mx.ts";
import { CONTENT, ENVELOPE, runOut, withSession } from "../../../support/smtp/helpers.ts";

const nothing = async () => {};
const WITHOUT_PIPELINING = ["SIZE 52428800", "8BITMIME"];
const MODES: [name: string, script: MxScript][] = [
  ["pipelined", {}],
  ["one by one", { capabilities: WITHOUT_PIPELINING }],
];

test("MAIL, RCPT and DATA go in one write where PIPELINING is offered, and SIZE is announced (R18, R19)", async () => {
  const arrivals: number[] = [];
  await withSession(
    { mail: (_command, connection) => (arrivals.push(connection.bytes.length), "250 Ok") },
    async (session, mx) => {
      const result = await session.send(ENVELOPE, CONTENT, nothing);
      expect(result).toMatchObject({ kind: "accepted", isReusable: true, reply: { code: 250, enhanced: "2.0.0" } });
      const group = `MAIL FROM:<sender@example.com> SIZE=${CONTENT.length}\r\nRCPT TO:<someone@example.net>\r\nDATA\r\n`;
      expect(mx.connections[0]!.bytes.toString()).toBe(`EHLO pombo.example.com\r\n${group}${CONTENT.toString()}.\r\n`);
      expect(arrivals[0]).toBe(`EHLO pombo.example.com\r\n${group}`.length);
    },
  );
});

test("without PIPELINING every command waits for the answer to the one before (R18)", async () => {
  const seen: number[] = [];
  const count: MxScript["mail"] = (_command, connection) => (
    seen.push(connection.bytes.toString().split("\r\n").length),
    "250 Ok"
  );
  await withSession({ capabilities: WITHOUT_PIPELINING, mail: count, rcpt: count }, async (session) => {
    expect(await session.send(ENVELOPE, CONTENT, nothing)).toMatchObject({ kind: "accepted" });
    expect(seen).toEqual([3, 4]);
  });
});

for (const [mode, script] of MODES) {
  for (const stage of ["mail", "rcpt", "data", "dot"] as const) {
    for (const code of [450, 550]) {
      test(`${mode}: a ${code} to ${stage} is a refusal there, and the session serves the next message (R30)`, async () => {
        let isFirst = true;
        const step: MxScript["mail"] = () => {
          if (!isFirst) return stage === "data" ? "354 Go on" : "250 2.0.0 Ok";
          isFirst = false;
          return `${code} ${Math.floor(code / 100)}.7.1 No`;
        };
        await withSession({ ...script, [stage]: step }, async (session, mx) => {
          const first = await session.send(ENVELOPE, CONTENT, nothing);
          expect(first).toMatchObject({
            kind: "refused",
            stage,
            reply: { code },
            isReusable: true,
            envelopeReached: true,
          });
          expect(mx.messages).toHaveLength(stage === "dot" ? 1 : 0);
          expect(session.isUsable).toBe(true);
          expect(await session.send(ENVELOPE, CONTENT, nothing)).toMatchObject({ kind: "accepted" });
          const resets = mx.connections[0]!.commands.filter((command) => command === "RSET").length;
          expect(resets).toBe(stage === "rcpt" || stage === "data" ? 1 : 0);
        });
      });
    }

    test(`${mode}: a 421 to ${stage} closes the session (R25)`, async () => {
      await withSession({ ...script, [stage]: "421 4.3.2 Closing" }, async (session, mx) => {
        const result = await session.send(ENVELOPE, CONTENT, nothing);
        expect(result).toMatchObject({ kind: "refused", stage, reply: { code: 421 }, isReusable: false });
        expect(session.isUsable).toBe(false);
        await mx.until(() => mx.connections[0]!.isClosed);
      });
    });

    test(`${mode}: a connection dropped at ${stage} is broken there; only after the dot the outcome is unknown (R28)`, async () => {
      await withSession({ ...script, [stage]: drop() }, async (session) => {
        const result = await session.send(ENVELOPE, CONTENT, nothing);
        expect(result).toMatchObject({ kind: "broken", stage, isDotSent: stage === "dot" });
        expect(session.isUsable).toBe(false);
      });
    });

    test(`${mode}: a stalled answer to ${stage} is given up after its own time (R13)`, async () => {
      const clock = fakeClock();
      await withSession(
        { ...script, [stage]: stall() },
        async (session) => {
          const limitS = { mail: 300, rcpt: 300, data: 120, dot: 600 }[stage];
          const startedAt = clock.now();
          const result = await runOut(clock, session.send(ENVELOPE, CONTENT, nothing));
          const name = stage === "dot" ? "the dot" : stage.toUpperCase();
          expect(result).toEqual({
            kind: "broken",
            stage,
            reason: `no answer to ${name} within ${limitS} s`,
            isDotSent: stage === "dot",
          });
          expect(clock.now() - startedAt).toBeWithin(limitS * 1_000, limitS * 1_000 + 2_001);
          expect(clock.pending).toBe(0);
        },
        { clock },
      );
    });
  }

  test(`${mode}: 503 is a desync and drops the connection (R27)`, async () => {
    await withSession({ ...script, mail: "503 5.5.1 Bad sequence" }, async (session) => {
      expect(await session.send(ENVELOPE, CONTENT, nothing)).toMatchObject({
        kind: "refused",
        stage: "mail",
        isReusable: false,
      });
      expect(session.isUsable).toBe(false);
    });
  });

  test(`${mode}: a stray 2xx or 3xx breaks the session (R27)`, async () => {
    for (const [stage, reply] of [
      ["mail", "354 Go on"],
      ["rcpt", "354 Go on"],
      ["data", "250 Ok"],
      ["dot", "354 Go on"],
    ] as const) {
      await withSession({ ...script, [stage]: reply }, async (session, mx) => {
        expect(await session.send(ENVELOPE, CONTENT, nothing)).toMatchObject({
          kind: "broken",
          stage,
          isDotSent: stage === "dot",
        });
        expect(session.isUsable).toBe(false);
        expect(mx.messages).toHaveLength(stage === "dot" ? 1 : 0);
      });
    }
  });
}

test("RCPT refused but DATA answered with 354: a lone dot goes out and never the message (R18)", async () => {
  let isBegun = false;
  await withSession(
    { rcpt: "550 5.1.1 No such user", data: "354 Go on", dot: "554 5.5.1 No recipients" },
    async (session, mx) => {
      const result = await session.send(ENVELOPE, CONTENT, async () => void (isBegun = true));
      expect(result).toMatchObject({ kind: "refused", stage: "rcpt", reply: { code: 550 }, isReusable: true });
      expect(isBegun).toBe(false);
      expect(mx.messages).toHaveLength(1);
      expect(mx.messages[0]!.stuffed).toHaveLength(0);
      expect(mx.connections[0]!.bytes.toString()).not.toContain("Hello");
      mx.script = {};
      expect(await session.send(ENVELOPE, CONTENT, nothing)).toMatchObject({ kind: "accepted" });
      expect(mx.connections[0]!.commands).not.toContain("RSET");
      expect(mx.messages[1]!.content).toEqual(CONTENT);
    },
  );
});

test("a refusal stands even if the connection is lost right after it (R18)", async () => {
  await withSession({ mail: sayThenDrop("550 5.7.1 Go away") }, async (session) => {
    expect(await session.send(ENVELOPE, CONTENT, nothing)).toMatchObject({
      kind: "refused",
      stage: "mail",
      reply: { code: 550 },
      isReusable: false,
    });
  });
});

test("after a 421 nothing more is waited for (R25)", async () => {
  await withSession({ mail: "421 4.3.2 Closing", rcpt: stall() }, async (session) => {
    expect(await session.send(ENVELOPE, CONTENT, nothing)).toMatchObject({
      kind: "refused",
      stage: "mail",
      reply: { code: 421 },
    });
  });
});

test("an acceptance with a close or rubbish in the same breath is an acceptance, and the session is over", async () => {
  for (const after of ["421 4.4.2 Closing", "not a reply at all", "x".repeat(5_000)]) {
    await withSession({ dot: raw(`250 2.0.0 Queued\r\n${after}\r\n`) }, async (session) => {
      expect(await session.send(ENVELOPE, CONTENT, nothing)).toMatchObject({ kind: "accepted", isReusable: false });
      expect(session.isUsable).toBe(false);
    });
  }
});

test("an acceptance stands even if the connection is lost right after it", async () => {
  await withSession({ dot: sayThenDrop("250 2.0.0 Queued") }, async (session, mx) => {
    expect(await session.send(ENVELOPE, CONTENT, nothing)).toMatchObject({ kind: "accepted" });
    await mx.until(() => mx.connections[0]!.isClosed);
  });
});

test("a message over the server's limit is refused here, in our words, without sending (R19)", async () => {
  await withSession({ capabilities: ["SIZE 20"] }, async (session, mx) => {
    const result = await session.send(ENVELOPE, CONTENT, nothing);
    expect(result).toMatchObject({
      kind: "unfit",
      stage: "mail",
      enhanced: "5.3.4",
      reason: `the message has ${CONTENT.length} bytes and the server takes 20`,
    });
    expect(mx.connections[0]!.commands).toEqual(["EHLO pombo.example.com"]);
  });
  for (const size of ["SIZE 0", "SIZE", "SIZE 25"]) {
    await withSession({ capabilities: [size] }, async (session) => {
      expect(await session.send(ENVELOPE, CONTENT, nothing)).toMatchObject({ kind: "accepted" });
    });
  }
});

test("SMTPUTF8 is asked for when needed, and its absence is refused here (R21)", async () => {
  const envelope = { ...ENVELOPE, to: "josé@example.net", needsSmtpUtf8: true };
  await withSession({}, async (session, mx) => {
    expect(await session.send(envelope, CONTENT, nothing)).toMatchObject({ kind: "accepted" });
    expect(mx.connections[0]!.commands[1]).toEndWith(" SMTPUTF8 BODY=8BITMIME");
    expect(mx.messages[0]!.to).toEqual(["josé@example.net"]);
  });
  await withSession({ capabilities: [] }, async (session, mx) => {
    expect(await session.send(envelope, CONTENT, nothing)).toMatchObject({
      kind: "unfit",
      enhanced: "5.6.7",
      reason: "an address needs SMTPUTF8 and the server does not offer it",
    });
    expect(mx.connections[0]!.commands).toHaveLength(1);
  });
});

test("one session carries many messages, straight from 250 to MAIL (R30)", async () => {
  await withSession({}, async (session, mx) => {
    for (let count = 0; count < 50; count++)
      expect(await session.send(ENVELOPE, CONTENT, nothing)).toMatchObject({ kind: "accepted", isReusable: true });
    expect(mx.connections).toHaveLength(1);
    expect(mx.messages).toHaveLength(50);
    expect(mx.connections[0]!.commands).not.toContain("RSET");
  });
});

test("a refused RSET ends the session, and a 421 to it is a refusal", async () => {
  for (const [rset, kind] of [
    ["500 no", "broken"],
    ["421 4.3.2 Closing", "refused"],
  ] as const) {
    await withSession({ rcpt: "550 5.1.1 No", rset }, async (session, mx) => {
      await session.send(ENVELOPE, CONTENT, nothing);
      mx.script = { rset };
      expect(await session.send(ENVELOPE, CONTENT, nothing)).toMatchObject({ kind, stage: "mail" });
      expect(session.isUsable).toBe(false);
      expect(mx.messages).toHaveLength(0);
    });
  }
});

test("two messages at a time on one session are refused", async () => {
  await withSession({}, async (session) => {
    const first = session.send(ENVELOPE, CONTENT, nothing);
    await expect(session.send(ENVELOPE, CONTENT, nothing)).rejects.toThrow("already");
    expect(await first).toMatchObject({ kind: "accepted" });
  });
});

test("destroy ends a message being sent, and after the dot the outcome is unknown (R28)", async () => {
  const clock = fakeClock();
  await withSession(
    { dot: stall() },
    async (session, mx) => {
      const sending = session.send(ENVELOPE, CONTENT, nothing);
      await mx.until(() => mx.messages.length === 1);
      session.destroy();
      session.destroy();
      expect(await sending).toMatchObject({ kind: "broken", stage: "dot", isDotSent: true });
      expect(clock.pending).toBe(0);
    },
    { clock },
  );
});

test("one timer serves a session, however many commands it sends (R13)", async () => {
  const clock = fakeClock();
  let timers = 0;
  const counting = { now: clock.now, after: (ms: number, run: () => void) => ((timers += 1), clock.after(ms, run)) };
  await withSession(
    {},
    async (session) => {
      for (let count = 0; count < 200; count++) await session.send(ENVELOPE, CONTENT, nothing);
      expect(clock.pending).toBeLessThanOrEqual(1);
      expect(timers).toBeLessThan(10);
    },
    { clock: counting },
  );
  expect(clock.pending).toBe(0);
});
