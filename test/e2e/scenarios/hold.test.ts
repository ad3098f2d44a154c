// The operator holds a workspace's queue: what was accepted waits, is not lost, expires on its time, and
// goes out once when the hold is over. Nobody else notices.
import { expect, setDefaultTimeout, test } from "bun:test";
import { gate } from "../../support/api/one-email.ts";
import type { Client, Instance } from "../../support/fakes/instance.ts";
import { until } from "../../support/queue/kit.ts";
import { within } from "./child.ts";
import { attemptsOf, HOUR_MS, MINUTE_MS, pass, record, send, startStill } from "./mail.ts";

setDefaultTimeout(30_000);

const LIMIT_MS = 10_000;
const DESTINATIONS = ["one.test", "two.test", "three.test"];

function ask(pombo: Instance, what: "block" | "unblock", body?: unknown) {
  const path = `/api/v1/operator/workspaces/${pombo.workspace.id}/${what}`;
  return pombo.operator.call("POST", path, body === undefined ? {} : { body });
}

async function hold(pombo: Instance): Promise<void> {
  const { status, body } = await ask(pombo, "block", { hold: true });
  expect([status, body.data.blocks[0].holdsQueue]).toEqual([200, true]);
}

const idle = (pombo: Instance) => within(LIMIT_MS, "nothing to do", pombo.app.worker.idle());

/** Whom the mail server has mail for from a sender, in the order of the names. */
const receivedFrom = ({ mx }: Instance, domain: string) =>
  mx.messages
    .filter(({ from, stuffed }) => from !== "" && stuffed.includes(`@${domain}`))
    .map(({ to }) => to[0])
    .toSorted();

async function batch(pombo: Instance, client: Client, from: string, count: number): Promise<string[]> {
  const to = (i: number) => `u${String(i).padStart(3, "0")}@${DESTINATIONS[i % DESTINATIONS.length]}`;
  const emails = Array.from({ length: count }, (_, i) => pombo.email({ from, to: to(i) }));
  const answer = await client.call("POST", "/api/v1/emails/batch", { body: { emails } });
  expect(answer.status).toBe(202);
  return emails.map((email) => String(email["to"])).toSorted();
}

test("under load: what runs ends, the rest waits, others' mail goes on, and an unblock delivers all of it once", async () => {
  await using pombo = await startStill({ configure: (config) => void (config.email.sessionsPerDestination = 2) });
  for (const domain of DESTINATIONS) pombo.dns.zone[domain] = { MX: [[10, "mx.example.com"]] };
  const other = await pombo.newWorkspace();
  await pombo.addDomain(other, "other.test");
  const full = gate();
  let dots = 0;
  pombo.mx.script.dot = () => ((dots += 1) <= 6 ? "250 2.0.0 Ok" : full.step());

  const all = await batch(pombo, pombo.workspace, "a@loja.test", 60);
  await within(LIMIT_MS, "a full site", full.reached);
  await hold(pombo);
  const running = pombo.app.worker.runningCount;
  expect(running).toBeGreaterThan(0);
  full.open("250 2.0.0 Ok");
  await idle(pombo);
  // What ran at the moment of the answer has come to its end, and nothing else has begun.
  const before = receivedFrom(pombo, "loja.test");
  expect([before.length <= 6 + running, before.length < all.length]).toEqual([true, true]);
  const rows = pombo.app.db.sqlite
    .query<{ attempts: number; in_flight: number }, []>("SELECT * FROM email_queue")
    .all();
  expect(rows.map(({ attempts, in_flight: inFlight }) => [attempts, inFlight])).toEqual(rows.map(() => [0, 0]));
  expect(rows.length).toBe(all.length - before.length);

  const others = await batch(pombo, other, "b@other.test", 60);
  await idle(pombo);
  expect(receivedFrom(pombo, "other.test")).toEqual(others);
  expect(receivedFrom(pombo, "loja.test")).toEqual(before);
  await pass(pombo, 3 * HOUR_MS);
  expect(receivedFrom(pombo, "loja.test")).toEqual(before);

  expect((await ask(pombo, "unblock")).status).toBe(200);
  await idle(pombo);
  expect(receivedFrom(pombo, "loja.test")).toEqual(all);
  expect(pombo.bugs).toEqual([]);
});

test("a block without a hold refuses new email, and what was accepted goes on", async () => {
  await using pombo = await startStill({ mx: { rcpt: "450 4.2.0 Later" }, retryMs: [MINUTE_MS] });
  const id = await send(pombo, "a@example.com");
  await idle(pombo);
  expect((await ask(pombo, "block", {})).status).toBe(200);
  pombo.mx.script = {};
  await pass(pombo, 2 * MINUTE_MS);
  expect(await record(pombo, id)).toMatchObject({ status: "delivered", attempts: 2 });
});

test("what is held expires on its time, whether it was tried before or not, and nothing of it is sent later", async () => {
  await using pombo = await startStill({
    mx: { rcpt: (line) => (line.includes("later") ? "450 4.2.0 Later" : "250 Ok") },
    retryMs: [HOUR_MS],
    configure: (config) => Object.assign(config.email, { lifetimeMs: 72 * HOUR_MS, sessionsPerDestination: 1 }),
  });
  const delayed = await send(pombo, "later@example.com");
  await idle(pombo);
  await pass(pombo, 90_500);
  // One in transmission, one waits for its session, and the third was never tried.
  const atRcpt = gate();
  pombo.mx.script.rcpt = () => atRcpt.step();
  const running = [await send(pombo, "x@example.com"), await send(pombo, "y@example.com")];
  await within(LIMIT_MS, "an attempt", atRcpt.reached);
  const queued = await send(pombo, "z@example.com");
  await hold(pombo);
  atRcpt.open("250 Ok");
  await idle(pombo);
  for (const id of running) expect(await record(pombo, id)).toMatchObject({ status: "delivered" });
  expect(await record(pombo, queued)).toMatchObject({ status: "queued", attempts: 0 });
  expect(await record(pombo, delayed)).toMatchObject({ status: "delivery_delayed", attempts: 1 });

  const expired = (id: string) =>
    pombo.events.some(({ name, fields }) => name === "email.failed" && fields["id"] === id);
  const step = async (ms: number) => {
    pombo.clock.advance(ms);
    // What the timers began is committed in the next turns.
    for (let turn = 0; turn < 10; turn++) await new Promise<void>((next) => setImmediate(next));
  };
  await step(72 * HOUR_MS - 90_500 - 1);
  expect([expired(delayed), expired(queued)]).toEqual([false, false]);
  await step(1);
  expect([expired(delayed), expired(queued)]).toEqual([true, false]);
  await step(90_499);
  expect(expired(queued)).toBe(false);
  await step(1);
  expect(expired(queued)).toBe(true);
  expect(await record(pombo, delayed)).toMatchObject({
    status: "failed",
    attempts: 1,
    failedReason: expect.stringMatching(/^4\.4\.7 Not delivered within 72 h; last answer: 450 4\.2\.0 Later/),
    bounce: { type: "transient", category: "expired" },
  });
  expect(await record(pombo, queued)).toMatchObject({
    status: "failed",
    attempts: 0,
    failedReason: "4.4.7 Not delivered within 72 h",
  });
  const sent = pombo.mx.messages.length;
  await ask(pombo, "unblock");
  await pass(pombo, 10 * HOUR_MS);
  expect([pombo.mx.messages.length, pombo.bugs]).toEqual([sent, []]);
});

test("more than a share of held emails expire together, and the workspace's figures agree", async () => {
  await using pombo = await startStill({ configure: (config) => void (config.email.lifetimeMs = HOUR_MS) });
  const other = await pombo.newWorkspace();
  await pombo.addDomain(other, "other.test");
  pombo.mx.script.rcpt = "450 4.2.0 Later";
  await batch(pombo, pombo.workspace, "a@loja.test", 900);
  await hold(pombo);
  await idle(pombo);
  pombo.clock.advance(HOUR_MS);
  const counts = () =>
    pombo.app.db.sqlite
      .query<{ status: string; count: number }, []>("SELECT status, count FROM email_total WHERE count > 0")
      .all();
  await until(() => pombo.app.db.sqlite.query("SELECT id FROM email_queue").all().length === 0);
  expect(counts()).toEqual([{ status: "failed", count: 900 }]);
  expect(pombo.events.filter(({ name }) => name === "email.failed")).toHaveLength(900);
  const shown = await pombo.operator.call("GET", `/api/v1/operator/workspaces/${pombo.workspace.id}`);
  expect(shown.body.data.waiting).toBe(0);
});

test("a hold outlives a restart: nothing is sent after it, expiry goes on, and an unblock lets the rest go", async () => {
  await using pombo = await startStill({
    mx: { rcpt: "450 4.2.0 Later" },
    retryMs: [MINUTE_MS],
    configure: (config) => void (config.email.lifetimeMs = 10 * HOUR_MS),
  });
  const early = await send(pombo, "a@example.com");
  await idle(pombo);
  pombo.clock.advance(HOUR_MS);
  await idle(pombo);
  const late = await send(pombo, "b@example.com");
  await idle(pombo);
  await hold(pombo);
  pombo.mx.script = {};
  await pombo.restart();
  await pass(pombo, 8 * HOUR_MS);
  expect(pombo.mx.messages).toEqual([]);
  await pass(pombo, HOUR_MS);
  await until(() => pombo.events.some(({ name }) => name === "email.failed"));
  expect(await record(pombo, early)).toMatchObject({ status: "failed", bounce: { category: "expired" } });
  const attempts = attemptsOf(pombo, late).length;
  expect((await ask(pombo, "unblock")).status).toBe(200);
  await idle(pombo);
  expect(await record(pombo, late)).toMatchObject({ status: "delivered", attempts: attempts + 1 });
});

test("what is held can be canceled, and asked to be tried again, which waits for the release", async () => {
  await using pombo = await startStill({ mx: { rcpt: "450 4.2.0 Later" }, retryMs: [HOUR_MS] });
  const [one, two] = [await send(pombo, "a@example.com"), await send(pombo, "b@example.com")];
  await idle(pombo);
  await pass(pombo, MINUTE_MS);
  await hold(pombo);
  pombo.mx.script = {};
  const change = (id: string, what: string) => pombo.workspace.call("POST", `/api/v1/emails/${id}/${what}`);
  expect((await change(one, "cancel")).status).toBe(200);
  expect((await change(two, "retry")).status).toBe(202);
  await idle(pombo);
  expect(pombo.mx.messages).toEqual([]);
  expect(await record(pombo, two)).toMatchObject({ status: "delivery_delayed" });
  await ask(pombo, "unblock");
  await idle(pombo);
  expect([(await record(pombo, one)).status, (await record(pombo, two)).status]).toEqual(["canceled", "delivered"]);
  expect(pombo.mx.messages).toHaveLength(1);
});
