// TLS where the operator named the server: from the first byte on, and with a certificate that counts.
import { expect, test } from "bun:test";
import { systemClock } from "../../../../../src/platform/clock.ts";
import type { SessionOptions } from "../../../../../src/protocols/smtp/session/greeting.ts";
import { Wire } from "../../../../../src/protocols/smtp/session/connection.ts";
import {
  AUTHORITY,
  EXPIRED_CERTIFICATE,
  OTHER_CERTIFICATE,
  RELAY_CERTIFICATE,
} from "../../../../support/fakes/certificates.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";
import { raw, stall, startMx, type Mx, type MxScript } from "../../../../support/fakes/mx.ts";
import { CONTENT, ENVELOPE, open, runOut } from "../../../../support/smtp/helpers.ts";

const IMPLICIT: MxScript = { tls: "good", isImplicitTls: true };
const ACCOUNTS = { loja: "geheim!!" };

function named(changes: Partial<SessionOptions> = {}, ca: string | null = AUTHORITY): Partial<SessionOptions> {
  const isImplicitTls = true;
  return { host: "relay.test", tls: "verify", submission: { isImplicitTls, ca, credentials: null }, ...changes };
}

async function withRelay(
  script: MxScript,
  certificate: typeof RELAY_CERTIFICATE,
  use: (mx: Mx) => Promise<void>,
): Promise<void> {
  const mx = await startMx(script, { certificate });
  try {
    await use(mx);
  } finally {
    await mx.close();
  }
}

test("implicit TLS comes before the greeting, and STARTTLS is not asked for (RFC 8314 §3.3)", async () => {
  await withRelay({ ...IMPLICIT, accounts: ACCOUNTS }, RELAY_CERTIFICATE, async (mx) => {
    const credentials = { username: "loja", password: "geheim!!" };
    const opened = await open(mx, named({ submission: { isImplicitTls: true, ca: AUTHORITY, credentials } }));
    if (opened.kind !== "open") throw new Error(JSON.stringify(opened));
    expect(opened.session.tls?.protocol).toMatch(/^TLSv1\.[23]$/);
    expect(await opened.session.send(ENVELOPE, CONTENT, async () => {})).toMatchObject({ kind: "accepted" });
    opened.session.destroy();
    const [connection] = mx.connections;
    expect(connection).toMatchObject({ isTls: true, serverName: "relay.test", user: "loja" });
    expect(connection!.commands[0]).toBe("EHLO pombo.example.com");
    expect(connection!.commands).not.toContain("STARTTLS");
    expect(connection!.clearBytes.toString("latin1")).not.toContain("EHLO");
  });
});

test("a server that speaks in clear where TLS should be is not spoken to (R16)", async () => {
  for (const greeting of ["220 mx.example ESMTP", stall()]) {
    await withRelay({ greeting }, RELAY_CERTIFICATE, async (mx) => {
      const clock = fakeClock();
      const opened = await runOut(clock, open(mx, { ...named(), clock }));
      expect(opened).toMatchObject({ kind: "broken", stage: "starttls", isTlsFailure: true });
      expect(mx.connections[0]!.bytes.toString("latin1")).not.toContain("EHLO");
    });
  }
});

test("what came in clear before a handshake is not read as if it had come under TLS (R16)", async () => {
  // In one piece, so that the rest is there when the greeting is.
  await withRelay({ greeting: raw("220 mx.example\r\n250 half a re") }, RELAY_CERTIFICATE, async (mx) => {
    const wire = new Wire({ address: mx.address, port: mx.port, localAddress: null, clock: systemClock });
    await wire.connected(5_000);
    await wire.next(5_000, "greeting");
    const securing = wire.secure({ host: "relay.test", isVerified: true, ca: AUTHORITY, limitMs: 5_000 });
    await expect(securing).rejects.toThrow("bytes in clear before the handshake");
    await mx.until(() => mx.connections[0]!.isClosed);
    expect(mx.connections[0]!.bytes).toHaveLength(0);
  });
});

for (const isImplicitTls of [true, false]) {
  const script: MxScript = isImplicitTls ? IMPLICIT : { tls: "good" };
  const by = isImplicitTls ? "implicit TLS" : "STARTTLS";
  const asked = (ca: string | null = AUTHORITY) => ({ submission: { isImplicitTls, ca, credentials: null } });

  test(`a certificate of the authority given, for the name or the address given, is believed by ${by}`, async () => {
    await withRelay(script, RELAY_CERTIFICATE, async (mx) => {
      for (const host of ["relay.test", "127.0.0.1"]) {
        const opened = await open(mx, named({ host, ...asked() }));
        expect(opened.kind).toBe("open");
        if (opened.kind === "open") opened.session.destroy();
      }
      expect(mx.connections.map(({ serverName }) => serverName)).toEqual(["relay.test", null]);
    });
  });

  const FAULTS: [
    what: string,
    certificate: typeof RELAY_CERTIFICATE,
    host: string,
    ca: string | null,
    words: RegExp,
  ][] = [
    ["for another name", OTHER_CERTIFICATE, "relay.test", AUTHORITY, /relay\.test.*other\.test/],
    ["without our address", OTHER_CERTIFICATE, "127.0.0.1", AUTHORITY, /127\.0\.0\.1/],
    ["whose time is over", EXPIRED_CERTIFICATE, "relay.test", AUTHORITY, /expired/],
    ["of an authority nobody knows", RELAY_CERTIFICATE, "relay.test", null, /unable to|self.signed/],
  ];
  for (const [what, certificate, host, ca, words] of FAULTS) {
    test(`a certificate ${what} is told as such, and nothing is said to its server, by ${by}`, async () => {
      await withRelay(script, certificate, async (mx) => {
        const opened = await open(mx, named({ host, ...asked(ca) }));
        expect(opened).toMatchObject({ kind: "broken", stage: "starttls", isTlsFailure: true });
        if (opened.kind !== "broken") return;
        expect(opened.reason).toStartWith("its certificate is not valid: ");
        expect(opened.reason).toMatch(words);
        await mx.until(() => mx.connections[0]!.isClosed);
        expect(mx.connections[0]!.commands.filter((line) => !/^(EHLO|STARTTLS)/.test(line))).toEqual([]);
        if (isImplicitTls) expect(mx.connections[0]!.commands).toEqual([]);
      });
    });

    test(`the same certificate (${what}) does where none is asked for, by ${by}`, async () => {
      await withRelay(script, certificate, async (mx) => {
        const opened = await open(mx, named({ host, ...asked(ca), tls: "required" }));
        expect(opened.kind).toBe("open");
        if (opened.kind === "open") opened.session.destroy();
      });
    });
  }
}
