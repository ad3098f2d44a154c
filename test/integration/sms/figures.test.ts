import { expect, test } from "bun:test";
import { waitUntil } from "../../support/peers/process.ts";
import { fastClock, startTexting, type TextWorld, type TextWorldOptions } from "../../support/texting/world.ts";

function startMeasured(options: TextWorldOptions = {}): Promise<TextWorld> {
  return startTexting({
    ...options,
    configure(config, port) {
      config.metrics.listen = { address: "127.0.0.1", port: 0 };
      options.configure?.(config, port);
    },
  });
}

async function metrics({ instance }: TextWorld): Promise<string> {
  return (await fetch(instance.app.metricsUrl ?? "")).text();
}

const LINK = 'route="vodacom",link="vodacom-a"';

test("the metrics tell how links stand and what became of texts", async () => {
  await using world = await startMeasured({ script: { rules: [{ count: 1, answer: { status: 0x58 } }] } });
  const id = await world.text();
  await world.until(id, ({ status }) => status === "delivered");
  const text = await metrics(world);
  for (const line of [
    `pombo_sms_link_bound{${LINK}} 1`,
    `pombo_sms_link_window_size{${LINK}} 10`,
    `pombo_sms_link_window_used{${LINK}} 0`,
    `pombo_sms_submits_total{${LINK},outcome="accepted"} 1`,
    `pombo_sms_submits_total{${LINK},outcome="throttled"} 1`,
    `pombo_sms_submits_total{${LINK},outcome="unanswered"} 0`,
    `pombo_sms_receipts_total{${LINK},state="delivered"} 1`,
    `pombo_sms_receipts_total{${LINK},state="rejected"} 0`,
    `pombo_sms_link_throttled_total{${LINK}} 0`,
    `pombo_sms_link_disconnects_total{${LINK},reason="lost"} 0`,
    `pombo_sms_inbound_messages_total{${LINK}} 0`,
    `pombo_sms_queue_depth{route="vodacom"} 0`,
    `pombo_sms_queue_oldest_message_age_seconds{route="vodacom"} 0`,
    `pombo_sms_receipts_unmatched{route="vodacom"} 0`,
    `pombo_sms_messages_total{status="sent"} 1`,
    `pombo_sms_messages_total{status="delivered"} 1`,
    `pombo_sms_messages_total{status="failed"} 0`,
    "pombo_sms_possible_duplicates_total 0",
  ])
    expect(text).toContain(`${line}\n`);
  expect(text).toMatch(/pombo_sms_link_rate_limit\{.*\} 10000\n/);
});

test("a lost answer, a receipt that fits nothing and a text received are counted", async () => {
  await using world = await startMeasured({
    script: { rules: [{ count: 1, answer: { end: "half", receipt: { states: [] } } }], receipts: { ids: "unknown" } },
  });
  const id = await world.text({ body: "Bom dia" });
  await world.until(id, ({ status }) => status === "sent");
  await world.smsc.deliver("loja", {
    command: "deliver_sm",
    from: "258841234567",
    to: "84000",
    esmClass: 0,
    dataCoding: 0,
    bytes: Buffer.from("Ola").toString("hex"),
    isPayload: false,
    tlvs: [],
  });
  let text = "";
  await waitUntil("all is counted", 10_000, async () => {
    text = await metrics(world);
    return (
      text.includes(`pombo_sms_inbound_messages_total{${LINK}} 1`) && text.includes('unmatched{route="vodacom"} 1')
    );
  });
  expect(text).toContain(`pombo_sms_submits_total{${LINK},outcome="lost"} 1\n`);
  expect(text).toContain("pombo_sms_possible_duplicates_total 1\n");
  expect(text).toContain(`pombo_sms_link_disconnects_total{${LINK},reason="lost"} 1\n`);
});

test("a route without a link is a trouble while texts wait for it, and the instance stays ready", async () => {
  await using world = await startMeasured({
    script: { bind: { status: 0x0f } },
    route: { failoverAfterMs: 1 },
  });
  const ready = async () => {
    const response = await fetch(`${world.instance.app.url}/ready`);
    return {
      status: response.status,
      body: (await response.json()) as { status: string; issues: { component: string; reason: string }[] },
    };
  };
  await world.smsc.until({ binds: 1 });
  // Nothing waits: nobody misses it.
  expect((await ready()).body.issues).toEqual([]);
  await world.text();
  await waitUntil("it is told", 10_000, async () =>
    /ESME_RINVSYSID/.test((await ready()).body.issues[0]?.reason ?? ""),
  );
  const { status, body } = await ready();
  expect([status, body.status, body.issues.map(({ component }) => component)]).toEqual([200, "ready", ["sms"]]);
  expect(body.issues[0]?.reason).toBe(
    "No link of the SMS route vodacom is bound, and messages wait for it (the bind was refused with 0x0000000F, ESME_RINVSYSID). Look at system_id of the link. See pombo sms links.",
  );
  const { issues } = (await world.instance.operator.call("GET", "/api/v1/operator/status")).body.data;
  expect(issues.map(({ component }: { component: string }) => component)).toEqual(["sms"]);
  const text = await metrics(world);
  expect(text).toContain("pombo_ready 1\n");
  expect(text).toContain(`pombo_sms_link_bound{${LINK}} 0\n`);
  expect(text).toContain('pombo_sms_queue_depth{route="vodacom"} 1\n');
  expect(text).toContain(`pombo_sms_link_disconnects_total{${LINK},reason="refused"} 1\n`);
});

test("a route that gets more messages than its SMSC takes is a trouble, and the instance stays ready", async () => {
  const clock = fastClock(20);
  await using world = await startTexting({
    script: { rules: [{ answer: { status: 0x58 } }] },
    instance: { clock },
  });
  const ready = async () => {
    const response = await fetch(`${world.instance.app.url}/ready`);
    return {
      status: response.status,
      body: (await response.json()) as { issues: { component: string; reason: string }[] },
    };
  };
  let nth = 0;
  const isTold = async () => {
    const texts = Array.from({ length: 20 }, () =>
      world.text({ to: `+2588411${String((nth += 1)).padStart(5, "0")}` }),
    );
    await Promise.all(texts);
    clock.jump(60_000);
    // At first it may still be told that no link is bound.
    return (await ready()).body.issues.some(({ reason }: { reason: string }) => reason.includes("gets more messages"));
  };
  await waitUntil("it is told", 15_000, isTold);
  const { status, body } = await ready();
  expect([status, body.issues[0]?.component]).toEqual([200, "sms"]);
  expect(body.issues[0]?.reason).toContain("The SMS route vodacom gets more messages than it can send");
  const seen = (await world.instance.operator.call("GET", "/api/v1/operator/status")).body.data;
  expect(seen.issues[0].reason).toContain("gets more messages than it can send");
});
