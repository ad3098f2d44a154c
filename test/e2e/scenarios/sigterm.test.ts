// The orderly end. SIGTERM takes nothing new up, lets sessions in flight end, gives back what was not
// begun, and exits with 0 within 30 s, whatever the mail servers do; a second signal does not wait.
import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { stall, startMx } from "../../support/fakes/mx.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { startLoad } from "./load.ts";
import { queueDepth, readEmails } from "./stored.ts";
import { bugsOf, call, createWorld, emailTo, hasLogged, type Served } from "./world.ts";

const LIMIT_MS = 20_000;
const SLOW_ANSWER_MS = 2_000;
/** What service managers are promised. */
const EXIT_LIMIT_MS = 30_000;
const SESSIONS = 10;

setDefaultTimeout(90_000);

async function terminate(served: Served): Promise<number> {
  const since = performance.now();
  served.signal("SIGTERM");
  expect(await within(EXIT_LIMIT_MS, "the end", served.ended)).toEqual({ code: 0, signal: null });
  expect(hasLogged(served, "pombo.stopped")).toBe(true);
  expect(bugsOf(served)).toEqual([]);
  return performance.now() - since;
}

test("SIGTERM under load lets sessions in flight end, gives back what was not begun, and loses nothing", async () => {
  let answerMs = SLOW_ANSWER_MS;
  await using mx = await startCountingMx(
    () => new Promise((resolve) => setTimeout(() => resolve("250 2.0.0 Ok"), answerMs)),
  );
  await using world = await createWorld({
    mxPort: mx.port,
    settings: { email: { sessions_per_destination: SESSIONS } },
  });
  let serving = Promise.withResolvers<Served>();
  const load = startLoad({
    key: world.key,
    customers: 4,
    url: async () => (await serving.promise).url,
    delivered: { count: () => mx.distinct, until: (isTrue) => mx.until(isTrue) },
  });
  {
    await using first = await world.serve();
    serving.resolve(first);
    await within(
      LIMIT_MS,
      "sessions in flight",
      mx.until(() => mx.arrivals.length >= SESSIONS),
    );
    await within(
      LIMIT_MS,
      "a backlog",
      load.until(() => load.accepted.size >= 5 * SESSIONS),
    );
    serving = Promise.withResolvers<Served>();
    const tookMs = await terminate(first);
    expect(tookMs).toBeLessThan(2 * SLOW_ANSWER_MS + 1_000);
  }
  const stored = readEmails(world.dataDir);
  const arrived = new Set(mx.arrivals.map((arrival) => arrival.subject));
  let givenBack = 0;
  for (const email of stored.values()) {
    if (arrived.has(email.subject)) {
      expect(email).toMatchObject({ status: "delivered", attempts: 1, queue: null });
    } else {
      givenBack += 1;
      expect(email).toMatchObject({ status: "queued", queue: { attempts: 0, isInFlight: false, dotAt: null } });
      expect(email.queue?.nextAt).toBeLessThanOrEqual(Date.now());
    }
  }
  expect(givenBack).toBeGreaterThan(0);
  expect([...load.accepted.values()].filter((id) => !stored.has(id))).toEqual([]);

  answerMs = 0;
  await using second = await world.serve();
  serving.resolve(second);
  await load.stop();
  await waitUntil("the queue is empty", LIMIT_MS, () => queueDepth(world.dataDir) === 0);
  await terminate(second);
  const last = readEmails(world.dataDir);
  expect([...load.accepted.values()].filter((id) => last.get(id)?.status !== "delivered")).toEqual([]);
  expect(mx.arrivals).toHaveLength(mx.distinct);
  expect([...last.values()].filter((email) => email.possibleDuplicate)).toEqual([]);
  console.log(
    `sigterm: ${load.accepted.size} accepted, ${givenBack} given back at the stop, ${load.unknown.size} requests without an answer`,
  );
});

test("mail servers that never answer do not keep it: cut off in time, the message is put off, and told as a possible duplicate after its dot", async () => {
  await using mx = await startCountingMx(() => new Promise(() => undefined));
  const silent = await startMx({ rcpt: stall() }, { port: mx.port, address: "127.0.0.2" });
  try {
    await using world = await createWorld({ mxPort: mx.port });
    world.dns.zone["two.test"] = { MX: [[10, "silent.test"]] };
    world.dns.zone["silent.test"] = { A: ["127.0.0.2"] };
    await using served = await world.serve();
    for (const to of ["dot@one.test", "rcpt@two.test"]) {
      expect(
        (await call(served.url, world.key, { method: "POST", path: "/api/v1/emails", body: emailTo(to, to) })).status,
      ).toBe(202);
    }
    await within(
      LIMIT_MS,
      "the dot",
      mx.until(() => mx.arrivals.length === 1),
    );
    await within(
      LIMIT_MS,
      "RCPT",
      silent.until(() => silent.connections.some((each) => each.commands.some((line) => line.startsWith("RCPT")))),
    );
    const tookMs = await terminate(served);
    console.log(`sigterm: cut off after ${Math.round(tookMs)} ms`);

    const emails = [...readEmails(world.dataDir).values()];
    const bySubject = (subject: string) => emails.find((email) => email.subject === subject);
    expect(bySubject("dot@one.test")).toMatchObject({
      status: "queued",
      possibleDuplicate: true,
      queue: { attempts: 1, isInFlight: false },
    });
    expect(bySubject("rcpt@two.test")).toMatchObject({
      status: "queued",
      possibleDuplicate: false,
      queue: { attempts: 1, isInFlight: false },
    });
    expect(silent.messages).toEqual([]);
  } finally {
    await silent.close();
  }
});

test("SIGTERM while idle ends within a second, with a session and a client's connection still open", async () => {
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  await using served = await world.serve();
  await call(served.url, world.key, { method: "POST", path: "/api/v1/emails", body: emailTo("a@one.test", "only") });
  await waitUntil("it is delivered", LIMIT_MS, () => hasLogged(served, "email.delivered"));
  expect(mx.openConnections).toBe(1);
  expect(await terminate(served)).toBeLessThan(1_000);
  expect(readdirSync(world.dataDir)).not.toContain("lock.pid");
});

test("a second signal ends it at once, and what was in between is told and sent again at the next start", async () => {
  const mx = await startMx({ dot: stall() });
  try {
    await using world = await createWorld({ mxPort: mx.port });
    {
      await using first = await world.serve();
      await call(first.url, world.key, {
        method: "POST",
        path: "/api/v1/emails",
        body: emailTo("a@one.test", "twice"),
      });
      await within(
        LIMIT_MS,
        "the dot",
        mx.until(() => mx.messages.length === 1),
      );
      first.signal("SIGTERM");
      await first.until("it is stopping", () => hasLogged(first, "pombo.stopping"));
      expect(first.isAlive).toBe(true);
      first.signal("SIGINT");
      expect(await within(1_000, "the end", first.ended)).toEqual({ code: 130, signal: null });
    }
    delete mx.script.dot;
    await using second = await world.serve();
    await waitUntil("it is delivered", LIMIT_MS, () => hasLogged(second, "email.delivered"));
    const email = (await call(second.url, world.key, { path: "/api/v1/emails" })).body.data[0];
    const record = await call(second.url, world.key, { path: `/api/v1/emails/${email.id}` });
    expect(record.body.data).toMatchObject({ status: "delivered", attempts: 2, possibleDuplicate: true });
    expect(mx.messages).toHaveLength(2);
    await terminate(second);
  } finally {
    await mx.close();
  }
});
