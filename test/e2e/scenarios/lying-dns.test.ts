// One of two DNS servers says that a domain does not exist which does: a hard bounce, and with it the
// suppression of the recipient, takes the word of both.
import { expect, setDefaultTimeout, test } from "bun:test";
import { type FakeDns, startFakeDns } from "../../support/fakes/dns-server.ts";
import { HOSTNAME } from "../../support/fakes/instance.ts";
import { deliver, MINUTE_MS, pass, record, startStill, suppressedAddresses } from "./mail.ts";

setDefaultTimeout(30_000);

const RECIPIENT = "maria@example.com";

/** An instance that asks `first`, and its own DNS server second. */
async function startBehind(first: FakeDns, retryMs: number[]) {
  const pombo = await startStill({ retryMs });
  pombo.config.dns.servers.unshift(first.address);
  await pombo.restart();
  return pombo;
}

// The bounce falls due at the second and at the third attempt: each begins at another of the servers.
for (const minutes of [20, 6]) {
  test(`one of two DNS servers that denies a domain is not its own witness, with a try each ${minutes} minutes`, async () => {
    await using liar = await startFakeDns({ [HOSTNAME]: { A: ["127.0.0.1"] } });
    await using pombo = await startBehind(liar, [minutes * MINUTE_MS]);
    const email = await deliver(pombo, RECIPIENT);
    expect(email).toMatchObject({ status: "delivery_delayed", bounce: null });
    for (let i = 0; i < 4; i += 1) await pass(pombo, 25 * MINUTE_MS);
    expect(await record(pombo, email.id)).toMatchObject({ status: "delivered", bounce: null });
    expect(pombo.mx.messages).toHaveLength(1);
    expect(suppressedAddresses(pombo)).toEqual([]);
    expect(pombo.bugs).toEqual([]);
  });
}

test("what two DNS servers deny is believed, and the recipient is suppressed", async () => {
  await using other = await startFakeDns({ [HOSTNAME]: { A: ["127.0.0.1"] } });
  await using pombo = await startBehind(other, [20 * MINUTE_MS]);
  delete pombo.dns.zone["example.com"];
  const email = await deliver(pombo, RECIPIENT);
  await pass(pombo, 25 * MINUTE_MS);
  expect(await record(pombo, email.id)).toMatchObject({ status: "bounced", bounce: { category: "bad_domain" } });
  expect(other.queries.some(({ name }) => name === "example.com")).toBe(true);
  expect(suppressedAddresses(pombo)).toEqual([RECIPIENT]);
});

test("one server's denial is not believed while the other fails: the first must not stand in for it", async () => {
  await using liar = await startFakeDns({ [HOSTNAME]: { A: ["127.0.0.1"] } });
  await using pombo = await startBehind(liar, [20 * MINUTE_MS]);
  pombo.dns.faults["example.com"] = "servfail";
  const email = await deliver(pombo, RECIPIENT);
  for (let i = 0; i < 3; i += 1) await pass(pombo, 25 * MINUTE_MS);
  expect(await record(pombo, email.id)).toMatchObject({ status: "delivery_delayed", bounce: null });
  delete pombo.dns.faults["example.com"];
  for (let i = 0; i < 2; i += 1) await pass(pombo, 25 * MINUTE_MS);
  expect(await record(pombo, email.id)).toMatchObject({ status: "delivered" });
  expect(suppressedAddresses(pombo)).toEqual([]);
});
