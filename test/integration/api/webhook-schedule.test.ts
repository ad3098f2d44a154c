import { expect, setDefaultTimeout, test } from "bun:test";
import { waitUntil } from "../../support/peers/process.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";
import { faultsOfEvents } from "./documented-events.ts";
import { startHeld } from "../../support/api/kit.ts";
import { DAY, HOUR, MINUTE, NOON, SECOND, startCalled } from "../../support/api/webhook-kit.ts";

setDefaultTimeout(20_000);

test("a failed call is made again after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h, with the same id, then given up", async () => {
  await using receiver = startReceiver();
  receiver.answer = () => new Response("on fire", { status: 500 });
  await using on = await startCalled(receiver);
  await on.test();
  await receiver.until(() => receiver.calls.length === 1);
  await on.pombo.app.webhooks.worker.idle();
  const waits = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];
  for (const [index, wait] of waits.entries()) {
    // Not a tenth sooner, and within a tenth more.
    await on.advance(wait * 0.9 - SECOND);
    await on.pombo.app.webhooks.worker.idle();
    expect([wait, receiver.calls.length]).toEqual([wait, index + 1]);
    await on.advance(wait * 0.2 + 2 * SECOND);
    await receiver.until(() => receiver.calls.length === index + 2);
    await on.pombo.app.webhooks.worker.idle();
  }
  await on.advance(DAY);
  await on.pombo.app.webhooks.worker.idle();
  expect(receiver.calls).toHaveLength(8);
  expect(new Set(receiver.calls.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  const deliveries = await on.deliveries();
  expect(deliveries.map(({ attempt }: { attempt: number }) => attempt)).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
  for (const each of deliveries) {
    expect(each).toMatchObject({ responseStatus: 500, errorMessage: "answered 500: on fire", deliveredAt: null });
    expect(each.failedAt).not.toBeNull();
    expect([each.attempt, each.nextAttemptAt === null]).toEqual([each.attempt, each.attempt === 8]);
  }
  // Newest first, by pages; one past the end is empty.
  const page = async (query: string) =>
    (await on.pombo.workspace.call("GET", `${on.path}/deliveries?${query}`)).body as {
      data: { attempt: number }[];
      meta: object;
    };
  const attemptsOf = ({ data }: { data: { attempt: number }[] }) => data.map(({ attempt }) => attempt);
  const second = await page("page=2&limit=3");
  expect([attemptsOf(second), second.meta]).toEqual([[5, 4, 3], { total: 8, perPage: 3, page: 2, lastPage: 3 }]);
  expect(attemptsOf(await page("page=3&limit=3"))).toEqual([2, 1]);
  expect(attemptsOf(await page("page=4&limit=3"))).toEqual([]);
  expect(await on.shown()).toMatchObject({
    lastDeliveryAt: null,
    lastFailureAt: deliveries[0].failedAt,
    lastFailureReason: "answered 500: on fire",
    enabled: true,
  });
});

test("Retry-After puts the next call off, and a success ends it", async () => {
  await using receiver = startReceiver();
  receiver.answer = () => new Response(null, { status: 503, headers: { "retry-after": "3600" } });
  await using on = await startCalled(receiver);
  await on.test();
  await receiver.until(() => receiver.calls.length === 1);
  await on.pombo.app.webhooks.worker.idle();
  receiver.answer = () => new Response(null, { status: 200 });
  await on.advance(HOUR - SECOND);
  await on.pombo.app.webhooks.worker.idle();
  expect(receiver.calls).toHaveLength(1);
  await on.advance(2 * SECOND);
  await receiver.until(() => receiver.calls.length === 2);
  await on.pombo.app.webhooks.worker.idle();
  await on.advance(2 * DAY);
  await on.pombo.app.webhooks.worker.idle();
  expect(receiver.calls).toHaveLength(2);
});

test("410 turns a webhook off, says so, and what waited is not called; turned on again it gets what it missed", async () => {
  await using receiver = startReceiver();
  receiver.answer = () => new Response(null, { status: 500 });
  await using on = await startCalled(receiver);
  await on.test();
  await receiver.until(() => receiver.calls.length === 1);
  await on.pombo.app.webhooks.worker.idle();
  receiver.answer = () => new Response(null, { status: 410 });
  await on.test();
  await receiver.until(() => receiver.calls.length === 2);
  await on.pombo.app.webhooks.worker.idle();
  expect(await on.shown()).toMatchObject({ enabled: false, disabledReason: "The receiver answered 410 Gone" });
  await on.advance(DAY);
  await on.pombo.app.webhooks.worker.idle();
  expect(receiver.calls).toHaveLength(2);

  receiver.answer = () => new Response(null, { status: 200 });
  const { workspace } = on.pombo;
  expect(
    (await workspace.call("POST", `${on.path}/recover`, { body: { since: new Date(NOON).toISOString() } })).status,
  ).toBe(422);
  await workspace.call("PATCH", on.path, { body: { enabled: true } });
  expect(await on.shown()).toMatchObject({ enabled: true, disabledReason: null });
  const recovered = await workspace.call("POST", `${on.path}/recover`, {
    body: { since: new Date(NOON).toISOString() },
  });
  // What its own turning-off told is among what it missed.
  expect([recovered.status, recovered.body.data.queued >= 1]).toEqual([202, true]);
  await receiver.until(() => receiver.calls.some(({ event }) => event.type === "webhook.disabled"));
  expect(await faultsOfEvents(on.pombo, receiver)).toEqual([]);
});

test("one event can be delivered once more, under its old id", async () => {
  await using receiver = startReceiver();
  await using on = await startCalled(receiver);
  await on.test();
  await receiver.until(() => receiver.calls.length === 1);
  await on.pombo.app.webhooks.worker.idle();
  const [delivery] = await on.deliveries();
  const replayed = await on.pombo.workspace.call("POST", `${on.path}/deliveries/${delivery.id}/replay`);
  expect([replayed.status, replayed.body.data]).toEqual([202, { eventId: delivery.eventId }]);
  await receiver.until(() => receiver.calls.length === 2);
  await on.pombo.app.webhooks.worker.idle();
  expect(receiver.calls[1]?.headers["webhook-id"]).toBe(receiver.calls[0]?.headers["webhook-id"]);
  expect((await on.deliveries()).map(({ attempt }: { attempt: number }) => attempt)).toEqual([1, 1]);
});

test("no answer within 15 s is a failure", async () => {
  await using receiver = startReceiver();
  const never = Promise.withResolvers<Response>();
  receiver.answer = () => never.promise;
  await using on = await startCalled(receiver);
  await on.test();
  await receiver.until(() => receiver.calls.length === 1);
  await on.advance(15 * SECOND);
  await on.pombo.app.webhooks.worker.idle();
  expect((await on.deliveries())[0]).toMatchObject({ responseStatus: null, errorMessage: "no answer within 15 s" });
  never.resolve(new Response());
});

test("redirects are not followed", async () => {
  await using receiver = startReceiver();
  await using elsewhere = startReceiver();
  receiver.answer = () => new Response(null, { status: 307, headers: { location: elsewhere.url } });
  await using on = await startCalled(receiver);
  await on.test();
  await receiver.until(() => receiver.calls.length === 1);
  await on.pombo.app.webhooks.worker.idle();
  expect(elsewhere.calls).toHaveLength(0);
  expect((await on.deliveries())[0]).toMatchObject({
    responseStatus: 307,
    errorMessage: "answered 307: a redirect, which is not followed",
  });
});

test("events and deliveries are forgotten after their time, and the total with them", async () => {
  await using receiver = startReceiver();
  await using on = await startCalled(receiver, HOUR);
  await on.test();
  await receiver.until(() => receiver.calls.length === 1);
  await on.pombo.app.webhooks.worker.idle();
  const listed = async () => (await on.pombo.workspace.call("GET", `${on.path}/deliveries`)).body;
  await on.advance(HOUR - SECOND);
  expect((await listed()).meta.total).toBe(1);
  // It is looked for every ten minutes.
  for (let minutes = 0; minutes < 20; minutes += 10) {
    await on.advance(10 * MINUTE);
    await listed();
  }
  const events = () => on.pombo.app.db.sqlite.query("SELECT * FROM event").all();
  await waitUntil("they are forgotten", 15_000, async () => (await listed()).meta.total === 0 && events().length === 0);
  expect(await listed()).toEqual({ data: [], meta: { total: 0, perPage: 20, page: 1, lastPage: 1 } });
});

test("a name that leads elsewhere after it was judged is judged again, and not called", async () => {
  await using receiver = startReceiver();
  await using held = await startHeld(NOON, {
    // Http and this receiver's port alone: loopback stays refused.
    configure: (config) => void (config.webhooks.allowHttp = true),
  });
  const { pombo } = held;
  pombo.dns.zone["flip.test"] = { A: ["93.184.215.14"] };
  const url = `http://flip.test:${receiver.port}/hook`;
  const made = await pombo.workspace.call("POST", "/api/v1/webhooks", { body: { url, events: ["*"] } });
  expect(made.status).toBe(201);
  pombo.dns.zone["flip.test"] = { A: ["127.0.0.1"] };
  await held.advance(DAY);
  const path = `/api/v1/webhooks/${made.body.data.id}`;
  await pombo.workspace.call("POST", `${path}/test`);
  await pombo.app.webhooks.worker.idle();
  const { body } = await pombo.workspace.call("GET", `${path}/deliveries`);
  expect(body.data[0]).toMatchObject({
    responseStatus: null,
    errorMessage: "flip.test: 127.0.0.1 is a loopback address, and such addresses are not called",
  });
  expect(receiver.calls).toHaveLength(0);
});

test("five days of nothing but failures turn a webhook off, which is told", async () => {
  await using receiver = startReceiver();
  receiver.answer = () => new Response(null, { status: 500 });
  await using on = await startCalled(receiver);
  await on.test();
  await receiver.until(() => receiver.calls.length === 1);
  await on.pombo.app.webhooks.worker.idle();
  // An event a day.
  for (let day = 1; day <= 5; day += 1) {
    await on.advance(DAY);
    const before = receiver.calls.length;
    await on.test();
    await receiver.until(() => receiver.calls.length > before);
    await on.pombo.app.webhooks.worker.idle();
    expect([day, (await on.shown()).enabled]).toEqual([day, day < 5]);
  }
  expect(await on.shown()).toMatchObject({ disabledReason: "Nothing but failures for 5 days" });
  expect(on.pombo.app.db.sqlite.query("SELECT type FROM event WHERE type = 'webhook.disabled'").all()).toHaveLength(1);
});

test("events of one resource wait for each other, those of others do not", async () => {
  await using receiver = startReceiver();
  const first = Promise.withResolvers<Response>();
  await using on = await startCalled(receiver);
  // One that has answered once has more than one call at a time.
  await on.test();
  await receiver.until(() => receiver.calls.length === 1);
  await on.pombo.app.webhooks.worker.idle();
  receiver.calls.length = 0;
  receiver.answer = () => (receiver.calls.length === 1 ? first.promise : new Response());
  const { workspace, email } = { workspace: on.pombo.workspace, email: on.pombo.email() };
  const slow = (await workspace.call("POST", "/api/v1/emails", { body: email })).body.data.id;
  await receiver.until(() => receiver.calls.length === 1);
  const other = (await workspace.call("POST", "/api/v1/emails", { body: email })).body.data.id;
  await receiver.until(() => receiver.calls.filter(({ event }) => event.data.id === other).length === 2);
  // Delivered long since, but its first event is still on its way.
  expect(receiver.calls.filter(({ event }) => event.data.id === slow)).toHaveLength(1);
  first.resolve(new Response());
  await receiver.until(() => receiver.calls.length === 4);
  expect(receiver.calls.at(-1)?.event).toMatchObject({ type: "email.delivered", data: { id: slow } });
});

test("what waited for a webhook that was deleted or turned off meanwhile is not called", async () => {
  for (const change of ["DELETE", "PATCH"] as const) {
    await using receiver = startReceiver();
    await using on = await startCalled(receiver);
    await on.test();
    await receiver.until(() => receiver.calls.length === 1);
    await on.pombo.app.webhooks.worker.idle();
    receiver.calls.length = 0;
    const first = Promise.withResolvers<Response>();
    receiver.answer = () => first.promise;
    // Of one resource: each waits for the one before.
    for (let count = 0; count < 5; count += 1) await on.test();
    await receiver.until(() => receiver.calls.length === 1);
    const { workspace } = on.pombo;
    await workspace.call(change, on.path, change === "PATCH" ? { body: { enabled: false } } : {});
    first.resolve(new Response());
    await on.pombo.app.webhooks.worker.idle();
    expect([change, receiver.calls.length]).toEqual([change, 1]);
  }
});

test("of a deleted webhook, and of a deleted workspace's, nothing is left but its events", async () => {
  for (const what of ["webhook", "workspace"]) {
    await using receiver = startReceiver();
    receiver.answer = () => new Response(null, { status: 500 });
    await using on = await startCalled(receiver);
    await on.test();
    await receiver.until(() => receiver.calls.length === 1);
    await on.idle();
    const { app, workspace, operator } = on.pombo;
    const left = () =>
      ["webhook", "webhook_job", "webhook_delivery", "webhook_gone"].map(
        (table) => app.db.sqlite.query<{ n: number }, []>(`SELECT COUNT(*) AS n FROM ${table}`).get()?.n,
      );
    expect(left()).toEqual([1, 1, 1, 0]);
    const gone =
      what === "webhook"
        ? await workspace.call("DELETE", on.path)
        : await operator.call("DELETE", `/api/v1/operator/workspaces/${workspace.id}`);
    expect([what, gone.status]).toEqual([what, 200]);
    for (let shares = 0; shares < 3; shares += 1) {
      for (let turns = 0; turns < 4; turns += 1) await new Promise<void>((next) => setImmediate(next));
      on.clock.advance(20);
    }
    expect([what, left()]).toEqual([what, [0, 0, 0, 0]]);
  }
});

test("a receiver that has never answered is called for a second event while the first call hangs", async () => {
  await using receiver = startReceiver();
  const never = Promise.withResolvers<Response>();
  receiver.answer = () => never.promise;
  await using on = await startCalled(receiver);
  const { workspace } = on.pombo;
  for (const name of ["ana", "rui", "eva", "zita", "joana"])
    await workspace.call("POST", "/api/v1/suppressions", { body: { address: `${name}@example.com` } });
  await receiver.until(() => receiver.calls.length === 4);
  expect(on.pombo.app.webhooks.worker.runningCount).toBe(4);
  never.resolve(new Response());
  await receiver.until(() => receiver.calls.length === 5);
});

test("hundreds of names that DNS is mute about hold up no other webhook's look-up", async () => {
  await using receiver = startReceiver();
  await using on = await startCalled(receiver);
  const { workspace, dns, app } = on.pombo;
  const make = (url: string, event: string) =>
    workspace.call("POST", "/api/v1/webhooks", { body: { url, events: [event] } });
  for (let index = 0; index < 150; index += 1)
    await make(`http://mute${index}.test:${receiver.port}/hook`, "suppression.created");
  dns.zone["there.test"] = { A: ["127.0.0.1"] };
  await make(`http://there.test:${receiver.port}/there`, "suppression.deleted");
  // What DNS said when they were made is forgotten by now.
  await on.advance(2 * HOUR);
  for (let index = 0; index < 150; index += 1) dns.faults[`mute${index}.test`] = "silence";
  await workspace.call("POST", "/api/v1/suppressions", { body: { address: "ana@example.com" } });
  while (app.webhooks.worker.runningCount < 150) await new Promise<void>((next) => setImmediate(next));
  // While the time stands still none of them is given up.
  await workspace.call("DELETE", "/api/v1/suppressions/ana%40example.com");
  await receiver.until(() => receiver.calls.some(({ path }) => path === "/there"));
  expect(app.webhooks.worker.runningCount).toBeGreaterThanOrEqual(150);
  await on.advance(5 * SECOND);
  await on.idle();
  const last = app.db.sqlite.query<{ reason: string }, []>(
    "SELECT last_failure_reason AS reason FROM webhook WHERE url LIKE '%mute149%'",
  );
  expect(last.get()?.reason).toBe("DNS did not answer for mute149.test within 5 s");
});
