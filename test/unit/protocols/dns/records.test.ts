import { expect, test } from "bun:test";
import { createResolver } from "../../../../src/protocols/dns/client.ts";
import { keepRecords } from "../../../../src/protocols/dns/records.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { startFakeDns } from "../../../support/fakes/dns-server.ts";
import { seeded } from "../../../support/db/temporary.ts";
import { createManualClock } from "../../../support/dns/manual-clock.ts";

const mx = (preference: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({ preference, exchange: `mx${at}.p${preference}.example` }));

test("of many MX the best 50 are kept, and of equals each has its chance", () => {
  const records = [...mx(30, 400), ...mx(20, 60), ...mx(10, 20)];
  const chosen = new Set<string>();
  const random = { unit: seeded(3) };
  for (let round = 0; round < 50; round++) {
    const kept = keepRecords("MX", records, random).map((value) => (typeof value === "string" ? null : value));
    expect(kept).toHaveLength(50);
    expect(kept.slice(0, 20).every((record) => record?.preference === 10)).toBe(true);
    expect(kept.slice(20).every((record) => record?.preference === 20)).toBe(true);
    for (const record of kept) chosen.add(record?.exchange ?? "");
  }
  expect(chosen.size).toBe(80);
  // As many as that are left as they are.
  expect(keepRecords("MX", mx(10, 50), random)).toEqual(mx(10, 50));
});

test("16 addresses are kept, and 16 TXT records of 16 KiB together, those with a version first", () => {
  const addresses = Array.from({ length: 300 }, (_, at) => `192.0.2.${at}`);
  expect(keepRecords("A", addresses, systemRandom)).toEqual(addresses.slice(0, 16));
  const verifications = Array.from({ length: 60 }, (_, at) => `site-verification=${at}`);
  const kept = keepRecords("TXT", [...verifications, "v=spf1 -all", " V = DKIM1; p=x"], systemRandom);
  expect(kept).toEqual(["v=spf1 -all", " V = DKIM1; p=x", ...verifications.slice(0, 14)]);
  const large = Array.from({ length: 16 }, () => "x".repeat(4_000));
  expect(keepRecords("TXT", large, systemRandom)).toHaveLength(4);
  expect(keepRecords("TXT", verifications.slice(0, 9), systemRandom)).toEqual(verifications.slice(0, 9));
});

test("a domain with 990 MX costs as much as one with 50", async () => {
  await using server = await startFakeDns({
    "many.example": { MX: mx(10, 990).map(({ preference, exchange }) => [preference, exchange]), ttlS: 600 },
  });
  const resolver = createResolver({ servers: [server.address], clock: createManualClock(), random: systemRandom });
  const first = await resolver.forOwner(7).mx("many.example");
  expect(first).toMatchObject({ kind: "found", records: { length: 50 } });
  // The lot is drawn once for as long as the answer holds, so that its site keeps its name.
  expect(await resolver.mx("many.example")).toEqual(first);
  expect(server.queries.filter((query) => query.type === "MX").length).toBeLessThanOrEqual(2);
});
