import { expect, test } from "bun:test";
import { startReceiver } from "../../support/fakes/receiver.ts";
import { faultsOfEvents } from "./documented-events.ts";
import { type HeldInstance, startHeld } from "../../support/api/kit.ts";
import { send, text, TO } from "./texts.ts";
import type { SegmentRow, ProviderWords } from "../../../src/modules/sms/queue/segment-read-store.ts";

const NOON = Date.UTC(2026, 10, 21, 12);
const FINE: ProviderWords = { providerStatus: "ESME_ROK", providerCode: "0x00000000", category: null, reason: null };
const DELIVERED: ProviderWords = { ...FINE, providerStatus: "DELIVRD", providerCode: "000" };

/** An instance with SMS whose webhooks may be called here. */
async function startHere(): Promise<HeldInstance> {
  const held = await startHeld(NOON, {
    configure(config) {
      config.webhooks.allowHttp = true;
      config.webhooks.allowPrivateRanges = ["127.0.0.0/8"];
    },
  });
  await held.pombo.enableSms(held.pombo.workspace);
  return held;
}

/** What a link would do with all that is ready. */
async function claim({ pombo, clock }: HeldInstance): Promise<SegmentRow[]> {
  const { segments } = pombo.app.smsStores;
  const [work] = segments.readyWork();
  if (work === undefined) return [];
  return pombo.app.committer.commit(() =>
    segments.claim({ ...work, link: "a", leaseEpoch: 1, now: clock.now(), limit: 10 }),
  );
}

test("the life of a text is told without its body, a text that comes in with it", async () => {
  await using receiver = startReceiver();
  await using held = await startHere();
  const { pombo, clock } = held;
  const url = receiver.url;
  await pombo.workspace.call("POST", "/api/v1/webhooks", { body: { url, events: ["sms.*"] } });
  const { id } = (await send(pombo, text())).body.data;
  const { segments, inbound } = pombo.app.smsStores;
  const { commit } = pombo.app.committer;
  const [row] = await claim(held);
  if (row === undefined) throw new Error("nothing was claimed");
  const answer = { smscId: "A1", smscIdKey: "a1", expectsReceipt: true, now: clock.now() };
  await commit(() => segments.accept(row, answer, FINE));
  const accepted = { ...row, state: "accepted" } as const;
  const receipt = { state: "delivered", receiptState: "delivered", now: clock.now() } as const;
  await commit(() => segments.receipt(accepted, receipt, DELIVERED));
  await commit(() =>
    inbound.insert({
      uid: "0198a5a0-0000-7000-8000-000000000001",
      workspaceId: row.workspaceId,
      route: "test",
      sender: TO,
      recipient: "84000",
      body: "Sim",
      isWhole: true,
      raw: null,
      receivedAt: clock.now(),
    }),
  );
  await receiver.until(() => receiver.calls.length === 4);
  const events = receiver.calls.map((call) => call.event);
  const eventOf = (type: string) => events.find((event) => event.type === type);
  expect(events.map((event) => event.type).toSorted()).toEqual([
    "sms.delivered",
    "sms.queued",
    "sms.received",
    "sms.sent",
  ]);
  expect(eventOf("sms.queued").data).toMatchObject({ id, status: "queued", to: TO, segments: 1, credits: 1 });
  expect(eventOf("sms.sent").data).toMatchObject({ id, status: "sent", providerId: "A1" });
  const { body: _, sentBy: _sentBy, ...record } = (await pombo.workspace.call("GET", `/api/v1/sms/${id}`)).body.data;
  expect(eventOf("sms.delivered").data).toEqual(record);
  expect(eventOf("sms.received").data).toEqual({
    id: "0198a5a0-0000-7000-8000-000000000001",
    from: TO,
    to: "84000",
    body: "Sim",
    receivedAt: new Date(NOON).toISOString(),
  });
  expect(await faultsOfEvents(pombo, receiver)).toEqual([]);
});

test("a text that fails is told once with its credits given back, whatever number of parts it had", async () => {
  await using receiver = startReceiver();
  await using held = await startHere();
  const { pombo, clock } = held;
  await pombo.workspace.call("POST", "/api/v1/webhooks", { body: { url: receiver.url, events: ["sms.failed"] } });
  const { id } = (await send(pombo, text({ body: "x".repeat(400) }))).body.data;
  const { segments } = pombo.app.smsStores;
  const [first, second] = await claim(held);
  if (first === undefined || second === undefined) throw new Error("too little was claimed");
  const said: ProviderWords = { ...FINE, providerStatus: "ESME_RINVDSTADR", category: "invalid_destination" };
  const end = { state: "failed", now: clock.now() } as const;
  const { commit } = pombo.app.committer;
  await Promise.all([first, second].map((row) => commit(() => segments.end(row, end, said))));
  await commit(() => segments.end({ ...second, seq: 3 }, end, said));
  await receiver.until(() => receiver.calls.length > 0);
  await pombo.app.webhooks.worker.idle();
  expect(receiver.calls.map((call) => [call.event.type, call.event.data.id, call.event.data.credits])).toEqual([
    ["sms.failed", id, 0],
  ]);
  const { smsCreditsBalance } = (await pombo.workspace.call("GET", "/api/v1/workspace/usage")).body.data.usage;
  expect(smsCreditsBalance).toBe(1_000);
});

test("nothing is written of texts that nobody wants to hear of", async () => {
  await using held = await startHere();
  const { pombo } = held;
  await send(pombo, text());
  await claim(held);
  const { count } = pombo.app.db.sqlite
    .query<{ count: number }, []>("SELECT COUNT(*) AS count FROM event WHERE type LIKE 'sms.%'")
    .get() ?? { count: -1 };
  expect(count).toBe(0);
});
