// When a certificate is renewed, and what survives the end of the process.

import { expect, setDefaultTimeout, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { openCertificateStore } from "../../../src/modules/certificates/store.ts";
import { openInstanceSettings } from "../../../src/platform/db/instance-settings.ts";
import { readRenewalId } from "../../../src/protocols/x509/chain.ts";
import { HOUR_MS, type Kit, NAME, startKit } from "../../support/certificates/kit.ts";
import { refuse } from "../../support/fakes/authority.ts";
import { waitUntil } from "../../support/peers/process.ts";

setDefaultTimeout(60_000);

const DAY_MS = 24 * HOUR_MS;
const servedBy = (kit: Kit) => new X509Certificate(kit.certificates.source.pair.cert);
const ordersOf = (kit: Kit) => kit.authority.steps.filter((step) => step === "newOrder").length;
const issuedBy = (kit: Kit) => kit.counted.filter((result) => result === "issued").length;

test("without a word of the authority's the next one is ordered when two thirds of the lifetime are over", async () => {
  await using kit = await startKit({ isHeld: true });
  kit.authority.lifetimeMs = 3 * DAY_MS;
  await kit.certificates.start();
  await kit.ended(1);
  const first = servedBy(kit).fingerprint256;
  const shown: string[] = [];
  kit.certificates.source.follow(({ cert }) => shown.push(cert));
  await kit.advance(2 * DAY_MS - 60_000);
  expect(issuedBy(kit)).toBe(1);
  await kit.advance(60_000);
  await kit.ended(2);
  expect(servedBy(kit).fingerprint256).not.toBe(first);
  expect(shown).toEqual([kit.certificates.source.pair.cert]);
  // Of the same account, and with another key.
  expect(kit.authority.accounts.size).toBe(1);
  expect(kit.certificates.issues()).toEqual([]);
});

test("the authority's window decides, is asked for again, and what replaces what is said in the order", async () => {
  await using kit = await startKit({ isHeld: true });
  const { authority, clock } = kit;
  authority.window = { start: clock.now() + 50 * DAY_MS, end: clock.now() + 51 * DAY_MS };
  await kit.certificates.start();
  await kit.ended(1);
  const before = servedBy(kit);
  expect(authority.orders[0]?.replaces).toBeUndefined();
  await kit.advance(5 * DAY_MS);
  // It wants it sooner: it will revoke.
  authority.window = { start: clock.now() + DAY_MS, end: clock.now() + 2 * DAY_MS };
  await kit.advance(DAY_MS - HOUR_MS);
  expect(issuedBy(kit)).toBe(1);
  await kit.advance(DAY_MS + 2 * HOUR_MS);
  await kit.ended(2);
  expect(authority.orders[1]?.replaces).toBe(readRenewalId(before));
});

test("a window that is over at once, of a certificate that is new, does not make an endless loop", async () => {
  await using kit = await startKit({ isHeld: true });
  const { authority, clock } = kit;
  authority.window = { start: clock.now() - 2 * DAY_MS, end: clock.now() - DAY_MS };
  await kit.certificates.start();
  await kit.ended(1);
  await kit.advance(10 * HOUR_MS);
  expect(issuedBy(kit)).toBe(1);
  // A hundredth of ninety days.
  await kit.advance(12 * HOUR_MS);
  await kit.ended(2);
});

for (const [what, type, status] of [
  ["an order that was finished and not stored counts as the successor", "alreadyReplaced", 409],
  ["an authority has forgotten the certificate that is replaced", "serverInternal", 500],
] as const)
  test(`${what}: the next order follows without it`, async () => {
    await using kit = await startKit({ isHeld: true });
    kit.authority.lifetimeMs = 3 * DAY_MS;
    await kit.certificates.start();
    await kit.ended(1);
    kit.authority.faults.newOrder = ({ replaces }) =>
      replaces === undefined ? undefined : refuse(type, "it cannot be replaced", status);
    await kit.advance(2 * DAY_MS);
    await kit.ended(2);
    expect(kit.counted).toEqual(["issued", "issued"]);
  });

test("a renewal that fails until the end is told in time, and the last certificate stays", async () => {
  await using kit = await startKit({ isHeld: true });
  kit.authority.lifetimeMs = 3 * DAY_MS;
  await kit.certificates.start();
  await kit.ended(1);
  const before = servedBy(kit).fingerprint256;
  kit.authority.faults.newOrder = () => refuse("serverInternal", "down", 500);
  await kit.advance(2 * DAY_MS + HOUR_MS);
  const [issue] = kit.certificates.issues();
  expect(issue).toMatchObject({ component: "tls", isAdvisory: true });
  expect(issue?.reason).toContain("down");
  expect(issue?.reason).not.toContain("self-made");
  expect(servedBy(kit).fingerprint256).toBe(before);
  expect(kit.certificates.secondsLeft()).toBeGreaterThan(0);
});

test("a certificate is served after a restart before anything is asked, and on another authority's order until then", async () => {
  await using kit = await startKit();
  await kit.ended(1);
  const before = kit.certificates.source.pair.cert;
  const asked = kit.authority.steps.length;
  kit.authority.faults.directory = () => new Response(null, { status: 500 });
  await kit.restart();
  expect(kit.certificates.source.pair.cert).toBe(before);
  await kit.restart({ acme: kit.authority.directory.replace("directory", "directory/other") });
  expect(kit.certificates.source.pair.cert).toBe(before);
  await kit.ended(2);
  expect(kit.counted.at(-1)).toBe("failed");
  expect(kit.certificates.source.pair.cert).toBe(before);
  expect(kit.authority.steps.slice(asked).every((step) => step === "directory")).toBe(true);
});

test("a full disk keeps the old certificate, and the new one is stored once there is room, without another order", async () => {
  await using kit = await startKit({ isHeld: true });
  const { sqlite } = kit.database.db;
  kit.authority.faults.certificate = () => {
    // As a disk that is full from now on.
    sqlite.run("CREATE TRIGGER full BEFORE INSERT ON certificate BEGIN SELECT RAISE(ABORT, 'full'); END");
    return undefined;
  };
  await kit.certificates.start();
  await waitUntil("the full disk", 15_000, () => kit.bugs.length > 0);
  expect(kit.certificates.issues()[0]?.reason).toContain("self-made");
  sqlite.run("DROP TRIGGER full");
  kit.authority.faults = {};
  await kit.advance(60_000);
  expect(servedBy(kit).checkHost(NAME)).toBe(NAME);
  expect(kit.authority.orders).toHaveLength(1);
});

test("a process that ends in the middle of three orders in a row waits an hour with the next", async () => {
  await using kit = await startKit({ isHeld: true });
  const store = openCertificateStore(kit.database.db, openInstanceSettings(kit.database.db));
  // As three that were killed leave it.
  const read = () => store.readState();
  kit.authority.faults.newOrder = () => new Promise<undefined>(() => undefined);
  for (let begun = 1; begun <= 3; begun++) {
    await kit.certificates.start();
    await waitUntil("the order", 15_000, () => ordersOf(kit) >= begun);
    const state = read();
    expect(state.begun).toBe(begun);
    // A stop that is asked for puts it back; a kill does not.
    await kit.certificates.stop();
    expect(read().begun).toBe(begun - 1);
    await kit.database.committer.commit(() => store.writeState(state));
    if (begun < 3) await kit.restart();
  }
  kit.authority.faults = {};
  await kit.restart();
  await kit.advance(HOUR_MS - 60_000);
  expect(ordersOf(kit)).toBe(3);
  expect(kit.certificates.issues()[0]?.reason).toContain("pombo ended in the middle of 3 orders");
  await kit.advance(60_000);
  await kit.ended(1);
  expect(kit.counted).toEqual(["issued"]);
  expect(kit.authority.accounts.size).toBe(1);
});

test("a clock that was a year ahead and is set back: the certificate stays, and the wait is not a year", async () => {
  await using kit = await startKit();
  await kit.ended(1);
  const { fingerprint256 } = servedBy(kit);
  const right = kit.clock.now();
  const year = 365 * 24 * HOUR_MS;
  kit.authority.faults.newOrder = () => refuse("serverInternal", "down", 500);
  kit.clock.set(right + year);
  await kit.restart();
  await kit.ended(2);
  expect(kit.certificates.issues()[0]?.reason).toMatch(
    /The one that is shown ended at .*, and clients refuse it\. Next attempt/,
  );
  expect(servedBy(kit).fingerprint256).toBe(fingerprint256);
  kit.clock.set(right);
  await kit.restart();
  await kit.certificates.idle();
  expect(servedBy(kit).fingerprint256).toBe(fingerprint256);
  // It is due when two thirds are over, not a year later.
  kit.authority.faults = {};
  await kit.advance(61 * 24 * HOUR_MS);
  await kit.ended(3);
  expect(servedBy(kit).fingerprint256).not.toBe(fingerprint256);
  expect([kit.bugs, kit.counted]).toEqual([[], ["issued", "failed", "issued"]]);
  expect(kit.authority.accounts.size).toBe(1);
});

test("a clock a year behind takes no certificate, and is named as the cause", async () => {
  await using kit = await startKit({ isHeld: true });
  const issue = kit.authority.issuer.issue;
  const year = 365 * 24 * HOUR_MS;
  // The authority's clock is right.
  kit.authority.issuer.issue = (wish) => issue({ ...wish, from: wish.from + year, until: wish.until + year });
  await kit.certificates.start();
  await kit.ended(1);
  expect(kit.certificates.issues()[0]?.reason).toContain("whether this machine's clock is right");
  kit.authority.issuer.issue = issue;
  kit.clock.set(kit.clock.now() + year);
  await kit.certificates.idle();
  await kit.advance(HOUR_MS);
  await kit.ended(2);
  expect(kit.counted).toEqual(["failed", "issued"]);
});

test("another [tls] contact reaches the account that is there", async () => {
  await using kit = await startKit({ tls: { contact: "ana@example.net" } });
  await kit.ended(1);
  expect(kit.authority.contact).toEqual(["mailto:ana@example.net"]);
  await kit.restart({ contact: "rui@example.net" });
  await kit.advance(61 * 24 * HOUR_MS);
  await kit.ended(2);
  expect([kit.authority.contact, kit.authority.accounts.size]).toEqual([["mailto:rui@example.net"], 1]);
});

test("an authority that refuses another contact still issues the certificate", async () => {
  await using kit = await startKit({ tls: { contact: "ana@example.net" } });
  await kit.ended(1);
  kit.authority.faults.account = () => refuse("unauthorized", "the address belongs to the customer's contract", 403);
  await kit.restart({ contact: "rui@example.net" });
  await kit.advance(61 * 24 * HOUR_MS);
  await kit.ended(2);
  expect([kit.counted, kit.authority.contact]).toEqual([["issued", "issued"], ["mailto:ana@example.net"]]);
});
