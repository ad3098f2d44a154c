// kill -9 between a report and its 250: what was answered 250 is done, and what was not is told again by its
// sender, who then finds it done once.
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { waitUntil } from "../../support/peers/process.ts";
import { within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { startLoad } from "./load.ts";
import { returnTo } from "./returning.ts";
import { queueDepth, readEmails } from "./stored.ts";
import { bugsOf, call, createWorld, type Served } from "./world.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const CUSTOMERS = 4;
const REPORTERS = 4;
const ROUND_LIMIT_MS = 30_000;
const DRAIN_LIMIT_MS = 60_000;
/** A kill comes at most so many reports after a start. */
const MOST_REPORTS = 60;
/** All bounce: a workspace is blocked at the twentieth, which is not what this is about. */
const UNBLOCKED_EVERY = 10;

setDefaultTimeout((ROUNDS + 3) * ROUND_LIMIT_MS);

test("a report that was answered 250 before a kill -9 has ended its email, and none does so twice", async () => {
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  let serving = Promise.withResolvers<Served>();
  // Subjects of emails whose report was answered 250; reports whose answer was lost.
  const taken = new Set<string>();
  const load = startLoad({
    key: world.key,
    customers: CUSTOMERS,
    url: async () => (await serving.promise).url,
    // Reports are slower than sends: who sends waits for them.
    delivered: { count: () => taken.size, until: (isTrue) => waitUntil("reports", DRAIN_LIMIT_MS, isTrue) },
  });
  let lost = 0;
  // What was said last of those that are not taken yet.
  const said = new Map<string, string>();
  let next = 0;
  let isOver = false;
  const unblock = async () => {
    const { url } = await Promise.race([serving.promise, over.promise]);
    const path = "/api/v1/operator/workspaces";
    // A kill may come between: ten reports later it is asked again.
    const list = await call(url, world.operatorKey, { path }).catch(() => undefined);
    for (const { id } of (list?.body.data ?? []) as { id: string }[])
      await call(url, world.operatorKey, { method: "POST", path: `${path}/${id}/unblock` }).catch(() => undefined);
  };
  const report = async () => {
    while (!isOver) {
      const arrival = mx.arrivals[next];
      if (arrival === undefined) {
        await within(
          DRAIN_LIMIT_MS,
          "a message",
          Promise.race([mx.until(() => next < mx.arrivals.length || isOver), over.promise]),
        );
        continue;
      }
      next += 1;
      while (!isOver) {
        const { inboundPort } = await Promise.race([serving.promise, over.promise]);
        const answer = await returnTo(inboundPort, arrival);
        said.set(arrival.subject, answer);
        if (answer.startsWith("250 ")) {
          taken.add(arrival.subject);
          if (taken.size % UNBLOCKED_EVERY === 0) await unblock();
          break;
        }
        lost += 1;
        // Nothing that was sent is refused for good.
        if (answer.startsWith("5")) break;
      }
    }
  };
  const over = Promise.withResolvers<Served>();
  const reporters = Array.from({ length: REPORTERS }, report);
  for (let round = 0; round < ROUNDS; round += 1) {
    await using process = await world.serve();
    serving.resolve(process);
    const target = taken.size + 1 + Math.floor(Math.random() * MOST_REPORTS);
    await waitUntil(`${target} reports`, ROUND_LIMIT_MS, () => taken.size >= target);
    serving = Promise.withResolvers<Served>();
    process.signal("SIGKILL");
    await process.ended;
    expect(bugsOf(process)).toEqual([]);
  }
  await using last = await world.serve();
  serving.resolve(last);
  await load.stop();
  await waitUntil("the queue is empty", DRAIN_LIMIT_MS, () => queueDepth(world.dataDir) === 0);
  const untaken = () =>
    mx.arrivals.filter(({ subject }) => !taken.has(subject)).map(({ subject }) => [subject, said.get(subject)]);
  const isEach = () => next >= mx.arrivals.length && untaken().length === 0;
  await waitUntil("every report", DRAIN_LIMIT_MS, isEach).catch(() => undefined);
  expect(untaken()).toEqual([]);
  isOver = true;
  over.resolve(last);
  await Promise.all(reporters);
  last.signal("SIGTERM");
  await last.ended;
  expect(bugsOf(last)).toEqual([]);

  expect(taken.size).toBeGreaterThan(ROUNDS);
  const stored = [...readEmails(world.dataDir).values()];
  const unended = stored.filter(({ subject, status }) => taken.has(subject) && status !== "bounced");
  expect(unended).toEqual([]);
  using database = new Database(join(world.dataDir, "pombo.db"), { readonly: true });
  const many = database
    .query<{ many: number }, []>(
      "SELECT MAX(n) AS many FROM (SELECT COUNT(*) AS n FROM email_report GROUP BY email_id)",
    )
    .get()?.many;
  expect(many).toBe(1);
  console.log(`inbound-kill: ${ROUNDS} kills, ${taken.size} reports taken, ${lost} told again`);
});
