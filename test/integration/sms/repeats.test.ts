// Texts whose acknowledgement was lost come again, and arrive once; the same text written twice arrives twice.
import { expect, setDefaultTimeout, test } from "bun:test";
import type { Delivery } from "../../support/peers/smsc/codec.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { shiftedClock, startTexting, type TextWorld } from "../../support/texting/world.ts";

setDefaultTimeout(40_000);

function text(body: string, change: Partial<Delivery> = {}): Delivery {
  const bytes = Buffer.from(body, "latin1").toString("hex");
  const usual = {
    command: "deliver_sm",
    from: "258841234567",
    to: "84000",
    esmClass: 0,
    dataCoding: 0,
    bytes,
  } as const;
  return { ...usual, isPayload: false, tlvs: [], ...change };
}

function part(seq: number, body: string): Delivery {
  const bytes = Buffer.concat([Buffer.from([5, 0, 3, 9, 2, seq]), Buffer.from(body, "latin1")]).toString("hex");
  return text("", { esmClass: 0x40, bytes });
}

function bodies({ instance }: TextWorld): string[] {
  const rows = instance.app.db.sqlite.query<{ body: string }, []>("SELECT body FROM sms_inbound ORDER BY id").all();
  return rows.map(({ body }) => body);
}

/** They are taken, and the connection breaks before the SMSC has read that. */
async function deliverUnheard(world: TextWorld, deliveries: Delivery[], until: () => boolean): Promise<void> {
  const { smsc } = world;
  await smsc.until({ bound: 1 });
  await smsc.tell("stall", { isStalled: true });
  await smsc.deliver("loja", ...deliveries);
  await waitUntil("they are taken", 10_000, until);
  await smsc.tell("drop", { how: "rst" });
  await smsc.until({ closed: 1 });
  await smsc.tell("stall", { isStalled: false });
}

test("the same text twice over one connection is two texts", async () => {
  await using world = await startTexting();
  await world.smsc.deliver("loja", text("Sim"), text("Sim"));
  await world.smsc.until({ acknowledged: 2 });
  expect(bodies(world)).toEqual(["Sim", "Sim"]);
});

test("what comes again over the next connection arrived before: two of a kind stay two", async () => {
  await using world = await startTexting();
  await deliverUnheard(world, [text("Sim"), text("Sim"), text("Bom dia")], () => bodies(world).length === 3);
  await world.smsc.until({ acknowledged: 3, connections: 2 });
  expect(bodies(world)).toEqual(["Sim", "Sim", "Bom dia"]);
  // Whoever writes it again now means it.
  await world.smsc.deliver("loja", text("Sim"));
  await world.smsc.until({ acknowledged: 4 });
  expect(bodies(world)).toHaveLength(4);
});

test("a part that comes again after its text was whole begins no new text", async () => {
  await using world = await startTexting();
  await deliverUnheard(world, [part(1, "Bom "), part(2, "dia")], () => bodies(world).length === 1);
  await world.smsc.until({ acknowledged: 2, connections: 2 });
  expect(bodies(world)).toEqual(["Bom dia"]);
  expect(world.instance.app.db.sqlite.query("SELECT COUNT(*) AS n FROM sms_inbound_part").get()).toEqual({ n: 0 });
});

test("what was taken and not acknowledged before a restart arrives once", async () => {
  await using world = await startTexting();
  const { smsc, instance } = world;
  await smsc.until({ bound: 1 });
  await smsc.tell("stall", { isStalled: true });
  await smsc.deliver("loja", text("PIN 42"));
  await waitUntil("it is taken", 10_000, () => bodies(world).length === 1);
  await smsc.tell("door", { isOpen: false });
  await smsc.tell("drop", { how: "rst" });
  await smsc.until({ closed: 1 });
  await instance.restart();
  await smsc.tell("stall", { isStalled: false });
  await smsc.tell("door", { isOpen: true });
  await smsc.until({ acknowledged: 1 });
  expect(bodies(world)).toEqual(["PIN 42"]);
});

test("the same text after a connection that broke long after the first is a new one", async () => {
  const clock = shiftedClock();
  await using world = await startTexting({ instance: { clock } });
  await world.smsc.deliver("loja", text("Sim"));
  await world.smsc.until({ acknowledged: 1 });
  clock.shift(61_000);
  await world.smsc.tell("drop", { how: "rst" });
  await world.smsc.until({ connections: 2, bound: 1 });
  await world.smsc.deliver("loja", text("Sim"));
  await world.smsc.until({ acknowledged: 2 });
  expect(bodies(world)).toEqual(["Sim", "Sim"]);
});

test("under the SMSC's own id it is the same, whenever it comes in five minutes", async () => {
  const clock = shiftedClock();
  await using world = await startTexting({ instance: { clock } });
  const named = (id: string) => text("Sim", { tlvs: [{ tag: 0x001e, value: Buffer.from(`${id}\0`).toString("hex") }] });
  await world.smsc.deliver("loja", named("77"));
  await world.smsc.until({ acknowledged: 1 });
  clock.shift(120_000);
  await world.smsc.deliver("loja", named("77"), named("78"));
  await world.smsc.until({ acknowledged: 3 });
  expect(bodies(world)).toEqual(["Sim", "Sim"]);
});
