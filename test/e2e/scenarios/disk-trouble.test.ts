// Storage that fails at the worst moments, in process: a database that may not grow (a real
// SQLITE_FULL) and one that has become read-only, while mail is being accepted, and between the mail
// server's 250 and the record of it. The clock stands still, so that the guard's tries are counted.
import { expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { allowLoopback } from "../../support/api/webhook-kit.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { within } from "./child.ts";
import { record } from "./mail.ts";

setDefaultTimeout(30_000);

const LIMIT_MS = 10_000;
/** How often src/platform/db/disk-guard.ts tries a write, and src/platform/queue/worker.ts a record. */
const TRY_EVERY_MS = 1_000;
const LOOK_EVERY_MS = 5_000;

interface Fault {
  name: string;
  begin(pombo: Instance): void;
  end(pombo: Instance): void;
}

const READ_ONLY: Fault = {
  name: "read-only",
  begin: (pombo) => pombo.app.db.sqlite.run("PRAGMA query_only = ON"),
  end: (pombo) => pombo.app.db.sqlite.run("PRAGMA query_only = OFF"),
};
const FULL: Fault = {
  name: "full",
  begin: (pombo) => pombo.app.db.sqlite.run("PRAGMA max_page_count = 1"), // no fewer than there are
  end: (pombo) => pombo.app.db.sqlite.run("PRAGMA max_page_count = 4294967294"),
};

const post = (pombo: Instance, changes: Record<string, unknown> = {}, idempotencyKey: string = crypto.randomUUID()) =>
  pombo.workspace.call("POST", "/api/v1/emails", {
    body: pombo.email(changes),
    headers: { "idempotency-key": idempotencyKey },
  });
const total = async (pombo: Instance): Promise<number> =>
  (await pombo.workspace.call("GET", "/api/v1/emails")).body.meta.total;
const unwell = (pombo: Instance) => waitUntil("the guard closes", LIMIT_MS, () => pombo.app.guard.failure !== null);
const well = (pombo: Instance) => waitUntil("the guard opens", LIMIT_MS, () => pombo.app.guard.blockedReason === null);
/** Too much for what is left of the last page. */
const big = () => randomBytes(60_000).toString("base64").slice(0, 80_000);

for (const fault of [FULL, READ_ONLY]) {
  test(`a database that is ${fault.name} refuses a send with 503, keeps nothing of it, and takes it again by itself`, async () => {
    const clock = fakeClock();
    await using pombo = await startInstance({ clock });
    expect((await post(pombo)).status).toBe(202);
    await pombo.app.worker.idle();
    fault.begin(pombo);

    const refused = await post(pombo, { text: big() }, "again");
    expect(refused.status).toBe(503);
    expect(refused.body.errors[0]).toMatchObject({ code: "UNAVAILABLE" });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await total(pombo)).toBe(1);
    expect((await pombo.operator.call("GET", "/ready", { key: null })).status).toBe(503);
    fault.end(pombo);
    clock.advance(TRY_EVERY_MS);
    await well(pombo);
    const sent = await post(pombo, { text: big() }, "again");
    expect(sent.status).toBe(202);
    expect(sent.headers.get("idempotent-replayed")).toBeNull();
    expect(await total(pombo)).toBe(2);
    await pombo.app.worker.idle();
    expect(await record(pombo, sent.body.data.id)).toMatchObject({ status: "delivered", attempts: 1 });
    expect(pombo.app.db.sqlite.query("SELECT count FROM usage WHERE name = 'emails'").all()).toEqual([{ count: 2 }]);
    expect(pombo.bugs).toEqual([]);
  });
}

test("a batch that the disk cannot hold is refused whole", async () => {
  const clock = fakeClock();
  await using pombo = await startInstance({ clock });
  FULL.begin(pombo);
  const emails = Array.from({ length: 30 }, (_, index) =>
    pombo.email({ subject: `Olá ${index}`, text: big().slice(0, 3_000) }),
  );
  const refused = await pombo.workspace.call("POST", "/api/v1/emails/batch", { body: { emails } });
  expect(refused.status).toBe(503);
  expect(await total(pombo)).toBe(0);
  FULL.end(pombo);
  clock.advance(TRY_EVERY_MS);
  await well(pombo);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toHaveLength(0);
  expect(pombo.bugs).toEqual([]);
});

test("a 250 that cannot be recorded is kept in memory and recorded when the database takes writes again, not sent again", async () => {
  const clock = fakeClock();
  await using pombo = await startInstance({ clock });
  pombo.mx.script.dot = () => {
    READ_ONLY.begin(pombo);
    return "250 2.0.0 Queued";
  };
  const { id } = (await post(pombo)).body.data;
  await unwell(pombo);
  expect(await record(pombo, id)).toMatchObject({ status: "sending", attempts: 1, deliveredAt: null });
  for (let tries = 0; tries < 3; tries += 1) {
    clock.advance(TRY_EVERY_MS);
    expect(await record(pombo, id)).toMatchObject({ status: "sending" });
  }
  expect((await post(pombo)).status).toBe(503);

  READ_ONLY.end(pombo);
  clock.advance(TRY_EVERY_MS);
  await pombo.app.worker.idle();
  await well(pombo);
  expect(await record(pombo, id)).toMatchObject({ status: "delivered", attempts: 1, possibleDuplicate: false });
  expect(pombo.mx.messages).toHaveLength(1);
  expect(pombo.bugs).toEqual([]);
});

test("what waits when the database can no longer grow is not sent until it can", async () => {
  const clock = fakeClock();
  const SESSIONS = 5;
  await using pombo = await startInstance({
    clock,
    configure: (config) => void (config.email.sessionsPerDestination = SESSIONS),
  });
  const gate = Promise.withResolvers<string>();
  pombo.mx.script.dot = () => gate.promise;
  for (let number = 0; number < 60; number += 1) await post(pombo, { subject: `Olá ${number}` });
  await within(
    LIMIT_MS,
    "the first messages",
    pombo.mx.until(() => pombo.mx.messages.length === SESSIONS),
  );
  FULL.begin(pombo);
  // Long answers, so that their records need pages that cannot be had.
  const answer = `250 2.0.0 ${"Queued ".repeat(70)}`;
  pombo.mx.script.dot = answer;
  gate.resolve(answer);
  await unwell(pombo);
  for (let tries = 0; tries < 5; tries += 1) {
    clock.advance(TRY_EVERY_MS);
    expect((await post(pombo, { text: big() })).status).toBe(503);
    expect(pombo.app.guard.failure).not.toBeNull();
  }
  // What was between dot and 250, and what still fitted in.
  expect(pombo.mx.messages.length).toBeLessThanOrEqual(4 * SESSIONS);

  FULL.end(pombo);
  clock.advance(TRY_EVERY_MS);
  await well(pombo);
  await pombo.app.worker.idle();
  clock.advance(3_600_000); // what was put off at its dot
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toHaveLength(60);
  const list = await pombo.workspace.call("GET", "/api/v1/emails?limit=100");
  expect(list.body.data.filter((email: { deliveredAt: string | null }) => email.deliveredAt === null)).toEqual([]);
  expect(pombo.bugs).toEqual([]);
});

test("a database that cannot grow stays closed for sends, though small writes would still fit", async () => {
  const clock = fakeClock();
  await using pombo = await startInstance({ clock });
  const gate = Promise.withResolvers<string>();
  pombo.mx.script.dot = () => gate.promise;
  const { id } = (await post(pombo)).body.data;
  await within(
    LIMIT_MS,
    "the message",
    pombo.mx.until(() => pombo.mx.messages.length === 1),
  );
  FULL.begin(pombo);
  expect((await post(pombo, { text: big() })).status).toBe(503);
  // Its record is small: it is not lost over this.
  gate.resolve("250 2.0.0 Queued");
  await waitUntil("it is delivered", LIMIT_MS, async () => (await record(pombo, id)).status === "delivered");
  for (let tries = 0; tries < 3; tries += 1) {
    clock.advance(TRY_EVERY_MS);
    expect((await post(pombo)).status).toBe(503);
  }
  FULL.end(pombo);
  clock.advance(TRY_EVERY_MS);
  await well(pombo);
  expect((await post(pombo)).status).toBe(202);
  await pombo.app.worker.idle();
  expect(pombo.bugs).toEqual([]);
});

test("a stop waits until what was delivered can be recorded", async () => {
  const clock = fakeClock();
  await using pombo = await startInstance({ clock });
  pombo.mx.script.dot = () => {
    READ_ONLY.begin(pombo);
    return "250 2.0.0 Queued";
  };
  const { id } = (await post(pombo)).body.data;
  await unwell(pombo);
  let isStopped = false;
  const restarted = pombo.restart().then(() => (isStopped = true));
  clock.advance(TRY_EVERY_MS);
  await waitUntil("another try fails", LIMIT_MS, () => pombo.app.guard.failure !== null);
  expect(isStopped).toBe(false);
  READ_ONLY.end(pombo);
  clock.advance(TRY_EVERY_MS);
  await within(LIMIT_MS, "the stop", restarted);
  expect(await record(pombo, id)).toMatchObject({ status: "delivered", attempts: 1, possibleDuplicate: false });
  expect(pombo.mx.messages).toHaveLength(1);
});

test("a stop while nothing can be written ends in time, says what could not be recorded, and the next start records it", async () => {
  const clock = fakeClock();
  await using pombo = await startInstance({ clock, configure: allowLoopback });
  await using receiver = startReceiver();
  const hook = { url: receiver.url, events: ["email.delivered"] };
  expect((await pombo.workspace.call("POST", "/api/v1/webhooks", { body: hook })).status).toBe(201);
  const answer = Promise.withResolvers<Response>();
  receiver.answer = () => answer.promise;
  await post(pombo);
  await within(
    LIMIT_MS,
    "the call",
    receiver.until(() => receiver.calls.length === 1),
  );
  pombo.mx.script.dot = () => {
    READ_ONLY.begin(pombo);
    return "250 2.0.0 Queued";
  };
  const { id } = (await post(pombo)).body.data;
  await unwell(pombo);
  answer.resolve(new Response(null, { status: 204 }));
  await Bun.sleep(50);
  const stopped = pombo.restart();
  // As long as a stop may take beside the replica.
  for (let second = 0; second < 45; second += 1) {
    clock.advance(1_000);
    await Bun.sleep(2);
  }
  await within(LIMIT_MS, "the stop", stopped);
  expect(pombo.events.find(({ name }) => name === "pombo.unrecorded")?.fields).toMatchObject({
    emails: 1,
    webhooks: 1,
    texts: 0,
  });
  receiver.answer = () => new Response(null, { status: 204 });
  pombo.mx.script.dot = "250 2.0.0 Queued";
  clock.advance(10 * 60_000);
  await pombo.app.worker.idle();
  expect(await record(pombo, id)).toMatchObject({ status: "delivered", attempts: 1, possibleDuplicate: false });
  expect(pombo.mx.messages).toHaveLength(2);
  await within(
    LIMIT_MS,
    "the calls",
    receiver.until(() => receiver.calls.length === 3),
  );
  const [first, again] = receiver.calls.map(({ headers }) => headers["webhook-id"]);
  expect(again).toBe(first);
  expect(pombo.bugs).toEqual([]);
});

test("with less free space or fewer free inodes than the limit nothing new is taken, while queued mail goes out", async () => {
  const clock = fakeClock();
  const free = { freeBytes: 10_000_000, freeInodesPercent: 50 };
  await using pombo = await startInstance({
    clock,
    readFree: () => free,
    configure: (config) => {
      config.disk.minFreeBytes = 1_000_000;
      config.disk.minFreeInodesPercent = 1;
    },
  });
  pombo.mx.script.rcpt = "451 4.3.0 Later";
  const { id } = (await post(pombo)).body.data;
  await pombo.app.worker.idle();
  delete pombo.mx.script.rcpt;
  for (const short of [{ freeBytes: 999_999 }, { freeInodesPercent: 0.9 }]) {
    const before = { ...free };
    Object.assign(free, short);
    clock.advance(LOOK_EVERY_MS);
    const refused = await post(pombo);
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await pombo.operator.call("GET", "/ready", { key: null })).body.reason).toContain("[disk] min_free");
    expect(await total(pombo)).toBe(1);
    Object.assign(free, before);
    clock.advance(LOOK_EVERY_MS);
    expect(pombo.app.guard.blockedReason).toBeNull();
  }
  free.freeBytes = 0;
  clock.advance(LOOK_EVERY_MS);
  clock.advance(2 * 60_000);
  await within(
    LIMIT_MS,
    "the queued email",
    pombo.mx.until(() => pombo.mx.messages.length === 1),
  );
  await pombo.app.worker.idle();
  expect(await record(pombo, id)).toMatchObject({ status: "delivered", attempts: 2 });
  expect((await post(pombo)).status).toBe(503);
});
