import { expect, test } from "bun:test";
import { defaultSmsRoute } from "../../../src/config/config.ts";
import { headOf, partOf, readMessage, TAG, tlvOf } from "../../support/peers/smsc/codec.ts";
import { type SmscHandle, startSmsc } from "../../support/peers/smsc/client.ts";
import { linkConfig, startTexting } from "../../support/texting/world.ts";

const LONG = "Um texto que vai em partes. ".repeat(57).trim().slice(0, 1_590);

/** Every submit_sm that the SMSC read, in order. */
async function submitsAt(smsc: SmscHandle) {
  return (await smsc.journal())
    .filter(({ direction, what }) => direction === "<" && what.startsWith("00000004", 8))
    .map(({ what, connection, at }) => ({ connection, at, bytes: Buffer.from(what, "hex") }))
    .map(({ bytes, ...rest }) => ({ ...rest, sequence: headOf(bytes).sequence, message: readMessage(bytes) }));
}

test("a text goes out, is answered, and its receipt makes it delivered", async () => {
  await using world = await startTexting();
  const id = await world.text();
  const message = await world.until(id, ({ status }) => status === "delivered");
  expect(message).toMatchObject({ deliveryState: "delivered", providerStatus: "DELIVRD", possibleDuplicate: false });
  expect(message.sentAt).toBeString();
  expect(world.instance.bugs).toEqual([]);
});

test("the parts of a long text go in their order through a window that is smaller", async () => {
  await using world = await startTexting({ link: { window: 4 } });
  const id = await world.text({ body: LONG });
  const message = await world.until(id, ({ status }) => status === "delivered");
  expect(message.segments).toBe(11);
  const parts = (await submitsAt(world.smsc)).map((each) => partOf(each.message)?.part);
  expect(parts).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect((await world.smsc.state()).maxUnanswered).toBeLessThanOrEqual(4);
});

test("all parts of a text stay on one of two links", async () => {
  await using world = await startTexting({
    link: { window: 2 },
    configure(config, port) {
      config.sms.routes[0]?.links.push(linkConfig(port, { name: "vodacom-b", window: 2 }));
    },
  });
  await world.smsc.until({ bound: 2 });
  const ids = await Promise.all([1, 2, 3, 4].map(() => world.text({ body: LONG })));
  for (const id of ids) await world.until(id, ({ status }) => status === "delivered");
  const submits = await submitsAt(world.smsc);
  const byText = Map.groupBy(submits, ({ message }) => message.shortMessage[3]);
  expect(byText.size).toBe(4);
  for (const each of byText.values()) {
    expect(new Set(each.map(({ connection }) => connection)).size).toBe(1);
    expect(each.map(({ message }) => partOf(message)?.part)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  }
});

test("a route that carries texts whole sends one submit, and one receipt delivers all parts", async () => {
  await using world = await startTexting({ route: { segmentation: "payload" }, link: { window: 2 } });
  const id = await world.text({ body: LONG });
  const message = await world.until(id, ({ status }) => status === "delivered");
  expect(message).toMatchObject({ segments: 11, credits: 11 });
  expect(await submitsAt(world.smsc)).toHaveLength(1);
});

test("a throttled text waits, is not counted as tried, and goes out", async () => {
  await using world = await startTexting({ script: { rules: [{ count: 2, answer: { status: 0x58 } }] } });
  const id = await world.text();
  await world.until(id, ({ status }) => status === "delivered");
  expect(world.segments()).toMatchObject([{ attempts: 1, resends: 0 }]);
  expect((await world.smsc.state()).counters.submits).toBe(3);
});

test("a refusal for good fails the text and gives the credit back", async () => {
  await using world = await startTexting({ script: { rules: [{ answer: { status: 0x0a } }] } });
  const id = await world.text();
  const message = await world.until(id, ({ status }) => status === "failed");
  expect(message).toMatchObject({
    failureCategory: "sender_rejected",
    providerStatus: "ESME_RINVSRCADR",
    providerErrorCode: "0x0000000A",
    credits: 0,
  });
});

test("a refused part ends the parts behind it", async () => {
  const rules = [{ part: 2, answer: { status: 0x66 } }];
  await using world = await startTexting({ script: { rules }, link: { window: 2 } });
  const id = await world.text({ body: LONG });
  await world.until(id, ({ status }) => status === "failed");
  // What was in the window with it is all that went out.
  expect((await world.smsc.state()).counters.submits).toBeLessThanOrEqual(3);
  const message = await world.until(id, ({ credits }) => credits < 3);
  expect(message).toMatchObject({ failureCategory: "content_rejected" });
});

test("a number that a route has no way to goes once by the route that stands in", async () => {
  await using other = await startSmsc();
  await using world = await startTexting({
    script: { rules: [{ answer: { status: 0x0b } }] },
    route: { failover: ["other"] },
    configure(config) {
      const route = { ...defaultSmsRoute("other"), prefixes: ["25882"] };
      config.sms.routes.push({ ...route, links: [linkConfig(other.port, { name: "other-a" })] });
    },
  });
  const id = await world.text();
  await world.until(id, ({ status }) => status === "delivered");
  expect(world.segments()).toMatchObject([{ route: "other" }]);
  expect((await other.state()).counters.submits).toBe(1);
});

test("texts of a route that is away go by the one that stands in", async () => {
  await using other = await startSmsc();
  await using world = await startTexting({
    script: { bind: { kind: "none" } },
    route: { failover: ["other"], failoverAfterMs: 1_000 },
    configure(config) {
      const route = { ...defaultSmsRoute("other"), prefixes: ["25882"] };
      config.sms.routes.push({ ...route, links: [linkConfig(other.port, { name: "other-a" })] });
    },
  });
  const id = await world.text();
  await world.until(id, ({ status }) => status === "delivered");
  expect(world.segments()).toMatchObject([{ route: "other" }]);
});

test("whoever opted out meanwhile is not texted", async () => {
  await using world = await startTexting();
  await world.smsc.tell("door", { isOpen: false });
  await world.smsc.until({ bound: 1 });
  await world.smsc.tell("drop", { how: "fin" });
  await world.smsc.untilAtMost({ open: 0 });
  const id = await world.text();
  const address = "+258841234567";
  const body = { address, channel: "sms" };
  expect((await world.instance.workspace.call("POST", "/api/v1/suppressions", { body })).status).toBe(201);
  await world.smsc.tell("door", { isOpen: true });
  const message = await world.until(id, ({ status }) => status === "failed");
  expect(message).toMatchObject({ failureCategory: "opted_out", credits: 0 });
});

test("a sender id goes by the name that the route's SMSC knows, and answers to that name come back to it", async () => {
  const senders = [
    { name: "Loja", as: "LOJA-MZ" },
    { name: "84000", as: "84111" },
  ];
  await using world = await startTexting({ route: { senders } });
  const path = `/api/v1/operator/workspaces/${world.instance.workspace.id}/sender-ids`;
  await world.instance.operator.call("POST", path, { body: { name: "84000" } });
  for (const from of ["Loja", "84000"])
    await world.until(await world.text({ from }), (each) => each.status === "delivered");
  const sent = (await submitsAt(world.smsc)).map(({ message }) => [message.source, message.sourceTon]);
  expect(sent).toEqual([
    ["LOJA-MZ", 5],
    ["84111", 3],
  ]);
  const bytes = Buffer.from("Sim, quero").toString("hex");
  const answer = {
    command: "deliver_sm",
    from: "258841234567",
    to: "84111",
    esmClass: 0,
    dataCoding: 0,
    bytes,
  } as const;
  await world.smsc.deliver("loja", { ...answer, isPayload: false, tlvs: [] });
  await world.smsc.until({ acknowledged: 3 });
  const list = await world.instance.workspace.call("GET", "/api/v1/sms/inbound");
  expect(list.body.data).toMatchObject([{ to: "84111", body: "Sim, quero" }]);
});

test("a text goes as its route has it: addresses, validity, reference, receipt", async () => {
  await using world = await startTexting();
  const id = await world.text();
  await world.until(id, ({ status }) => status === "delivered");
  const [submit] = await submitsAt(world.smsc);
  expect(submit?.message).toMatchObject({
    source: "Loja",
    sourceTon: 5,
    destination: "258841234567",
    destinationTon: 1,
    registeredDelivery: 1,
  });
  expect(submit?.message.validity).toMatch(/^0000(?:00235959|01000000)000R$/);
  expect(submit && tlvOf(submit.message, TAG.userMessageReference)).not.toBeNull();
});
