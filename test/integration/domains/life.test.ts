// A domain's whole life by the clock: what is looked up when, and what follows.
import { expect, setDefaultTimeout, test } from "bun:test";
import { startFakeDns } from "../../support/fakes/dns-server.ts";
import { DAY, gaps, HOUR, MINUTE, START, startLife } from "../../support/domains/life.ts";

setDefaultTimeout(60_000);

/** The waits begin near five minutes, grow by this factor, give or take a tenth, and stay near an hour. */
function expectGrowth(waits: number[], factor: number): void {
  let least = 5 * MINUTE;
  let most = least;
  for (const [index, wait] of waits.entries()) {
    expect([index, wait, wait >= 0.899 * least, wait <= 1.101 * most]).toEqual([index, wait, true, true]);
    least = most = Math.min(wait * factor, HOUR);
  }
  expect(waits.at(-1)).toBeGreaterThan(0.89 * HOUR);
}

test("a pending domain is looked at every minute, then ever more seldom, for 14 days, and then no more", async () => {
  await using life = await startLife();
  const id = await life.register("one.test");
  expect((await life.show(id)).nextCheckAt).toBe(new Date(START + MINUTE).toISOString());
  await life.until(START + 15 * MINUTE);
  expect(life.checksOf("one.test")).toEqual(Array.from({ length: 15 }, (_, index) => START + (index + 1) * MINUTE));

  await life.until(START + 1.5 * DAY);
  const waits = gaps(life.checksOf("one.test").slice(14));
  expectGrowth(waits, 1.5);
  expect(life.told()).toEqual(["domain.verified"]); // the instance's own
  expect((await life.show(id)).status).toBe("pending");

  // Twelve days later, as its row has it: the hours between are like these.
  life.pombo.app.db.sqlite.run("UPDATE domain SET created_at = created_at - ? WHERE name = 'one.test'", [12 * DAY]);
  await life.until(START + 2 * DAY - 1);
  expect((await life.show(id)).status).toBe("pending");
  await life.until(START + 2 * DAY);
  expect(life.checksOf("one.test").at(-1)).toBe(START + 2 * DAY);
  const failed = await life.show(id);
  expect(failed).toMatchObject({ status: "failed", verifiedAt: null, nextCheckAt: null });
  expect(failed.hint).toContain("pombo no longer checks by itself");
  const count = life.checksOf("one.test").length;
  expect(count).toBeGreaterThan(15 + 7 + 40);
  expect(count).toBeLessThan(15 + 9 + 54);
  await life.until(START + 4 * DAY);
  expect(life.checksOf("one.test")).toHaveLength(count);
  expect(life.told()).toEqual(["domain.verified", "domain.failed"]);
  expect(life.pombo.bugs).toEqual([]);
});

test("published records verify a domain by themselves; gone, it warns and still sends, and fails after 72 hours", async () => {
  await using life = await startLife();
  const id = await life.register("one.test");
  await life.until(START + 3 * MINUTE);
  expect(await life.send("one.test")).toBe(422);
  await life.publish(id);
  await life.until(START + 4 * MINUTE);
  const verified = await life.show(id);
  const verifiedAt = new Date(START + 4 * MINUTE).toISOString();
  expect(verified).toMatchObject({ status: "verified", verifiedAt, lastCheckedAt: verifiedAt });
  expect(verified).not.toHaveProperty("hint");
  expect(await life.send("one.test")).toBe(202);

  await life.until(START + 3.5 * DAY);
  const daily = gaps(life.checksOf("one.test").slice(3));
  expect(daily).toHaveLength(3);
  for (const wait of daily) {
    expect(wait).toBeGreaterThanOrEqual(0.9 * DAY);
    expect(wait).toBeLessThanOrEqual(1.1 * DAY);
  }

  life.withdraw("one.test");
  const warnedAt = Date.parse((await life.show(id)).nextCheckAt);
  await life.until(warnedAt);
  const endsAt = warnedAt + 72 * HOUR;
  const warning = await life.show(id);
  expect(warning).toMatchObject({ status: "warning", verifiedAt });
  expect(warning.hint).toContain(`before ${new Date(endsAt).toISOString()}`);
  const since = life.checksOf("one.test").length;
  await life.until(endsAt - 1);
  expect(await life.send("one.test")).toBe(202);
  expect((await life.show(id)).status).toBe("warning");
  for (const wait of gaps(life.checksOf("one.test").slice(since)).slice(0, -1)) {
    expect(wait).toBeGreaterThanOrEqual(0.9 * HOUR);
    expect(wait).toBeLessThanOrEqual(1.1 * HOUR);
  }
  await life.until(endsAt);
  expect(life.checksOf("one.test").at(-1)).toBe(endsAt);
  expect(await life.show(id)).toMatchObject({ status: "failed", verifiedAt, nextCheckAt: null });
  expect(await life.send("one.test")).toBe(422);

  await life.publish(id);
  const seen = life.checksOf("one.test").length;
  await life.until(endsAt + 2 * DAY);
  expect(life.checksOf("one.test")).toHaveLength(seen);
  expect(await life.send("one.test")).toBe(422);
  expect((await life.check(id)).verifiedAt).toBe(verifiedAt);
  expect(await life.send("one.test")).toBe(202);
  const again = await life.show(id);
  expect(again).toMatchObject({ status: "verified", verifiedAt });
  expect(Date.parse(again.nextCheckAt)).toBeLessThanOrEqual(endsAt + 2 * DAY + 1.1 * DAY);
  await life.until(endsAt + 3.5 * DAY);
  expect(life.checksOf("one.test").length).toBeGreaterThan(seen + 1);
  const own = life.pombo.events.filter(({ fields }) => fields["domain"] === "one.test").map(({ name }) => name);
  expect(own).toEqual(["domain.verified", "domain.warning", "domain.failed", "domain.verified"]);
  expect(life.pombo.bugs).toEqual([]);
});

test("a domain in warning is verified again as soon as its record is back, and its time begins anew", async () => {
  await using life = await startLife();
  const { pombo, clock } = life;
  const id = await pombo.addDomain(pombo.workspace, "one.test");
  for (let round = 0; round < 2; round += 1) {
    life.withdraw("one.test");
    await life.check(id);
    await life.until(clock.now() + 2 * HOUR);
    expect((await life.show(id)).status).toBe("warning");
    // 70 of the 72 hours are over, as its row has it.
    pombo.app.db.sqlite.run("UPDATE domain SET warning_at = warning_at - ? WHERE name = 'one.test'", [68 * HOUR]);
    await life.publish(id);
    await life.until(clock.now() + 1.2 * HOUR);
    expect((await life.show(id)).status).toBe("verified");
  }
  const own = pombo.events.filter(({ fields }) => fields["domain"] === "one.test").map(({ name }) => name);
  expect(own).toEqual(["domain.verified", "domain.warning", "domain.verified", "domain.warning", "domain.verified"]);
});

test("SERVFAIL for a week changes nothing, and is asked again sooner than in a day but ever more seldom", async () => {
  await using life = await startLife();
  const { pombo } = life;
  const verified = await pombo.addDomain(pombo.workspace, "verified.test");
  const pending = await life.register("pending.test");
  pombo.app.db.sqlite.run("UPDATE domain SET created_at = created_at - ? WHERE name = 'pending.test'", [10 * DAY]);
  pombo.dns.faults["*"] = "servfail";
  life.withdraw("verified.test");
  await life.until(START + 7 * DAY);
  expect((await life.show(verified)).status).toBe("verified");
  // 14 days are over for it, and nobody said that its record is missing.
  const shown = await life.show(pending);
  expect(shown.status).toBe("pending");
  expect(shown.hint).toContain("DNS did not answer");
  expect(shown.dns.dkim[0]).not.toHaveProperty("status");
  expectGrowth(gaps(life.checksOf("verified.test").slice(1)), 2);
  delete pombo.dns.faults["*"];
  await life.until(START + 7 * DAY + 1.2 * HOUR);
  expect((await life.show(verified)).status).toBe("warning");
  expect((await life.show(pending)).status).toBe("failed");
  expect(pombo.bugs).toEqual([]);
});

test("a resolver that denies everything, our own name too, changes nothing", async () => {
  await using life = await startLife();
  const { pombo } = life;
  const verified = await pombo.addDomain(pombo.workspace, "verified.test");
  const warning = await pombo.addDomain(pombo.workspace, "warning.test");
  life.withdraw("warning.test");
  await life.check(warning);
  pombo.app.db.sqlite.run("UPDATE domain SET warning_at = warning_at - ? WHERE name = 'warning.test'", [71 * HOUR]);
  pombo.dns.faults["*"] = "no_name";
  await life.until(START + 1.2 * DAY);
  expect(await life.show(verified)).toMatchObject({ status: "verified" });
  expect((await life.show(warning)).status).toBe("warning");
  const denied = await life.check(verified);
  expect(denied.dns.dkim[0]).not.toHaveProperty("status");
  expect(denied.dns.dkim[0].hint).toContain("the operator's own name too");
  delete pombo.dns.faults["*"];
  await life.until(START + 1.4 * DAY);
  expect((await life.show(verified)).status).toBe("verified");
  expect((await life.show(warning)).status).toBe("failed");
});

test("of two DNS servers one alone takes no domain into warning", async () => {
  await using other = await startFakeDns();
  await using life = await startLife(START, { configure: (config) => void config.dns.servers.push(other.address) });
  const { pombo } = life;
  const id = await pombo.addDomain(pombo.workspace, "one.test");
  other.zone = { ...pombo.dns.zone };
  life.withdraw("one.test");
  const doubted = await life.check(id);
  expect(doubted.dns.dkim[0]).not.toHaveProperty("status");
  expect(doubted.dns.dkim[0].hint).toContain("do not agree");
  expect((await life.show(id)).status).toBe("verified");
  other.zone = {};
  await life.check(id);
  expect((await life.show(id)).status).toBe("warning");
});

test("72 hours of warning end only with a definite no", async () => {
  await using life = await startLife();
  const { pombo } = life;
  const id = await pombo.addDomain(pombo.workspace, "one.test");
  life.withdraw("one.test");
  await life.check(id);
  pombo.dns.faults["*"] = "servfail";
  pombo.app.db.sqlite.run("UPDATE domain SET warning_at = warning_at - ? WHERE name = 'one.test'", [80 * HOUR]);
  await life.until(START + 3 * HOUR);
  expect(life.checksOf("one.test").length).toBeGreaterThan(4);
  expect((await life.show(id)).status).toBe("warning");
  expect(await life.send("one.test")).toBe(202);
  delete pombo.dns.faults["*"];
  await life.until(START + 4.2 * HOUR);
  expect((await life.show(id)).status).toBe("failed");
});

test("a check that somebody asks for begins the waits anew", async () => {
  await using life = await startLife();
  const id = await life.register("one.test");
  const later = START + 8 * HOUR;
  await life.until(later);
  expect(Date.parse((await life.show(id)).nextCheckAt)).toBeGreaterThan(later);
  const before = life.checksOf("one.test").length;
  await life.check(id);
  const next = Date.parse((await life.show(id)).nextCheckAt) - later;
  expect(next).toBeGreaterThanOrEqual(4.5 * MINUTE);
  expect(next).toBeLessThanOrEqual(5.5 * MINUTE);
  await life.until(later + 6 * MINUTE);
  expect(life.checksOf("one.test")).toHaveLength(before + 2);
});
