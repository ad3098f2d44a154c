// A disk that runs full, for real: the data directory lies on a small file system of its own, in a
// mount namespace that only the child sees. Nothing is accepted that cannot be kept, nothing is sent
// that cannot be recorded, and with the space all comes back by itself.
import { expect, setDefaultTimeout, test } from "bun:test";
import { waitUntil } from "../../support/peers/process.ts";
import { within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { startLoad } from "./load.ts";
import { hasSmallDisks, mountSmallDisk } from "./small-disk.ts";
import { bugsOf, call, createWorld, emailTo, hasLogged } from "./world.ts";

const DISK_MIB = 16;
/** Several of the guard's own tries. */
const FULL_FOR_MS = 3_000;
const LIMIT_MS = 20_000;

setDefaultTimeout(90_000);

if (!hasSmallDisks) {
  console.warn(
    "SKIPPED: the full disk needs a mount namespace (root, or unprivileged user namespaces), which this machine does not permit.",
  );
}

/** Asked over the API: SQLite does not open a file of another mount namespace. */
async function countUndelivered(url: string, key: string): Promise<number> {
  let undelivered = 0;
  for (let page = 1, last = 1; page <= last; page += 1) {
    const { body } = await call(url, key, { path: `/api/v1/emails?limit=100&page=${page}` });
    last = body.meta.lastPage;
    undelivered += body.data.filter((email: { deliveredAt: string | null }) => email.deliveredAt === null).length;
  }
  return undelivered;
}

test.skipIf(!hasSmallDisks)(
  "on a full disk sends answer 503, delivery pauses, and all resumes by itself with the space",
  async () => {
    let gate: Promise<void> | null = null;
    await using mx = await startCountingMx(async () => {
      await gate;
      return "250 2.0.0 Ok";
    });
    await using world = await createWorld({ mxPort: mx.port });
    await using disk = await mountSmallDisk(world.dataDir, DISK_MIB);
    await using served = await world.serve({ through: disk.enter });
    const post = (subject: string) =>
      call(served.url, world.key, {
        method: "POST",
        path: "/api/v1/emails",
        body: emailTo("a@one.test", subject),
        idempotencyKey: subject,
      });

    const load = startLoad({
      key: world.key,
      customers: 4,
      url: () => Promise.resolve(served.url),
      delivered: { count: () => mx.distinct, until: (isTrue) => mx.until(isTrue) },
    });
    await within(
      LIMIT_MS,
      "the load",
      load.until(() => load.accepted.size >= 100),
    );
    // From here on the mail server has taken messages whose 250 it holds back until the disk is full.
    const held = Promise.withResolvers<void>();
    gate = held.promise;
    const answered = mx.arrivals.filter((arrival) => arrival.answeredAt !== null).length;
    await within(
      LIMIT_MS,
      "messages without an answer",
      // Fewer than a site begins with.
      mx.until(() => mx.arrivals.length >= answered + 3),
    );
    disk.fill();

    // Space inside the files may still serve a few.
    let refused = await post("full-0");
    for (let number = 1; refused.status === 202; number += 1) refused = await post(`full-${number}`);
    expect(refused.status).toBe(503);
    expect(refused.body.errors[0]).toMatchObject({ code: "UNAVAILABLE" });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    held.resolve();
    gate = null;

    const since = performance.now();
    await waitUntil("some tries of the guard", LIMIT_MS, () => performance.now() - since > FULL_FOR_MS);
    const arrived = mx.arrivals.length;
    expect((await post("still-full")).status).toBe(503);
    expect((await call(served.url, world.key, { path: "/ready" })).status).toBe(503);
    expect((await call(served.url, world.key, { path: "/health" })).status).toBe(200);
    const list = await call(served.url, world.key, { path: "/api/v1/emails?limit=100" });
    expect(list.status).toBe(200);
    expect(list.body.meta.total).toBeGreaterThanOrEqual(load.accepted.size);
    expect(hasLogged(served, "disk.failed")).toBe(true);
    const unrecorded = (await countUndelivered(served.url, world.key)) - (list.body.meta.total - arrived);
    console.log(
      `disk full: ${list.body.meta.total} accepted, ${arrived} taken by the mail server, ${unrecorded} of them not yet recorded, ${load.statuses.get(503) ?? 0} requests refused`,
    );
    // Held in memory, until they can be written.
    expect(unrecorded).toBeGreaterThan(0);
    await waitUntil("another try of the guard", LIMIT_MS, () => performance.now() - since > 2 * FULL_FOR_MS);
    expect(mx.arrivals.length).toBe(arrived);

    disk.clear();
    await waitUntil(
      "it is ready",
      LIMIT_MS,
      async () => (await call(served.url, world.key, { path: "/ready" })).status === 200,
    );
    expect((await post("still-full")).status).toBe(202);
    const before = load.accepted.size;
    await within(
      LIMIT_MS,
      "more load",
      load.until(() => load.accepted.size > before + 50),
    );
    await load.stop();
    await waitUntil(
      "the end of the queue",
      LIMIT_MS,
      async () => (await countUndelivered(served.url, world.key)) === 0,
    );

    // Each once: what had been taken before was recorded late, and not sent again.
    expect(mx.arrivals).toHaveLength(mx.distinct);
    const arrivedSubjects = new Set(mx.arrivals.map((arrival) => arrival.subject));
    expect([...load.accepted.keys()].filter((subject) => !arrivedSubjects.has(subject))).toEqual([]);
    expect(arrivedSubjects.has("still-full")).toBe(true);
    expect([...load.statuses.keys()].sort()).toEqual([202, 503]);
    const total = (await call(served.url, world.key, { path: "/api/v1/emails" })).body.meta.total;
    expect(total).toBe(mx.distinct);
    expect(bugsOf(served)).toEqual([]);
    served.signal("SIGTERM");
    expect(await served.ended).toEqual({ code: 0, signal: null });
  },
);
