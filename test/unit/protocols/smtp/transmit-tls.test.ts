import { expect, test } from "bun:test";
import { systemClock } from "../../../../src/platform/clock.ts";
import { deliverVia, describeTransmission } from "../../../../src/protocols/smtp/transmit.ts";
import type { MxScript } from "../../../support/fakes/mx.ts";
import { counts, MAIL, withSite } from "./site.ts";

test("a failed handshake is tried again in clear on the same host, and the host is remembered (R17)", async () => {
  for (const script of [
    { tls: "garbage" },
    { tls: "drop" },
    { tls: "good", startTls: "454 4.7.0 Not now" },
  ] satisfies MxScript[]) {
    await withSite([script, {}], async ({ pool, destination, mxs }) => {
      const first = await deliverVia(pool, destination, MAIL);
      expect(first).toMatchObject({ result: { kind: "accepted" }, host: "mx1.example", tls: null });
      expect(counts(mxs)).toEqual([2, 0]);
      expect(pool.withoutTls.has("mx1.example")).toBe(true);
      pool.acquire(pool.key("site", first.policy!))!.destroy();
      await deliverVia(pool, destination, MAIL);
      expect(mxs[0]!.connections[2]!.commands).not.toContain("STARTTLS");
    });
  }
});

test.each([
  [{ tls: "good", startTls: "454 4.7.0 TLS not available" }, 5],
  [{ tls: "good", startTls: "554 5.7.0 No TLS" }, 60],
  [{ tls: "garbage" }, 60],
  [{ tls: "drop" }, 60],
] satisfies [MxScript, number][])(
  "%j costs %i minutes of TLS, and is asked again after them",
  async (script, minutes) => {
    let passed = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + passed };
    await withSite(
      [script],
      async ({ pool, destination, mxs }) => {
        const asked = async () => {
          const before = mxs[0]!.connections.length;
          const sent = await deliverVia(pool, destination, MAIL);
          expect(sent).toMatchObject({ result: { kind: "accepted" }, tls: null });
          pool.acquire(pool.key("site", sent.policy!))!.destroy();
          const after = mxs[0]!.connections.slice(before);
          return after.some(({ commands }) => commands.includes("STARTTLS"));
        };
        expect(await asked()).toBe(true);
        passed = minutes * 60_000 - 10_000;
        expect(await asked()).toBe(false);
        passed = minutes * 60_000 + 10_000;
        expect(await asked()).toBe(true);
        mxs[0]!.script = { tls: "good" };
        passed = 2 * minutes * 60_000 + 20_000;
        expect((await deliverVia(pool, destination, MAIL)).tls).not.toBeNull();
      },
      { clock },
    );
  },
);

const MUST: MxScript["mail"] = (_command, { isTls }) =>
  isTls ? "250 2.1.0 Ok" : "530 5.7.0 Must issue a STARTTLS command first";

test("a server that requires TLS, and whose TLS fails, has refused nothing: TLS is tried again the next time (R17)", async () => {
  for (const script of [{ tls: "garbage" }, { tls: "good", startTls: "454 4.7.0 TLS not available" }] as MxScript[]) {
    await withSite([{ ...script, mail: MUST }], async ({ pool, destination, mxs }) => {
      const first = await deliverVia(pool, destination, MAIL);
      expect(first).toMatchObject({ result: { stage: "starttls" }, isReached: false, isOutcomeUnknown: false });
      expect(describeTransmission(first)).toMatch(
        /^(454 4\.7\.0 TLS not available|TLS failed, and without it the server says: 530 5\.7\.0 Must issue .*) \(mx1\.example\)$/,
      );
      expect([pool.withoutTls.has("mx1.example"), pool.idleCount]).toEqual([false, 0]);
      mxs[0]!.script = { tls: "good", mail: MUST };
      expect(await deliverVia(pool, destination, MAIL)).toMatchObject({ result: { kind: "accepted" } });
      expect(mxs[0]!.messages).toMatchObject([{ isTls: true }]);
    });
  }
});

test("a host remembered for its broken TLS that now requires TLS is forgiven, on a used session too (R17)", async () => {
  await withSite([{ tls: "garbage" }], async ({ pool, destination, mxs }) => {
    await deliverVia(pool, destination, MAIL);
    expect([pool.withoutTls.has("mx1.example"), pool.idleCount]).toEqual([true, 1]);
    mxs[0]!.script = { tls: "good", mail: MUST };
    const second = await deliverVia(pool, destination, MAIL);
    expect(second).toMatchObject({
      result: { kind: "accepted" },
      tries: [{ isReused: true, tls: null }, { isReused: false }],
    });
    expect(pool.withoutTls.has("mx1.example")).toBe(false);
    expect(mxs[0]!.messages.map(({ isTls }) => isTls)).toEqual([false, true]);
  });
});

test("a refusal in clear that speaks of something else stands, whatever became of TLS", async () => {
  for (const mail of ["550 5.7.1 Sender refused", "530 5.7.0 Authentication required"]) {
    await withSite([{ mail }], async ({ pool, destination }) => {
      expect(await deliverVia(pool, destination, MAIL)).toMatchObject({ result: { kind: "refused", stage: "mail" } });
    });
  }
  await withSite([{ tls: "garbage", mail: "550 5.7.1 Sender refused" }], async ({ pool, destination }) => {
    expect(await deliverVia(pool, destination, MAIL)).toMatchObject({ result: { kind: "refused", stage: "mail" } });
    expect(pool.withoutTls.has("mx1.example")).toBe(true);
  });
});

test("where TLS is required nothing goes in clear (R17, §1.8)", async () => {
  for (const script of [{ tls: "garbage" }, { tls: "none" }] satisfies MxScript[]) {
    await withSite(
      [script, {}],
      async ({ pool, destination, mxs }) => {
        const sent = await deliverVia(pool, destination, MAIL);
        expect(sent).toMatchObject({
          result: { kind: "broken", stage: "starttls" },
          policy: { mode: "required" },
          isReached: false,
        });
        expect(mxs.flatMap((mx) => mx.messages)).toHaveLength(0);
      },
      { findTlsPolicy: () => ({ mode: "required", source: "config" }) },
    );
  }
});

test("injection after STARTTLS is never answered with a try in clear on that host (R16)", async () => {
  await withSite([{ tls: "good", startTls: "220 Go\n250 2.0.0 Ok" }, {}], async ({ pool, destination, mxs }) => {
    expect(await deliverVia(pool, destination, MAIL)).toMatchObject({
      result: { kind: "accepted" },
      host: "mx2.example",
    });
    expect(counts(mxs)).toEqual([1, 1]);
  });
});
