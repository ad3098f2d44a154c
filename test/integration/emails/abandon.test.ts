// Mail that waits when its domain is deleted: it fails at once and with the reason, whatever comes
// between, and never goes out under the keys of a domain that is registered after it.
import { expect, setDefaultTimeout, test } from "bun:test";
import { createDeletedDomainSweep } from "../../../src/modules/emails/delivery/deleted-domain-sweep.ts";
import { openEmailStore } from "../../../src/modules/emails/store/store.ts";
import { openQueueStore } from "../../../src/modules/emails/queue/store.ts";
import { startHeld } from "../../support/api/kit.ts";
import { turn } from "../../support/db/temporary.ts";
import { HOUR, MINUTE, START } from "../../support/domains/life.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";

setDefaultTimeout(60_000);

const REASON = "The sending domain was deleted before this email could be delivered";

interface Found {
  status: string;
  failed_reason: string | null;
  ended_at: number | null;
  emails: number;
}

const found = (pombo: Instance, sender: string) =>
  pombo.app.db.sqlite
    .query<Found, [string]>(
      `SELECT status, failed_reason, ended_at IS NOT NULL AS ended_at, count(*) AS emails FROM email
       WHERE sender_domain = ? GROUP BY 1, 2, 3`,
    )
    .all(sender);

const totals = (pombo: Instance, domainId: number) =>
  pombo.app.db.sqlite
    .query<{ status: string; count: number }, [number]>(
      "SELECT status, count FROM email_total WHERE domain_id = ? AND count <> 0 ORDER BY status",
    )
    .all(domainId);

const queued = (pombo: Instance) =>
  pombo.app.db.sqlite.query<{ rows: number }, []>("SELECT count(*) AS rows FROM email_queue").get()?.rows;

const keyOf = (pombo: Instance, uid: string) =>
  pombo.app.db.sqlite.query<{ id: number }, [string]>("SELECT id FROM domain WHERE uid = ?").get(uid)?.id ?? 0;

/** Looks again at each turn of the event loop. */
async function until(isTrue: () => boolean): Promise<void> {
  for (let left = 500_000; !isTrue(); left -= 1) {
    if (left === 0) throw new Error("it did not come to that");
    await turn();
  }
}

async function sendMany(pombo: Instance, count: number): Promise<string[]> {
  const emails = Array.from({ length: count }, () => pombo.email({ from: "a@one.test" }));
  const answer = await pombo.workspace.call("POST", "/api/v1/emails/batch", { body: { emails } });
  expect(answer.status).toBe(202);
  return answer.body.data.map(({ id }: { id: string }) => id);
}

const show = async (pombo: Instance, id: string): Promise<Json> =>
  (await pombo.workspace.call("GET", `/api/v1/emails/${id}`)).body.data;

const remove = (pombo: Instance, id: string) => pombo.workspace.call("DELETE", `/api/v1/domains/${id}`);

/** What a kill right after the domain's deletion leaves. */
function deleteAlone(pombo: Instance, domainId: number): void {
  pombo.app.db.sqlite.run("DELETE FROM dkim_key WHERE domain_id = ?", [domainId]);
  pombo.app.db.sqlite.run("DELETE FROM domain WHERE id = ?", [domainId]);
}

test("2,000 queued emails of a deleted domain fail with the reason, and no others; the totals are right", async () => {
  await using held = await startHeld(START);
  const { pombo, clock } = held;
  const id = await pombo.addDomain(pombo.workspace, "one.test");
  const domainId = keyOf(pombo, id);
  // The first attempt looks for the way, and the lane waits for it.
  pombo.dns.faults["example.com"] = "slow";
  const ids = [...(await sendMany(pombo, 1_000)), ...(await sendMany(pombo, 1_000))];
  const other = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  await until(() => pombo.dns.queries.some(({ name }) => name === "example.com"));
  expect(queued(pombo)).toBe(2_001);
  expect((await remove(pombo, id)).status).toBe(200);
  await until(() => queued(pombo) === 2);
  await pombo.app.committer.commit(() => null);
  expect(await show(pombo, ids[1_234] ?? "")).toMatchObject({
    status: "failed",
    failedReason: REASON,
    nextAttemptAt: null,
    attempts: 0,
    bounce: null,
  });
  const told = pombo.events.filter(({ name }) => name === "domain.deleted_with_mail");
  expect(told.map(({ fields }) => fields)).toEqual([{ domain: "one.test", failed: 1_999 }]);

  // The one under way finds no key to be signed with: it does not go, and fails a minute later.
  pombo.dns.faults = {};
  pombo.dns.release();
  await until(() => queued(pombo) === 1);
  await pombo.app.worker.idle();
  expect((await show(pombo, other.body.data.id)).status).toBe("delivered");
  expect(await show(pombo, ids[0] ?? "")).toMatchObject({
    status: "delivery_delayed",
    lastReply: expect.stringContaining("could not be signed"),
  });
  clock.advance(MINUTE);
  await until(() => queued(pombo) === 0);
  await pombo.app.worker.idle();
  expect(found(pombo, "one.test")).toEqual([{ status: "failed", failed_reason: REASON, ended_at: 1, emails: 2_000 }]);
  expect(totals(pombo, domainId)).toEqual([{ status: "failed", count: 2_000 }]);
  const list = await pombo.workspace.call("GET", "/api/v1/emails?limit=1");
  expect(list.body.meta.total).toBe(2_001);
  expect(pombo.mx.messages).toHaveLength(1);
  expect(pombo.bugs).toEqual([]);
});

test("attempts that run when the domain is deleted end as they end, and what they put off fails within a minute", async () => {
  const answers = { taken: Promise.withResolvers<string>(), later: Promise.withResolvers<string>() };
  const asked = { taken: Promise.withResolvers<void>(), later: Promise.withResolvers<void>() };
  await using held = await startHeld(START, {
    mx: {
      rcpt(command) {
        const to = command.includes("taken") ? "taken" : "later";
        asked[to].resolve();
        return answers[to].promise;
      },
    },
  });
  const { pombo, clock } = held;
  const id = await pombo.addDomain(pombo.workspace, "one.test");
  const ids = { taken: "", later: "" };
  for (const to of ["taken", "later"] as const) {
    pombo.dns.zone[`${to}.test`] = { MX: [[10, "mx.example.com"]] };
    const body = pombo.email({ from: "a@one.test", to: `${to}@${to}.test` });
    ids[to] = (await pombo.workspace.call("POST", "/api/v1/emails", { body })).body.data.id;
    await asked[to].promise;
  }
  expect((await remove(pombo, id)).status).toBe(200);
  expect((await show(pombo, ids.taken)).status).toBe("sending");
  answers.taken.resolve("250 Ok");
  answers.later.resolve("450 4.2.1 Later");
  await pombo.mx.until(() => pombo.mx.messages.length === 1);
  await pombo.app.worker.idle();
  expect((await show(pombo, ids.taken)).status).toBe("delivered");
  const delayed = await show(pombo, ids.later);
  expect(delayed.status).toBe("delivery_delayed");
  clock.advance(MINUTE);
  await until(() => queued(pombo) === 0);
  await pombo.app.worker.idle();
  expect(await show(pombo, ids.later)).toMatchObject({ status: "failed", failedReason: REASON });
  expect(pombo.mx.messages).toHaveLength(1);
  expect(pombo.bugs).toEqual([]);
});

test("what a kill leaves over is failed at the next start, however late it is due", async () => {
  const clock = fakeClock(START);
  await using pombo = await startInstance({ clock });
  const id = await pombo.addDomain(pombo.workspace, "one.test");
  const domainId = keyOf(pombo, id);
  pombo.dns.faults["example.com"] = "servfail";
  await sendMany(pombo, 700);
  await pombo.app.worker.idle();
  pombo.app.db.sqlite.run("UPDATE email_queue SET next_at = ?", [START + 6 * HOUR]);
  deleteAlone(pombo, domainId);
  pombo.dns.faults = {};
  await pombo.restart();
  await until(() => queued(pombo) === 0);
  await pombo.app.committer.commit(() => null);
  expect(found(pombo, "one.test")).toEqual([{ status: "failed", failed_reason: REASON, ended_at: 1, emails: 700 }]);
  expect(totals(pombo, domainId)).toEqual([{ status: "failed", count: 700 }]);
  expect(pombo.mx.connections).toHaveLength(0);
  expect(pombo.bugs).toEqual([]);
});

test("the name can be registered again at once, and the old mail does not get the new keys", async () => {
  const clock = fakeClock(START);
  await using pombo = await startInstance({ clock });
  const id = await pombo.addDomain(pombo.workspace, "one.test");
  const domainId = keyOf(pombo, id);
  pombo.dns.faults["example.com"] = "servfail";
  const [old = ""] = await sendMany(pombo, 1);
  await pombo.app.worker.idle();
  // Deleted by hand, so that the old mail is still there when the new domain is.
  deleteAlone(pombo, domainId);
  const again = await pombo.addDomain(pombo.workspace, "one.test");
  expect(keyOf(pombo, again)).toBeGreaterThan(domainId);
  pombo.dns.faults = {};
  clock.advance(2 * MINUTE);
  await pombo.app.worker.idle();
  expect(await show(pombo, old)).toMatchObject({ status: "failed", failedReason: REASON });
  expect(pombo.mx.messages).toHaveLength(0);
  const [fresh = ""] = await sendMany(pombo, 1);
  await pombo.app.worker.idle();
  expect((await show(pombo, fresh)).status).toBe("delivered");
  expect(pombo.bugs).toEqual([]);
});

test("a storage that fails in the middle only puts off the rest, and a stop ends it", async () => {
  const clock = fakeClock(START);
  await using pombo = await startInstance({ clock });
  const id = await pombo.addDomain(pombo.workspace, "one.test");
  pombo.dns.faults["example.com"] = "servfail";
  await sendMany(pombo, 600);
  await pombo.app.worker.idle();
  deleteAlone(pombo, keyOf(pombo, id));
  const { db, committer, guard } = pombo.app;
  const bugs: unknown[] = [];
  const abandoner = createDeletedDomainSweep({
    emails: openEmailStore(db),
    recordEvent: () => undefined,
    queue: openQueueStore(db),
    commit: committer.commit,
    clock,
    log: { event: () => undefined, error: (_, error) => void bugs.push(error) },
  });
  db.sqlite.run("PRAGMA query_only = ON");
  abandoner.start();
  abandoner.trigger();
  await until(() => guard.failure !== null);
  expect(queued(pombo)).toBe(600);
  db.sqlite.run("PRAGMA query_only = OFF");
  clock.advance(MINUTE);
  await until(() => queued(pombo) === 0);
  await committer.commit(() => null);
  expect(found(pombo, "one.test")).toMatchObject([{ status: "failed", emails: 600 }]);
  expect(bugs).toEqual([]);
  await abandoner.stop();
  abandoner.trigger();
});
