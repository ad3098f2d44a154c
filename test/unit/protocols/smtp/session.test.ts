import { expect, test } from "bun:test";
import { drop, flood, raw, sayThenDrop, startMx, stall, type MxScript } from "../../../support/fakes/mx.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";
import { CONTENT, ENVELOPE, open, runOut, withMx, withSession } from "../../../support/smtp/helpers.ts";

test("a session greets, learns what is offered, and says QUIT in the end (R15, R29)", async () => {
  await withSession({}, async (session, mx) => {
    expect(session).toMatchObject({ host: "mx.example", address: "127.0.0.1", tls: null, isUsable: true });
    expect(session.capabilities).toEqual({
      hasPipelining: true,
      hasStartTls: false,
      has8BitMime: true,
      hasSmtpUtf8: true,
      maxSizeBytes: 52_428_800,
      authMechanisms: [],
    });
    await session.quit();
    expect([session.isUsable, ...mx.connections[0]!.commands]).toEqual([false, "EHLO pombo.example.com", "QUIT"]);
  });
});

test("a server without EHLO is greeted with HELO and offers nothing (R15)", async () => {
  await withSession({ ehlo: "502 5.5.2 Not known" }, async (session, mx) => {
    expect(session.capabilities).toMatchObject({ hasPipelining: false, hasStartTls: false, maxSizeBytes: null });
    expect(await session.send(ENVELOPE, CONTENT, async () => {})).toMatchObject({ kind: "accepted" });
    expect(mx.connections[0]!.commands).toEqual([
      "EHLO pombo.example.com",
      "HELO pombo.example.com",
      "MAIL FROM:<sender@example.com>",
      "RCPT TO:<someone@example.net>",
      "DATA",
    ]);
  });
});

for (const code of [421, 450, 554]) {
  for (const stage of ["greeting", "ehlo"] as const) {
    test(`a ${code} to ${stage} is a refusal at that stage (R14, R25)`, async () => {
      const script: MxScript = { [stage]: `${code} 4.7.0 Not now` };
      if (stage === "ehlo") script.helo = script.ehlo!;
      await withMx(script, async (mx) => {
        expect(await open(mx)).toMatchObject({ kind: "refused", stage, reply: { code } });
        await mx.until(() => mx.connections[0]!.isClosed);
      });
    });
  }
}

test("a multi-line 554 greeting is read to its end (R14)", async () => {
  await withMx({ greeting: "554-No SMTP service\n554-Bad DNS PTR\n554 See our site" }, async (mx) => {
    expect(await open(mx)).toMatchObject({
      kind: "refused",
      stage: "greeting",
      reply: { text: "No SMTP service Bad DNS PTR See our site" },
    });
  });
});

for (const stage of ["greeting", "ehlo"] as const) {
  test(`a connection dropped at ${stage} is broken there`, async () => {
    await withMx({ [stage]: drop() }, async (mx) => {
      expect(await open(mx)).toMatchObject({ kind: "broken", stage, isTlsFailure: false });
    });
  });
}

test("a closed port is broken at connect", async () => {
  const mx = await startMx();
  await mx.close();
  expect(await open(mx)).toMatchObject({
    kind: "broken",
    stage: "connect",
    reason: expect.stringContaining("ECONNREFUSED"),
  });
});

test("a connection that does not come about is given up after 15 s (R13)", async () => {
  await withMx({}, async (mx) => {
    const clock = fakeClock();
    const opening = open(mx, { clock });
    clock.advance(14_999);
    clock.advance(1);
    expect(await opening).toMatchObject({ kind: "broken", stage: "connect", reason: "no connection within 15 s" });
    expect(clock.pending).toBe(0);
  });
});

test("each stalled step before MAIL is given up after its own time (R13)", async () => {
  const table: [MxScript, string, string][] = [
    [{ greeting: stall() }, "greeting", "no greeting within 60 s"],
    [{ ehlo: stall() }, "ehlo", "no answer to EHLO within 300 s"],
    [{ ehlo: "502 no", helo: stall() }, "ehlo", "no answer to HELO within 300 s"],
    [{ startTls: stall(), tls: "good" }, "starttls", "no answer to STARTTLS within 60 s"],
    [{ tls: "stall" }, "starttls", "no TLS handshake within 60 s"],
  ];
  for (const [script, stage, reason] of table) {
    await withMx(script, async (mx) => {
      const clock = fakeClock();
      expect(await runOut(clock, open(mx, { clock }))).toMatchObject({ kind: "broken", stage, reason });
      expect(clock.pending).toBe(0);
    });
  }
});

test("a greeting of 10 MB is cut off at the limit of a reply (R24)", async () => {
  for (const piece of ["x".repeat(1_000), "220-hello\r\n", `220-${"y".repeat(3_000)}`]) {
    await withMx({ greeting: flood(piece, 10_000_000) }, async (mx) => {
      expect(await open(mx)).toMatchObject({ kind: "broken", stage: "greeting" });
      await mx.until(() => mx.connections[0]!.isClosed);
    });
  }
});

test("a flood of good replies breaks at the first that nobody asked for (R27)", async () => {
  await withMx({ greeting: flood("220 hello\r\n", 10_000_000) }, async (mx) => {
    expect(await open(mx)).toMatchObject({ kind: "broken", reason: expect.stringContaining("unasked") });
  });
});

test("a greeting that is no greeting breaks the session", async () => {
  for (const greeting of ["250 Ok", "354 Go on", "HTTP/1.1 200 Ok", "220-a\n550 b"]) {
    await withMx({ greeting }, async (mx) => {
      expect(await open(mx)).toMatchObject({ kind: "broken", stage: "greeting" });
    });
  }
});

test("offered TLS is used without asking who it is, and what was offered in clear is forgotten (R15, R17)", async () => {
  const ehlo: MxScript["ehlo"] = (_command, connection) =>
    connection.isTls ? "250-mx.example\n250 SIZE 1000" : "250-mx.example\n250-PIPELINING\n250-STARTTLS\n250 SIZE 5";
  await withSession({ tls: "good", ehlo }, async (session, mx) => {
    expect(session.tls).toMatchObject({
      protocol: expect.stringMatching(/^TLSv1\.[23]$/),
      cipher: expect.stringContaining("AES"),
    });
    expect(session.capabilities).toMatchObject({ hasPipelining: false, hasStartTls: false, maxSizeBytes: 1_000 });
    expect(await session.send(ENVELOPE, CONTENT, async () => {})).toMatchObject({ kind: "accepted" });
    expect(mx.messages[0]).toMatchObject({ isTls: true });
    expect(mx.connections[0]!.serverName).toBe("mx.example");
    expect(mx.connections[0]!.clearBytes.toString("latin1")).toBe("EHLO pombo.example.com\r\nSTARTTLS\r\n");
    session.destroy();
    await mx.until(() => mx.connections[0]!.isClosed);
  });
});

test("an address is never a server name in TLS", async () => {
  await withSession(
    { tls: "good" },
    async (session, mx) => {
      expect(session.tls).not.toBeNull();
      expect(mx.connections[0]!.serverName).toBeNull();
    },
    { host: "127.0.0.1" },
  );
});

test("the client hello fits one segment, as some servers need", async () => {
  await withMx({ tls: "drop" }, async (mx) => {
    await open(mx);
    expect(mx.connections[0]!.clearBytes.length).toBeLessThan(600);
  });
});

test("bytes in clear after the 220 to STARTTLS abort the session, with no retry in clear (R16)", async () => {
  for (const injected of ["250 2.0.0 Ok\r\n", "250-mx.evil\r\n", "x", "\r\n"]) {
    await withMx({ tls: "good", startTls: raw(`220 Ready\r\n${injected}`) }, async (mx) => {
      expect(await open(mx)).toMatchObject({ kind: "broken", stage: "starttls", isTlsFailure: false });
      await mx.until(() => mx.connections[0]!.isClosed);
      expect(mx.connections[0]!.isTls).toBe(false);
      expect(mx.messages).toHaveLength(0);
    });
  }
});

test("a handshake that fails is a TLS failure, so that the caller may try in clear (R17)", async () => {
  for (const tls of ["garbage", "drop"] as const) {
    await withMx({ tls }, async (mx) => {
      expect(await open(mx)).toMatchObject({ kind: "broken", stage: "starttls", isTlsFailure: true });
      await mx.until(() => mx.connections[0]!.isClosed);
      expect(await open(mx, { tls: "never" })).toMatchObject({ kind: "open" });
    });
  }
});

test("a break before the first words under TLS is a TLS failure too: under TLS 1.3 the handshake is judged by then only (R17)", async () => {
  for (const silence of [drop(), raw("garbage\r\n")]) {
    const ehlo: MxScript["ehlo"] = (_command, { isTls }) => (isTls ? silence : "250-mx.example\n250 STARTTLS");
    await withMx({ tls: "good", ehlo }, async (mx) => {
      expect(await open(mx)).toMatchObject({ kind: "broken", stage: "ehlo", isTlsFailure: true });
      expect(await open(mx, { tls: "never" })).toMatchObject({ kind: "open" });
    });
  }
  const refusing: MxScript["ehlo"] = (_command, { isTls }) => (isTls ? "450 4.7.0 No" : "250-mx.example\n250 STARTTLS");
  await withMx({ tls: "good", ehlo: refusing }, async (mx) => {
    expect(await open(mx)).toMatchObject({ kind: "refused", stage: "ehlo", reply: { code: 450 } });
  });
});

test("a refused STARTTLS is told as such (R17)", async () => {
  await withMx({ tls: "good", startTls: "454 4.7.0 TLS not available" }, async (mx) => {
    expect(await open(mx)).toMatchObject({ kind: "refused", stage: "starttls", reply: { code: 454 } });
  });
});

test("required TLS that is not offered opens nothing", async () => {
  await withMx({}, async (mx) => {
    expect(await open(mx, { tls: "required" })).toMatchObject({ kind: "broken", stage: "starttls" });
  });
});

test("verified TLS refuses a self-signed certificate, opportunistic TLS does not", async () => {
  await withMx({ tls: "good" }, async (mx) => {
    expect(await open(mx, { tls: "verify" })).toMatchObject({ kind: "broken", stage: "starttls", isTlsFailure: true });
    const opened = await open(mx, { tls: "required" });
    expect(opened.kind).toBe("open");
    if (opened.kind === "open") await opened.session.quit();
  });
});

test("an abort ends the opening at any step", async () => {
  await withMx({ greeting: stall() }, async (mx) => {
    const abort = new AbortController();
    const opening = open(mx, { signal: abort.signal });
    await mx.until(() => mx.connections.length === 1);
    abort.abort();
    expect(await opening).toMatchObject({ kind: "broken", reason: "aborted", isTlsFailure: false });
    expect(await open(mx, { signal: abort.signal })).toMatchObject({
      kind: "broken",
      stage: "connect",
      reason: "aborted",
    });
  });
});

test("an idle session that the server closes, or speaks on, is not usable any more (R27, R30)", async () => {
  const endings: ((say: { say(bytes: string): void; drop(): void }) => void)[] = [
    (connection) => connection.drop(),
    (connection) => connection.say("421 4.4.2 Timeout\r\n"),
    (connection) => connection.say("4"),
  ];
  for (const end of endings) {
    await withSession({}, async (session, mx) => {
      expect(session.isUsable).toBe(true);
      end(mx.connections[0]!);
      for (let turn = 0; session.isUsable && turn < 10_000; turn++)
        await new Promise((resolve) => setImmediate(resolve));
      expect(session.isUsable).toBe(false);
      expect(await session.send(ENVELOPE, CONTENT, async () => {}).then((result) => result.kind)).not.toBe("accepted");
    });
  }
});

test("QUIT waits a few seconds at most (R29)", async () => {
  const clock = fakeClock();
  await withSession(
    { quit: stall() },
    async (session, mx) => {
      const startedAt = clock.now();
      await runOut(clock, session.quit(), 500);
      expect(clock.now() - startedAt).toBeLessThan(7_000);
      await mx.until(() => mx.connections[0]!.isClosed);
      expect(clock.pending).toBe(0);
    },
    { clock },
  );
});

test("a reply and a close in one breath are read as the reply", async () => {
  await withMx({ greeting: sayThenDrop("421 4.3.2 Too busy") }, async (mx) => {
    expect(await open(mx)).toMatchObject({ kind: "refused", stage: "greeting", reply: { code: 421 } });
  });
});

test("a host name is never looked up by the runtime, and a HELO name carries no command (R7, R8)", async () => {
  await withMx({}, async (mx) => {
    await expect(open(mx, { address: "localhost" })).rejects.toThrow("IP address");
    await expect(open(mx, { heloName: "a\r\nMAIL FROM:<>" })).rejects.toThrow("HELO");
    expect(mx.connections).toHaveLength(0);
  });
});
