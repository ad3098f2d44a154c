// Bounces that overtake what they are about: a mail server may send its report before it answers the dot,
// and a report may be the only news of a message whose answer was lost.
import { expect, setDefaultTimeout, test } from "bun:test";
import { drop, startMx } from "../../support/fakes/mx.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { startCountingMx } from "./counting-mx.ts";
import { returnTo } from "./returning.ts";
import { queueDepth } from "./stored.ts";
import { bugsOf, call, createWorld, emailTo, type Served } from "./world.ts";

setDefaultTimeout(60_000);

const LIMIT_MS = 15_000;
const TO = "maria@one.test";

async function send(served: Served, key: string): Promise<string> {
  const reply = await call(served.url, key, { method: "POST", path: "/api/v1/emails", body: emailTo(TO, "Olá") });
  expect(reply.status).toBe(202);
  return reply.body.data.id;
}

async function recordOf(served: Served, key: string, id: string) {
  return (await call(served.url, key, { path: `/api/v1/emails/${id}` })).body.data;
}

async function reasonFor(served: Served, key: string): Promise<string | undefined> {
  const { body } = await call(served.url, key, { path: "/api/v1/suppressions" });
  return body.data.find(({ address }: { address: string }) => address === TO)?.reason;
}

test("a bounce that comes before the 250 ends the email as bounced, and the 250 is recorded beside it", async () => {
  let port = 0;
  const answers: string[] = [];
  await using mx = await startCountingMx(async ({ from, to }) => {
    answers.push(await returnTo(port, { from, to }));
    return "250 2.0.0 Ok";
  });
  await using world = await createWorld({ mxPort: mx.port });
  await using served = await world.serve();
  port = served.inboundPort;
  const id = await send(served, world.key);
  await waitUntil("the 250 is recorded", LIMIT_MS, async () => {
    const { deliveredAt } = await recordOf(served, world.key, id);
    return deliveredAt !== null;
  });
  expect(answers).toEqual([expect.stringMatching(/^250 /)]);
  expect(await recordOf(served, world.key, id)).toMatchObject({
    status: "bounced",
    attempts: 1,
    bounce: { type: "permanent", category: "invalid_recipient", enhancedCode: "5.1.1" },
  });
  expect(await reasonFor(served, world.key)).toBe("hard_bounce");
  expect([queueDepth(world.dataDir), mx.arrivals.length, bugsOf(served)]).toEqual([0, 1, []]);
});

test("a bounce of a message whose answer was lost ends it: the retry that waited is never made", async () => {
  const envelope = Promise.withResolvers<{ from: string; to: string }>();
  const mx = await startMx({
    dot: (_command, connection) => {
      const message = connection.messages.at(-1);
      if (message !== undefined) envelope.resolve({ from: message.from, to: message.to[0] ?? "" });
      return drop();
    },
  });
  await using _closing = { [Symbol.asyncDispose]: () => mx.close() };
  await using world = await createWorld({ mxPort: mx.port, settings: { email: { retry_schedule: ["3s"] } } });
  await using served = await world.serve();
  const id = await send(served, world.key);
  await waitUntil(
    "the answer is lost",
    LIMIT_MS,
    async () => (await recordOf(served, world.key, id)).status === "delivery_delayed",
  );
  expect(await recordOf(served, world.key, id)).toMatchObject({ possibleDuplicate: true, attempts: 1 });
  expect(queueDepth(world.dataDir)).toBe(1);
  expect(await returnTo(served.inboundPort, await envelope.promise)).toStartWith("250 ");
  // At the 250 all of it is true.
  expect(queueDepth(world.dataDir)).toBe(0);
  expect(await recordOf(served, world.key, id)).toMatchObject({ status: "bounced", attempts: 1, nextAttemptAt: null });
  expect(await reasonFor(served, world.key)).toBe("hard_bounce");
  // Another, whose retry comes after the time of the one that was ended.
  mx.script.dot = "250 2.0.0 Ok";
  const later = { ...emailTo("joao@two.test", "depois") };
  mx.script.rcpt = (command) =>
    mx.connections.length < 3 && command.includes("joao") ? "451 4.7.1 Later" : "250 2.1.5 Ok";
  const reply = await call(served.url, world.key, { method: "POST", path: "/api/v1/emails", body: later });
  await waitUntil(
    "the other is delivered",
    LIMIT_MS,
    async () => (await recordOf(served, world.key, reply.body.data.id)).status === "delivered",
  );
  const recipients = mx.connections.flatMap(({ commands }) => commands.filter((line) => /^RCPT TO:<maria/i.test(line)));
  expect(recipients).toHaveLength(1);
  expect(bugsOf(served)).toEqual([]);
});
