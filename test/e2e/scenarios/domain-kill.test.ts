// A domain with much waiting mail is deleted, and a kill -9 comes right after the answer: the rest of
// the mail fails at the next start, not at its next attempt hours later, and none of it is sent.
import { expect, setDefaultTimeout, test } from "bun:test";
import { waitUntil } from "../../support/peers/process.ts";
import { within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { queueDepth, readEmails } from "./stored.ts";
import { bugsOf, call, createWorld, DESTINATIONS, emailTo } from "./world.ts";

const LIMIT_MS = 60_000;
const EMAILS = 2_000;
const BATCH = 1_000;

setDefaultTimeout(4 * LIMIT_MS);

test("mail of a deleted domain fails over a kill -9 in the middle, and none of it is sent afterwards", async () => {
  await using mx = await startCountingMx(() => "451 4.3.0 Later");
  await using world = await createWorld({ mxPort: mx.port, settings: { email: { retry_schedule: ["6h"] } } });
  {
    await using first = await world.serve();
    const domains = await call(first.url, world.key, { path: "/api/v1/domains" });
    const path = `/api/v1/domains/${domains.body.data[0].id}`;
    for (let sent = 0; sent < EMAILS; sent += BATCH) {
      const emails = Array.from({ length: BATCH }, (_, index) =>
        emailTo(`user${index}@${DESTINATIONS[index % DESTINATIONS.length]}`, `Email ${sent + index}`),
      );
      const reply = await call(first.url, world.key, {
        method: "POST",
        path: "/api/v1/emails/batch",
        body: { emails },
      });
      expect(reply.status).toBe(202);
    }
    await within(
      LIMIT_MS,
      "first attempts",
      mx.until(() => mx.arrivals.length >= EMAILS / 10),
    );
    expect((await call(first.url, world.key, { method: "DELETE", path })).body.data.deleted).toBe(true);
    first.signal("SIGKILL");
    await first.ended;
    expect(bugsOf(first)).toEqual([]);
  }
  const left = [...readEmails(world.dataDir).values()];
  const ended = left.filter(({ status }) => status === "failed").length;
  expect(left).toHaveLength(EMAILS);
  const before = mx.arrivals.length;

  await using second = await world.serve();
  await waitUntil("the queue is empty", LIMIT_MS, () => queueDepth(world.dataDir) === 0);
  second.signal("SIGTERM");
  expect(await second.ended).toEqual({ code: 0, signal: null });
  expect(bugsOf(second)).toEqual([]);
  expect(mx.arrivals.length).toBe(before);
  const statuses = new Set([...readEmails(world.dataDir).values()].map(({ status }) => status));
  expect([...statuses]).toEqual(["failed"]);
  console.log(`domain: ${ended} of ${EMAILS} had failed at the kill, ${before} attempts were made before it`);
});
