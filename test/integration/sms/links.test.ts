// Links that go away and come back, with a whole pombo: where the parts of a text may go, and where not.
import { expect, setDefaultTimeout, test } from "bun:test";
import { partOf, readMessage } from "../../support/peers/smsc/codec.ts";
import { type SmscHandle, startSmsc } from "../../support/peers/smsc/client.ts";
import type { Rule } from "../../support/peers/smsc/script.ts";
import { waitUntil } from "../../support/peers/process.ts";
import {
  addStandIn,
  fastClock,
  linkConfig,
  startTexting,
  type TextWorld,
  type TextWorldOptions,
} from "../../support/texting/world.ts";

setDefaultTimeout(40_000);

const THREE_PARTS = "Um texto que vai em partes. ".repeat(14);

async function partsAt(smsc: SmscHandle): Promise<(number | undefined)[]> {
  return (await smsc.journal())
    .filter(({ direction, what }) => direction === "<" && what.startsWith("00000004", 8))
    .map(({ what }) => partOf(readMessage(Buffer.from(what, "hex")))?.part);
}

/** A route of two links, each to an SMSC of its own; the second is shut at first. */
async function startPair(other: SmscHandle, rules: Rule[], options: TextWorldOptions = {}): Promise<TextWorld> {
  await other.tell("door", { isOpen: false });
  return startTexting({
    ...options,
    script: { rules },
    link: { window: 1, ...options.link },
    route: { failoverAfterMs: 1_000 },
    configure: (config) => void config.sms.routes[0]?.links.push(linkConfig(other.port, { name: "vodacom-b" })),
  });
}

async function goAway({ smsc, instance }: TextWorld): Promise<void> {
  await smsc.tell("door", { isOpen: false });
  await smsc.tell("drop", { how: "rst" });
  const isAway = () => instance.app.sms.links.views()[0]?.state !== "bound";
  await waitUntil("the link is away", 15_000, isAway);
}

test("a text of several parts whose link is gone before any went out goes by another link", async () => {
  await using other = await startSmsc();
  await using world = await startPair(other, [{ answer: { status: 0x64 } }], { instance: { clock: fastClock(5) } });
  await world.smsc.until({ bound: 1 });
  const id = await world.text({ body: THREE_PARTS });
  await world.smsc.until({ answers: 1 });
  await goAway(world);
  await other.tell("door", { isOpen: true });
  await world.until(id, ({ status }) => status === "delivered");
  expect(await partsAt(other)).toEqual([1, 2, 3]);
});

test("one of which a part went out waits for its link, and goes on there", async () => {
  await using other = await startSmsc();
  const rules: Rule[] = [{ part: 2, count: 1, answer: { status: 0x64 } }];
  await using world = await startPair(other, rules, { instance: { clock: fastClock(5) } });
  await world.smsc.until({ bound: 1 });
  const id = await world.text({ body: THREE_PARTS });
  await world.smsc.until({ answers: 2 });
  await goAway(world);
  await other.tell("door", { isOpen: true });
  await other.until({ bound: 1 });
  const single = await world.text();
  await world.until(single, ({ status }) => status === "delivered");
  expect(await world.show(id)).toMatchObject({ status: "sending" });
  await world.smsc.tell("door", { isOpen: true });
  await world.until(id, ({ status }) => status === "delivered");
  expect(await partsAt(world.smsc)).toEqual([1, 2, 2, 3]);
  expect(await partsAt(other)).toEqual([undefined]);
});

test("one of which a part went out and whose link stays away expires, and says why", async () => {
  await using other = await startSmsc();
  const clock = fastClock(5);
  // So slow that the connection's end is seen before the second part is due.
  const options = { instance: { clock }, link: { rate: 1 } };
  await using world = await startPair(other, [{ count: 1, answer: { end: "fin" } }], options);
  await world.smsc.until({ bound: 1 });
  const id = await world.text({ body: THREE_PARTS });
  await world.smsc.until({ answers: 1 });
  await goAway(world);
  await other.tell("door", { isOpen: true });
  await other.until({ bound: 1 });
  clock.jump(24 * 3_600_000);
  const message = await world.until(id, ({ status }) => status === "expired");
  expect(message).toMatchObject({ failureCategory: "provider_unavailable", credits: 1 });
  expect(await partsAt(other)).toEqual([]);
});

test("texts that waited for their first try while the route was away expire as provider_unavailable", async () => {
  const clock = fastClock(5);
  await using world = await startTexting({ instance: { clock } });
  await world.smsc.until({ bound: 1 });
  await goAway(world);
  const id = await world.text({ body: THREE_PARTS });
  clock.jump(24 * 3_600_000);
  const message = await world.until(id, ({ status }) => status === "expired");
  expect(message).toMatchObject({ failureCategory: "provider_unavailable", credits: 0, deliveryState: null });
});

test("a text of several parts of which some are out never goes by the route that stands in", async () => {
  await using other = await startSmsc();
  await using world = await startTexting({
    script: { rules: [{ part: 2, count: 1, answer: { status: 0x64 } }] },
    link: { window: 1 },
    route: { failover: ["other"], failoverAfterMs: 1_000 },
    configure: (config) => addStandIn(config, other.port),
    instance: { clock: fastClock(5) },
  });
  await world.smsc.until({ bound: 1 });
  const id = await world.text({ body: THREE_PARTS });
  await world.smsc.until({ answers: 2 });
  await goAway(world);
  const single = await world.text();
  await world.until(single, ({ status }) => status === "delivered");
  expect((await other.state()).counters.submits).toBe(1);
  await world.smsc.tell("door", { isOpen: true });
  await world.until(id, ({ status }) => status === "delivered");
  expect(await partsAt(world.smsc)).toEqual([1, 2, 2, 3]);
});

test("of a pair the receiver alone is no link that sends: its texts go by the route that stands in", async () => {
  await using other = await startSmsc();
  await using world = await startTexting({
    script: { bind: { refused: ["bind_transmitter"] } },
    link: { bind: "pair" },
    route: { failover: ["other"], failoverAfterMs: 1_000 },
    configure: (config) => addStandIn(config, other.port),
  });
  await world.smsc.until({ bound: 1 });
  const id = await world.text();
  await world.until(id, ({ status }) => status === "delivered");
  expect((await other.state()).counters.submits).toBe(1);
});

test("the parts left of a text whose link was taken out of the configuration go together by another", async () => {
  await using other = await startSmsc();
  const rules: Rule[] = [{ part: 2, answer: { status: 0x64 } }];
  await using world = await startTexting({ script: { rules }, link: { window: 1 } });
  await world.smsc.until({ bound: 1 });
  const id = await world.text({ body: THREE_PARTS });
  await world.smsc.until({ answers: 2 });
  // No receipt comes once its link is gone.
  await waitUntil("the first part is there", 15_000, () => world.segments()[0]?.state === "delivered");
  await waitUntil("it waits", 15_000, () => world.segments().every(({ state }) => state !== "in_flight"));
  const [route] = world.instance.config.sms.routes;
  route?.links.splice(
    0,
    1,
    ...["b", "c"].map((name) => linkConfig(other.port, { name: `vodacom-${name}`, window: 1 })),
  );
  await world.instance.restart();
  await world.until(id, ({ status }) => status === "delivered");
  const submits = (await other.journal()).filter(
    ({ what, direction }) => direction === "<" && what.startsWith("00000004", 8),
  );
  expect(await partsAt(other)).toEqual([2, 3]);
  expect(new Set(submits.map(({ connection }) => connection)).size).toBe(1);
});
