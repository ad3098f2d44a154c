// The machine's clock is set back by an hour or a day while mail and calls wait for a time, in process: the wall clock
// is the test's, timers go by one that does not jump. Nothing waits for the step to pass.
import { expect, setDefaultTimeout, test } from "bun:test";
import { allowLoopback } from "../../support/api/webhook-kit.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { within } from "./child.ts";
import { record } from "./mail.ts";

setDefaultTimeout(30_000);

const LIMIT_MS = 10_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function settableClock() {
  const steady = fakeClock();
  let backMs = 0;
  const clock = { now: () => steady.now() - backMs, after: steady.after };
  const advance = async (ms: number, stepMs = 1_000) => {
    for (let passed = 0; passed < ms; passed += stepMs) {
      steady.advance(stepMs);
      await Bun.sleep(1);
    }
  };
  return { clock, steady, advance, setBack: (ms: number) => void (backMs += ms) };
}

/** An email that its server has put off, and an event whose receiver has failed. */
async function leaveWaiting(pombo: Instance, receiver: ReturnType<typeof startReceiver>): Promise<string> {
  const hook = { url: receiver.url, events: ["email.delivery_delayed", "email.delivered"] };
  expect((await pombo.workspace.call("POST", "/api/v1/webhooks", { body: hook })).status).toBe(201);
  receiver.answer = () => new Response(null, { status: 500 });
  pombo.mx.script.rcpt = "451 4.3.0 Later";
  const { id } = (await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() })).body.data;
  await pombo.app.worker.idle();
  await within(
    LIMIT_MS,
    "the call",
    receiver.until(() => receiver.calls.length === 1),
  );
  await pombo.app.webhooks.worker.idle();
  delete pombo.mx.script.rcpt;
  receiver.answer = () => new Response(null, { status: 204 });
  return id;
}

test("set on by five days: what waits is tried and expires only after an hour, and /ready names the step", async () => {
  const { clock, steady, advance, setBack } = settableClock();
  await using pombo = await startInstance({ clock, steady, configure: allowLoopback });
  pombo.mx.script.rcpt = "451 4.3.0 Later";
  const { id } = (await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() })).body.data;
  await pombo.app.worker.idle();
  setBack(-120 * HOUR);
  await advance(2 * MINUTE);
  await waitUntil("it is tried", LIMIT_MS, async () => (await record(pombo, id)).attempts === 2);
  await pombo.app.worker.idle();
  expect(await record(pombo, id)).toMatchObject({ status: "delivery_delayed" });
  const ready = await pombo.operator.call("GET", "/ready", { key: null });
  expect([ready.status, ready.body.issues]).toMatchObject([200, [{ component: "clock" }]]);
  steady.advance(HOUR + MINUTE);
  await waitUntil("it is over", LIMIT_MS, async () => (await record(pombo, id)).status === "failed");
  expect(await record(pombo, id)).toMatchObject({ bounce: { category: "expired" } });
});

for (const backMs of [HOUR, 24 * HOUR]) {
  for (const when of ["while it runs", "between two runs"]) {
    test(`set back by ${backMs / HOUR} h ${when}: deferred mail and calls come on their time, and /ready names the step`, async () => {
      const { clock, steady, advance, setBack } = settableClock();
      await using pombo = await startInstance({ clock, steady, configure: allowLoopback });
      await using receiver = startReceiver();
      const id = await leaveWaiting(pombo, receiver);
      if (when === "while it runs") {
        setBack(backMs);
        await advance(1_000);
        await waitUntil("it is seen", LIMIT_MS, () => pombo.events.some(({ name }) => name === "clock.set_back"));
      } else {
        await pombo.restart(() => setBack(backMs));
      }
      const ready = await pombo.operator.call("GET", "/ready", { key: null });
      expect(ready.status).toBe(200);
      expect(ready.body.issues).toMatchObject([{ component: "clock", reason: expect.stringContaining("set back") }]);
      await advance(2 * MINUTE);
      await waitUntil(
        "it is delivered",
        LIMIT_MS,
        async () => (await record(pombo, id)).status === "delivered" && receiver.calls.length >= 3,
      );
      expect(await record(pombo, id)).toMatchObject({ attempts: 2, possibleDuplicate: false });
      expect(pombo.mx.messages).toHaveLength(1);
      expect(pombo.events.filter(({ name }) => name === "clock.set_back")).toHaveLength(1);
      expect(pombo.bugs).toEqual([]);
    });
  }
}

test("set on and back again: scheduled mail that the step brought early is not sent twice, and the other waits for its time", async () => {
  const { clock, steady, advance, setBack } = settableClock();
  await using pombo = await startInstance({ clock, steady });
  const schedule = async (to: string, inMs: number): Promise<string> => {
    const sendAt = new Date(clock.now() + inMs).toISOString();
    const sent = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ to, sendAt }) });
    expect(sent.status).toBe(202);
    return sent.body.data.id;
  };
  const taken = await schedule("taken@example.com", HOUR);
  const refused = await schedule("refused@example.com", HOUR);
  const later = await schedule("later@example.com", 30 * HOUR);
  pombo.mx.script.rcpt = (command: string) => (command.includes("refused@") ? "451 4.3.0 Later" : "250 2.1.5 Ok");
  const statuses = async () => {
    const records = await Promise.all([taken, refused, later].map((id) => record(pombo, id)));
    return records.map(({ status, attempts }) => `${status} ${attempts}`);
  };
  setBack(-2 * HOUR);
  await advance(2 * MINUTE);
  await waitUntil("the step brings them", LIMIT_MS, () => pombo.mx.messages.length === 1);
  await pombo.app.worker.idle();
  const early = await statuses();
  expect([early[0], early[2]]).toEqual(["delivered 1", "scheduled 0"]);
  expect(early[1]).toStartWith("delivery_delayed ");
  delete pombo.mx.script.rcpt;
  setBack(2 * HOUR);
  await advance(50 * MINUTE, 10_000);
  await pombo.app.worker.idle();
  expect(await statuses()).toEqual(early);
  // Its time, and the wait that its attempts have earned: one or two of them were made.
  await advance(30 * MINUTE, 10_000);
  await waitUntil("the refused one goes", LIMIT_MS, () => pombo.mx.messages.length === 2);
  await pombo.app.worker.idle();
  expect((await statuses())[2]).toBe("scheduled 0");
  steady.advance(29 * HOUR);
  await waitUntil("the last one goes", LIMIT_MS, () => pombo.mx.messages.length === 3);
  expect(pombo.mx.messages).toHaveLength(3);
  expect(pombo.bugs).toEqual([]);
});
