// One of two DNS servers says that a domain does not exist which does: a hard bounce, and with it the
// suppression of the recipient, takes the word of both.
import { expect, setDefaultTimeout, test } from "bun:test";
import { type FakeDns, startFakeDns } from "../fakes/dns-server.ts";
import { HOSTNAME } from "../fakes/instance.ts";
import { deliver, MINUTE_MS, pass, record, startStill, suppressedAddresses } from "./mail.ts";

setDefaultTimeout(30_000);

const RECIPIENT = "maria@example.com";

/** An instance that asks a second DNS server too, before or after its own. */
async function startWithSecond(second: FakeDns, place: "first" | "last", retryMs: number[]) {
  const pombo = await startStill({ retryMs });
  const { servers } = pombo.config.dns;
  if (place === "first") servers.unshift(second.address);
  else servers.push(second.address);
  await pombo.restart();
  return pombo;
}

for (const place of ["first", "last"] as const) {
  // The bounce falls due at the second and at the third attempt: each begins at another of the servers.
  for (const retryMs of [[20 * MINUTE_MS], [6 * MINUTE_MS]]) {
    const minutes = (retryMs[0] ?? 0) / MINUTE_MS;
    test(`a DNS server, the ${place} of two, that denies a domain is not its own witness, with a try each ${minutes} minutes`, async () => {
      await using liar = await startFakeDns({ [HOSTNAME]: { A: ["127.0.0.1"] } });
      await using pombo = await startWithSecond(liar, place, retryMs);
      const email = await deliver(pombo, RECIPIENT);
      for (let i = 0; i < 4; i += 1) await pass(pombo, 25 * MINUTE_MS);
      expect(await record(pombo, email.id)).toMatchObject({ status: "delivered", bounce: null });
      expect(pombo.mx.messages).toHaveLength(1);
      expect(suppressedAddresses(pombo)).toEqual([]);
      expect(pombo.bugs).toEqual([]);
    });
  }
}

test("what two DNS servers deny is believed, and the recipient is suppressed", async () => {
  await using other = await startFakeDns({ [HOSTNAME]: { A: ["127.0.0.1"] } });
  await using pombo = await startWithSecond(other, "last", [20 * MINUTE_MS]);
  delete pombo.dns.zone["example.com"];
  const email = await deliver(pombo, RECIPIENT);
  await pass(pombo, 25 * MINUTE_MS);
  expect(await record(pombo, email.id)).toMatchObject({ status: "bounced", bounce: { category: "bad_domain" } });
  expect(other.queries.some(({ name }) => name === "example.com")).toBe(true);
  expect(suppressedAddresses(pombo)).toEqual([RECIPIENT]);
});
