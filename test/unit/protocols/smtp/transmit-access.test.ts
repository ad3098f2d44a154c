// A site that is reached as the operator says: another port, its own TLS, credentials.
import { expect, test } from "bun:test";
import type { Access } from "../../../../src/protocols/smtp/session-pool.ts";
import { deliverVia } from "../../../../src/protocols/smtp/transmit.ts";
import type { MxScript } from "../../../support/fakes/mx.ts";
import { counts, MAIL, withSite } from "./site.ts";

/** The site of the tests as a relay, whose port the pool does not have. */
async function withRelay(
  script: MxScript | null,
  use: (relay: Parameters<Parameters<typeof withSite>[1]>[0] & { access: Access }) => Promise<void>,
): Promise<void> {
  await withSite(
    [script],
    async (site) => {
      const [mx] = site.mxs;
      const access: Access = {
        id: "relay[0]",
        port: mx!.port,
        policy: { mode: "required", source: "config" },
        isImplicitTls: false,
        ca: null,
        credentials: { username: "loja", password: "geheim!!" },
      };
      await use({ ...site, destination: { ...site.destination, access }, access });
    },
    // Nobody listens there: every connection has to take the port of the access.
    { port: 1 },
  );
}

const RELAY: MxScript = { tls: "good", accounts: { loja: "geheim!!", outra: "palavra!" } };

test("a session with credentials is used again for them, and by nobody else (R30)", async () => {
  await withRelay(RELAY, async ({ pool, destination, access, mxs }) => {
    const first = await deliverVia(pool, destination, MAIL);
    expect(first).toMatchObject({ result: { kind: "accepted" }, policy: { mode: "required", source: "config" } });
    expect(first.tls?.protocol).toMatch(/^TLSv1/);
    expect(await deliverVia(pool, destination, MAIL)).toMatchObject({ tries: [{ isReused: true }] });
    expect(counts(mxs)).toEqual([1]);

    const others = { ...access, id: "relay[1]", credentials: { username: "outra", password: "palavra!" } };
    expect(await deliverVia(pool, { ...destination, access: others }, MAIL)).toMatchObject({
      tries: [{ isReused: false }],
    });
    expect(mxs[0]!.connections.map(({ user }) => user)).toEqual(["loja", "outra"]);
    for (const each of [access, others]) expect(pool.key("site", each.policy, each)).not.toMatch(/geheim|palavra/);
  });
});

test("a relay that refuses the credentials is asked once an attempt, and gets no message", async () => {
  await withRelay({ tls: "good", accounts: {} }, async ({ pool, destination, mxs }) => {
    const sent = await deliverVia(pool, destination, MAIL);
    expect(sent).toMatchObject({
      result: { kind: "refused", stage: "auth", envelopeReached: false },
      host: "mx1.example",
      isReached: false,
      isOutcomeUnknown: false,
      lastReply: { code: 535 },
    });
    expect(counts(mxs)).toEqual([1]);
    expect(pool.idleCount).toBe(0);
  });
});

test("a relay without AUTH, without TLS or with broken TLS gets nothing, and nothing goes in clear (R17)", async () => {
  const table: [MxScript, Partial<Access>, string][] = [
    [{ tls: "good" }, {}, "auth"],
    [{ tls: "none", accounts: { loja: "geheim!!" } }, {}, "starttls"],
    [{ tls: "garbage" }, {}, "starttls"],
    [{ tls: "drop", isImplicitTls: true }, { isImplicitTls: true }, "starttls"],
    // The self-signed certificate of the fake.
    [{ tls: "good" }, { policy: { mode: "verify", source: "config" } }, "starttls"],
  ];
  for (const [script, changes, stage] of table) {
    await withRelay(script, async ({ pool, destination, access, mxs }) => {
      const sent = await deliverVia(pool, { ...destination, access: { ...access, ...changes } }, MAIL);
      expect(sent).toMatchObject({ result: { stage }, isReached: false });
      expect(counts(mxs)).toEqual([1]);
      expect(mxs[0]!.connections[0]!.commands.filter((line) => /^(AUTH|MAIL)/.test(line))).toEqual([]);
      expect(pool.withoutTls.has("mx1.example")).toBe(false);
    });
  }
});

test("where the operator has no TLS none is used, though it is offered", async () => {
  await withRelay({ tls: "good" }, async ({ pool, destination, access, mxs }) => {
    const clear: Access = { ...access, policy: { mode: "never", source: "config" }, credentials: null };
    expect(await deliverVia(pool, { ...destination, access: clear }, MAIL)).toMatchObject({
      result: { kind: "accepted" },
      tls: null,
    });
    expect(mxs[0]!.connections[0]!.commands).not.toContain("STARTTLS");
  });
});
