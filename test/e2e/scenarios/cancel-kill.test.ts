// Cancels and retries of mail that its server keeps putting off, with a kill -9 in the middle: what was
// answered `canceled` never reaches the server again, and everything else is delivered.
import { expect, setDefaultTimeout, test } from "bun:test";
import { waitUntil } from "../../support/peers/process.ts";
import { within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { queueDepth, readEmails } from "./stored.ts";
import { bugsOf, call, createWorld, DESTINATIONS, emailTo, type Served, type World } from "./world.ts";

const LIMIT_MS = 30_000;
const EMAILS = 90;
const CANCELS = 45;
/** Who cancel one email after the other, so that the kill finds requests under way. */
const CUSTOMERS = 5;
/** Answers after which the process is killed. */
const KILL_AFTER = 25;
/** The mail server takes so long over a dot, so that cancels meet running attempts. */
const ANSWER_MS = 40;

setDefaultTimeout(4 * LIMIT_MS);

async function send(served: Served, world: World, index: number): Promise<string> {
  const to = `user${index}@${DESTINATIONS[index % DESTINATIONS.length]}`;
  const body = emailTo(to, `Email ${index}`);
  const reply = await call(served.url, world.key, { method: "POST", path: "/api/v1/emails", body });
  expect(reply.status).toBe(202);
  return reply.body.data.id;
}

test("what was answered canceled is never sent again, over a kill -9 and with retries of the others", async () => {
  const later = () => new Promise<string>((resolve) => setTimeout(() => resolve("451 4.3.0 Later"), ANSWER_MS));
  await using mx = await startCountingMx(later);
  await using world = await createWorld({ mxPort: mx.port });
  const canceled = new Map<string, number>();
  const states = new Set<string>();
  let ids: string[] = [];
  {
    await using first = await world.serve();
    ids = await Promise.all(Array.from({ length: EMAILS }, (_, index) => send(first, world, index)));
    await within(
      LIMIT_MS,
      "first attempts",
      mx.until(() => mx.arrivals.length >= EMAILS),
    );
    const enough = Promise.withResolvers<void>();
    const ask = async (id: string, what: "cancel" | "retry") => {
      const reply = await call(first.url, world.key, { method: "POST", path: `/api/v1/emails/${id}/${what}` });
      if (reply.status !== 409) return reply.status;
      states.add(/^It is (\w+)/.exec(reply.body.errors[0].hint)?.[1] ?? "");
      return 409;
    };
    const cancel = async (id: string) => {
      // A request that the kill cuts off has no answer; a running attempt is waited out.
      for (let status = 409; status === 409;) status = await ask(id, "cancel");
      canceled.set(id, Date.now());
      if (canceled.size === KILL_AFTER) enough.resolve();
    };
    const customer = async (which: number) => {
      for (let index = which; index < CANCELS; index += CUSTOMERS) await cancel(ids[index] ?? "");
    };
    const retry = async () => {
      for (;;) for (const id of ids) await ask(id, "retry");
    };
    const ended = Promise.allSettled([retry(), ...Array.from({ length: CUSTOMERS }, (_, which) => customer(which))]);
    await within(LIMIT_MS, "cancels", enough.promise);
    first.signal("SIGKILL");
    await first.ended;
    await within(LIMIT_MS, "the requests' end", ended);
    expect(bugsOf(first)).toEqual([]);
  }
  expect([...canceled.keys()].filter((id) => readEmails(world.dataDir).get(id)?.status !== "canceled")).toEqual([]);

  mx.answerDot = () => "250 2.0.0 Ok";
  await using second = await world.serve();
  await waitUntil("the queue is empty", LIMIT_MS, () => queueDepth(world.dataDir) === 0);
  for (const [id, answeredAt] of canceled) {
    const again = mx.arrivals.filter(({ messageId, arrivedAt }) => messageId.startsWith(id) && arrivedAt > answeredAt);
    expect([id, again]).toEqual([id, []]);
    const { body } = await call(second.url, world.key, { path: `/api/v1/emails/${id}/events` });
    expect(body.data.at(-1).type).toBe("email.canceled");
  }
  second.signal("SIGTERM");
  expect(await second.ended).toEqual({ code: 0, signal: null });
  expect(bugsOf(second)).toEqual([]);
  const stored = readEmails(world.dataDir);
  // Those whose cancel the kill cut off are the one or the other.
  for (const [index, id] of ids.entries()) {
    const status = stored.get(id)?.status;
    expect([id, index < CANCELS && status === "canceled" ? "delivered" : status]).toEqual([id, "delivered"]);
  }
  console.log(`cancel: ${canceled.size} answered before the kill, refused while ${[...states].join(", ") || "never"}`);
});
