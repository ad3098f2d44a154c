// kill -9 between what becomes true and the telling of it: there is no such moment to be seen from outside.
// Every email that the API says was accepted and delivered is told of to the webhook, at least once, in its
// order, and what is told is true; a call made again carries the same webhook-id.
import { expect, setDefaultTimeout, test } from "bun:test";
import { startReceiver } from "../../support/fakes/receiver.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { startLoad } from "./load.ts";
import { queueDepth, readEmails } from "./stored.ts";
import { bugsOf, call, createWorld, type Served } from "./world.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const CUSTOMERS = 4;
const ROUND_LIMIT_MS = 30_000;
const DRAIN_LIMIT_MS = 60_000;
/** A kill comes at most so many calls of the webhook after a start. */
const MOST_CALLS = 200;

setDefaultTimeout((ROUNDS + 3) * ROUND_LIMIT_MS);

test("what became true before a kill -9 is told, what is told is true, and no event has two ids", async () => {
  await using receiver = startReceiver();
  await using mx = await startCountingMx();
  await using world = await createWorld({
    mxPort: mx.port,
    settings: { webhooks: { allow_http: true, allow_private_ranges: ["127.0.0.0/8"] } },
  });
  let serving = Promise.withResolvers<Served>();
  {
    await using first = await world.serve();
    const made = await call(first.url, world.key, {
      method: "POST",
      path: "/api/v1/webhooks",
      body: { url: receiver.url, events: ["email.*"] },
    });
    expect(made.status).toBe(201);
    first.signal("SIGTERM");
    await first.ended;
  }
  const load = startLoad({
    key: world.key,
    customers: CUSTOMERS,
    url: async () => (await serving.promise).url,
    delivered: { count: () => mx.distinct, until: (isTrue) => mx.until(isTrue) },
  });
  for (let round = 0; round < ROUNDS; round += 1) {
    await using process = await world.serve();
    serving.resolve(process);
    const target = receiver.calls.length + 1 + Math.floor(Math.random() * MOST_CALLS);
    await within(
      ROUND_LIMIT_MS,
      `${target} calls`,
      receiver.until(() => receiver.calls.length >= target),
    );
    serving = Promise.withResolvers<Served>();
    process.signal("SIGKILL");
    await process.ended;
    expect(bugsOf(process)).toEqual([]);
  }
  await using last = await world.serve();
  serving.resolve(last);
  await load.stop();
  await waitUntil("the queue is empty", DRAIN_LIMIT_MS, () => queueDepth(world.dataDir) === 0);
  const stored = readEmails(world.dataDir);
  const delivered = [...stored].filter(([, { status }]) => status === "delivered").map(([id]) => id);
  expect(delivered.length).toBeGreaterThan(20);
  // It is asked after each call, and takes the receiver's time: what was read is not read again.
  const told = new Set<string>();
  let read = 0;
  const isWhole = () => {
    for (const { event } of receiver.calls.slice(read)) told.add(`${event.type} ${event.data.id}`);
    read = receiver.calls.length;
    return delivered.every((id) => told.has(`email.queued ${id}`) && told.has(`email.delivered ${id}`));
  };
  await within(DRAIN_LIMIT_MS, "every event", receiver.until(isWhole));
  last.signal("SIGTERM");
  await last.ended;
  expect(bugsOf(last)).toEqual([]);

  const ids = new Map<string, Set<string>>();
  for (const { event, headers } of receiver.calls) {
    // Nothing is told of an email that no longer is, or that never came to what was told.
    const email = stored.get(event.data.id);
    expect([event.type, event.data.id, email === undefined]).toEqual([event.type, event.data.id, false]);
    if (event.type === "email.delivered") expect([event.data.id, email?.status]).toEqual([event.data.id, "delivered"]);
    const name = `${event.type} ${event.data.id}`;
    ids.set(name, (ids.get(name) ?? new Set()).add(headers["webhook-id"] ?? ""));
  }
  // queued and delivered are told once by as many calls as it takes.
  for (const [name, each] of ids)
    if (!name.startsWith("email.delivery_delayed")) expect([name, each.size]).toEqual([name, 1]);
  const repeated = receiver.calls.length - [...ids.values()].reduce((sum, each) => sum + each.size, 0);
  console.log(
    `webhook-kill: ${ROUNDS} kills, ${delivered.length} delivered, ${receiver.calls.length} calls, ${repeated} of them again`,
  );
});
