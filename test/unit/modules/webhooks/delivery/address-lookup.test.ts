import { expect, test } from "bun:test";
import type { Lookup, Resolver } from "../../../../../src/protocols/dns/lookup.ts";
import { createAddressLookup } from "../../../../../src/modules/webhooks/delivery/address-lookup.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";

const FOUND: Lookup<string> = { kind: "found", records: ["93.184.215.14"], ttlS: 60, server: "" };
const NOTHING: Lookup<string> = { kind: "no_data", server: "" };
const MISSING: Lookup<string> = { kind: "no_name", server: "" };

function answering(a: Lookup<string>, aaaa: Lookup<string>): Pick<Resolver, "a" | "aaaa"> {
  return { a: async () => a, aaaa: async () => aaaa };
}

/** As the resolver does it: a failure when it is given up, and no word before. */
function mute(signal: AbortSignal | undefined): Promise<Lookup<string>> {
  return new Promise((resolve) =>
    signal?.addEventListener("abort", () => resolve({ kind: "failed", reason: "the lookup was given up" })),
  );
}

test("what DNS says of a name becomes its addresses, or a reason", async () => {
  const clock = fakeClock();
  const failed: Lookup<string> = { kind: "failed", reason: "SERVFAIL" };
  const ofBoth: Lookup<string> = { ...FOUND, records: ["2606:2800:21f::1"] };
  for (const [answers, expected] of [
    [answering(FOUND, ofBoth), { kind: "found", addresses: ["93.184.215.14", "2606:2800:21f::1"] }],
    [answering(FOUND, failed), { kind: "found", addresses: ["93.184.215.14"] }],
    [
      answering(NOTHING, failed),
      { kind: "failed", reason: "DNS did not answer for a.test: SERVFAIL", isTimeout: false },
    ],
    [answering(NOTHING, NOTHING), { kind: "failed", reason: "a.test has no address in DNS", isTimeout: false }],
    [answering(MISSING, MISSING), { kind: "failed", reason: "a.test does not exist in DNS", isTimeout: false }],
  ] as const)
    expect(await createAddressLookup(answers, clock)("a.test")).toEqual({ ...expected } as never);
  expect(clock.pending).toBe(0);
});

test("a name that DNS is mute about is given up after five seconds, in the resolver too", async () => {
  const clock = fakeClock();
  const look = createAddressLookup(
    { a: (_name, signal) => mute(signal), aaaa: (_name, signal) => mute(signal) },
    clock,
  );
  const found = look("a.test");
  clock.advance(4_999);
  expect(clock.pending).toBe(1);
  clock.advance(1);
  expect(await found).toEqual({ kind: "failed", reason: "DNS did not answer for a.test within 5 s", isTimeout: true });
});

test("addresses of the kind that was answered are enough when the other stays out", async () => {
  const clock = fakeClock();
  const look = createAddressLookup({ a: async () => FOUND, aaaa: (_name, signal) => mute(signal) }, clock);
  const found = look("a.test");
  clock.advance(5_000);
  expect(await found).toEqual({ kind: "found", addresses: ["93.184.215.14"] });
});
