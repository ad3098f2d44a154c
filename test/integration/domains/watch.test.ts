// How the checks in the background run: how many at once, over restarts, stops, a full disk and a clock
// that is set.
import { expect, setDefaultTimeout, test } from "bun:test";
import { type FakeClock, fakeClock } from "../../support/fakes/clock.ts";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { turn } from "../../support/db/temporary.ts";
import { DAY, HOUR, MINUTE, START, startLife, toolsFor } from "../../support/domains/life.ts";

setDefaultTimeout(60_000);

const RSA = /^pombo1\._domainkey\./;

/** Domains of `workspace` with the keys of `loja.test`, written as if they had been registered long ago. */
function insertDomains(pombo: Instance, options: { names: string[]; workspaceId: number; status: string; at: number }) {
  const { sqlite } = pombo.app.db;
  for (const name of options.names) {
    const { workspaceId, status, at } = options;
    const verifiedAt = status === "pending" ? null : START - 30 * DAY;
    const { lastInsertRowid: id } = sqlite.run(
      `INSERT INTO domain (uid, workspace_id, name, status, created_at, verified_at, checked_at, next_check_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      [crypto.randomUUID(), workspaceId, name, status, START - DAY, verifiedAt, at - DAY, at],
    );
    sqlite.run(
      `INSERT INTO dkim_key SELECT ?, selector, algorithm, public_key, private_key FROM dkim_key
       WHERE domain_id = (SELECT id FROM domain WHERE name = 'loja.test')`,
      [id],
    );
  }
}

/** The zone of a domain that has the keys of `loja.test`. */
function publishLike(pombo: Instance, names: string[]): void {
  for (const name of names) {
    for (const key of ["pombo1._domainkey", "pombo2._domainkey", "bounce", "_dmarc"])
      pombo.dns.zone[`${key}.${name}`] = pombo.dns.zone[`${key}.loja.test`] ?? {};
  }
}

const namesFor = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}${index + 1}.test`);

const askedFor = (pombo: Instance) =>
  pombo.dns.queries.filter(({ name, type }) => RSA.test(name) && type === "TXT").map(({ name }) => name);

const rows = (pombo: Instance, where: string) =>
  pombo.app.db.sqlite
    .query<{ name: string; status: string; next_check_at: number | null }, []>(
      `SELECT name, status, next_check_at FROM domain WHERE ${where}`,
    )
    .all();

/** Lets time pass in short steps, so that checks begin at their pace; what DNS holds back stays held. */
async function pass(clock: FakeClock, ms: number, stepMs = 200): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    clock.advance(stepMs);
    await turn(2);
  }
}

/** Looks again at each turn of the event loop; `step` moves what it waits for. */
async function until(step: () => boolean, turns = 200_000): Promise<void> {
  for (let left = turns; !step(); left -= 1) {
    if (left === 0) throw new Error("it did not come to that");
    await turn();
  }
}

test("a few checks run at once, and one workspace's mute DNS leaves room for the others", async () => {
  await using life = await startLife();
  const { pombo, clock } = life;
  await pombo.newWorkspace();
  const mute = namesFor("mute", 20);
  insertDomains(pombo, { names: mute, workspaceId: 1, status: "pending", at: START + MINUTE });
  // Due after all of those.
  const other = namesFor("other", 3);
  insertDomains(pombo, { names: other, workspaceId: 2, status: "pending", at: START + MINUTE + 1_500 });
  publishLike(pombo, other);
  for (const name of mute) pombo.dns.faults[`pombo1._domainkey.${name}`] = "slow";
  await life.until(START + 50_000);
  // Nothing from here on takes as long as a look-up waits for its answer: the mute ones do not end.
  clock.advance(10_000);
  await pass(clock, 2_000);
  const mutes = () => new Set(askedFor(pombo).filter((name) => name.includes("mute"))).size;
  await until(() => mutes() === 4);

  await pass(clock, 600);
  await until(() => rows(pombo, "name LIKE 'other%' AND status = 'verified'").length === 3);
  await pass(clock, 600);
  expect(mutes()).toBe(4);
  pombo.dns.faults = {};
  pombo.dns.release();
});

test("after a long pause the daily checks are spread over the next hour, and what is pending does not wait for them", async () => {
  const clock = fakeClock(START);
  await using pombo = await startInstance({ clock });
  const life = toolsFor(pombo, clock);
  const names = namesFor("d", 300);
  insertDomains(pombo, { names, workspaceId: 1, status: "verified", at: START + HOUR });
  publishLike(pombo, names);
  const fresh = await life.register("fresh.test");
  await life.publish(fresh);
  await pombo.app.stop(0);
  clock.advance(3 * DAY);
  await pombo.restart();
  await pombo.app.domains.idle();
  const restartedAt = clock.now();
  const planned = rows(pombo, "name LIKE 'd%'").map(({ next_check_at: at }) => (at ?? 0) - restartedAt);
  expect(Math.min(...planned)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...planned)).toBeLessThan(HOUR);
  // No minute has much more than its share.
  const perMinute = Map.groupBy(planned, (at) => Math.floor(at / MINUTE));
  expect(Math.max(...[...perMinute.values()].map((those) => those.length))).toBeLessThan(12);
  await life.until(restartedAt + 1_000);
  expect((await life.show(fresh)).status).toBe("verified");
  await life.until(restartedAt + 1.1 * HOUR);
  for (const name of names) expect([name, life.checksOf(name).length]).toEqual([name, 1]);
  // Verified in one hour, they are looked at again over several.
  const next = rows(pombo, "name LIKE 'd%'").map(({ next_check_at: at }) => at ?? 0);
  expect(Math.max(...next) - Math.min(...next)).toBeGreaterThan(4 * HOUR);
  expect(pombo.bugs).toEqual([]);
});

test("a restart goes on where the last run ended", async () => {
  const clock = fakeClock(START);
  await using pombo = await startInstance({ clock });
  const life = toolsFor(pombo, clock);
  const id = await life.register("one.test");
  await life.until(START + 5 * MINUTE + 30_000);
  await pombo.restart();
  expect((await life.show(id)).nextCheckAt).toBe(new Date(START + 6 * MINUTE).toISOString());
  await life.until(START + 7 * MINUTE);
  expect(life.checksOf("one.test")).toEqual([1, 2, 3, 4, 5, 6, 7].map((minute) => START + minute * MINUTE));
});

test("a stop in the middle of a check writes nothing, and the next start checks", async () => {
  const clock = fakeClock(START);
  await using pombo = await startInstance({ clock });
  const life = toolsFor(pombo, clock);
  const id = await life.register("one.test");
  await life.publish(id);
  pombo.dns.faults["pombo1._domainkey.one.test"] = "slow";
  const asked = pombo.dns.queries.length;
  clock.advance(MINUTE);
  await pombo.dns.seen(asked + 4);
  await pombo.app.stop(0);
  delete pombo.dns.faults["pombo1._domainkey.one.test"];
  pombo.dns.release();
  await turn(20);
  expect(pombo.bugs).toEqual([]);
  expect(pombo.events.filter(({ name }) => /^(disk\.|domain\.(warning|failed))/.test(name))).toEqual([]);
  await pombo.restart();
  await life.until(clock.now() + 1_000);
  expect((await life.show(id)).status).toBe("verified");
});

test("a disk that cannot be written changes nothing, and the checks go on when it can", async () => {
  await using life = await startLife();
  const { pombo, clock } = life;
  const id = await life.register("one.test");
  await life.publish(id);
  pombo.app.db.sqlite.run("PRAGMA query_only = ON");
  clock.advance(MINUTE);
  await pombo.app.domains.idle();
  expect(pombo.app.guard.failure).toContain("cannot be written");
  expect(await life.show(id)).toMatchObject({ status: "pending", lastCheckedAt: null });
  const seen = life.checksOf("one.test").length;
  // While that lasts nobody is asked in vain.
  for (let second = 0; second < 300; second += 1) {
    clock.advance(1_000);
    await turn(2);
  }
  expect(life.checksOf("one.test")).toHaveLength(seen);
  pombo.app.db.sqlite.run("PRAGMA query_only = OFF");
  await until(() => {
    clock.advance(1_000);
    return pombo.app.guard.failure === null;
  });
  await life.until(clock.now() + MINUTE);
  expect((await life.show(id)).status).toBe("verified");
  expect(pombo.bugs).toEqual([]);
});

/** A clock that can be set, as a machine's; its timers run by the time that passes. */
function settableClock(): FakeClock & { set(ms: number): void } {
  const passing = fakeClock(START);
  let offset = 0;
  return {
    now: () => passing.now() + offset,
    after: passing.after,
    advance: passing.advance,
    get pending() {
      return passing.pending;
    },
    set: (ms) => void (offset = ms),
  };
}

test("a clock set back holds up no check for long, and one set forward makes no burst", async () => {
  const clock = settableClock();
  await using pombo = await startInstance({ clock });
  const life = toolsFor(pombo, clock);
  const names = namesFor("d", 30);
  insertDomains(pombo, { names, workspaceId: 1, status: "verified", at: START + 20 * HOUR });
  publishLike(pombo, names);
  const id = await life.register("one.test");
  await life.until(START + 3 * MINUTE);

  clock.set(-10 * DAY);
  await life.until(clock.now() + 2 * MINUTE);
  await pombo.app.domains.idle();
  const setAt = clock.now();
  await life.publish(id);
  for (const { name, next_check_at: at } of rows(pombo, "next_check_at IS NOT NULL"))
    expect([name, (at ?? 0) - setAt <= 1.1 * DAY]).toEqual([name, true]);
  await life.until(setAt + HOUR);
  expect((await life.show(id)).status).toBe("verified");
  for (const name of names) expect([name, life.checksOf(name).length]).toEqual([name, 1]);

  clock.set(10 * DAY);
  clock.advance(MINUTE);
  await pombo.app.domains.idle();
  const planned = rows(pombo, "name LIKE 'd%'").map(({ next_check_at: at }) => (at ?? 0) - clock.now());
  expect(Math.max(...planned) - Math.min(...planned)).toBeGreaterThan(2 * MINUTE);
  expect(Math.max(...planned)).toBeLessThan(HOUR);
  expect(pombo.bugs).toEqual([]);
});

test("a check that somebody asks for while another runs looks anew, and has the last word", async () => {
  await using life = await startLife();
  const { pombo, clock } = life;
  const id = await pombo.addDomain(pombo.workspace, "one.test");
  const key = "pombo1._domainkey.one.test";
  const kept = pombo.dns.zone[key] ?? {};
  delete pombo.dns.zone[key];
  pombo.dns.faults[key] = "slow";
  const asked = pombo.dns.queries.length;
  const dueAt = Date.parse((await life.show(id)).nextCheckAt);
  clock.advance(dueAt - clock.now());
  await until(() => pombo.dns.queries.slice(asked).some(({ name }) => name === key));
  // What the check in the background will be told is out of date by now.
  delete pombo.dns.faults[key];
  pombo.dns.zone[key] = kept;
  const asking = life.check(id);
  // Time enough to answer it, were it not to wait for the other.
  let turns = 2_000;
  void asking.then(() => (turns = 0));
  for (; turns > 0; turns -= 1) await turn();
  pombo.dns.release();
  expect((await asking).dns.dkim[0].status).toBe("found");
  await pombo.app.domains.idle();
  expect((await life.show(id)).status).toBe("verified");
  expect(life.told()).toEqual(["domain.verified", "domain.verified", "domain.warning", "domain.verified"]);
});

test("a bug in one domain's check is told, and holds up neither the others nor the processor", async () => {
  await using life = await startLife();
  const { pombo } = life;
  insertDomains(pombo, { names: ["broken.test"], workspaceId: 1, status: "pending", at: START + MINUTE });
  pombo.app.db.sqlite.run("DELETE FROM dkim_key WHERE domain_id = (SELECT id FROM domain WHERE name = 'broken.test')");
  const id = await life.register("one.test");
  await life.publish(id);
  await life.until(START + 30 * MINUTE);
  expect((await life.show(id)).status).toBe("verified");
  expect(pombo.bugs).toHaveLength(1);
  expect(String(pombo.bugs[0] && (pombo.bugs[0] as { error: unknown }).error)).toContain("broken.test has no key");
});
