import { expect, test } from "bun:test";
import { deliverVia } from "../../src/smtp/transmit.ts";
import type { MxScript } from "../fakes/mx.ts";
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
      expect(pool.tlsMemory.isBroken("mx1.example")).toBe(true);
      pool.acquire(pool.key("site", first.policy!))!.destroy();
      await deliverVia(pool, destination, MAIL);
      expect(mxs[0]!.connections[2]!.commands).not.toContain("STARTTLS");
    });
  }
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
