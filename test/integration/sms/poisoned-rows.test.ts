// A row that cannot be written, by what is no trouble of the storage: one text among many.
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { databaseFile } from "../../../src/platform/db/open.ts";
import type { Instance, Json } from "../../support/fakes/instance.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { fastClock, startTexting, type TextWorld, type TextWorldOptions } from "../../support/texting/world.ts";

setDefaultTimeout(40_000);

const POISON = "+258849999999";
const ABORT = "BEGIN SELECT RAISE(ABORT, 'poisoned'); END";
const ITS_MESSAGE = `(SELECT recipient FROM sms_message WHERE id = NEW.message_id) = '${POISON}'`;
/** What becomes of it cannot be written, in the closure itself. */
const ITS_ACCEPTANCE = `BEFORE UPDATE OF state ON sms_segment WHEN NEW.state = 'accepted' AND ${ITS_MESSAGE} ${ABORT}`;
const ITS_END = `BEFORE UPDATE OF state ON sms_segment WHEN OLD.state = 'in_flight' AND ${ITS_MESSAGE} ${ABORT}`;
/** The same where texts are settled, before the COMMIT that all share. */
const ITS_SETTLING = `BEFORE UPDATE ON sms_message WHEN NEW.status NOT IN ('queued', 'sending')
  AND NEW.recipient = '${POISON}' ${ABORT}`;

function alter(pombo: Instance, statement: string): void {
  const database = new Database(databaseFile(pombo.directory));
  database.run("PRAGMA busy_timeout = 5000");
  database.run(statement);
  database.close();
}

const poison = ({ instance }: TextWorld, trigger: string) => alter(instance, `CREATE TRIGGER poison ${trigger}`);
const cure = ({ instance }: TextWorld) => alter(instance, "DROP TRIGGER poison");

function start(options: TextWorldOptions = {}): Promise<TextWorld> {
  return startTexting({ ...options, instance: { clock: fastClock(20) } });
}

/** The poisoned text among ten others to the same operator, which all come to their end; the id of the poisoned one. */
async function sendAll(world: TextWorld): Promise<string> {
  const ids: string[] = [];
  const numbers = Array.from({ length: 10 }, (_, i) => `+25884123450${i}`);
  for (const to of [...numbers.slice(0, 5), POISON, ...numbers.slice(5)]) ids.push(await world.text({ to }));
  const [poisoned] = ids.splice(5, 1);
  for (const id of ids) await world.until(id, ({ status }) => status === "delivered" || status === "sent");
  return poisoned ?? "";
}

async function submitsTo(world: TextWorld, to: string): Promise<number> {
  const journal = await world.smsc.journal();
  const digits = Buffer.from(to.slice(1)).toString("hex");
  return journal
    .filter(({ direction, what }) => direction === "<" && what.startsWith("00000004", 8))
    .filter(({ what }) => what.includes(digits)).length;
}

async function troublesOf(pombo: Instance): Promise<Json[]> {
  return (await pombo.operator.call("GET", "/api/v1/operator/status")).body.data.issues;
}

const stateOf = (world: TextWorld) =>
  world
    .segments()
    .map(({ state }) => state)
    .filter((state) => state !== "delivered" && state !== "accepted");

function expectNoDiskTrouble({ instance }: TextWorld): void {
  expect(instance.events.map(({ name }) => name)).not.toContain("disk.failed");
}

for (const [where, trigger] of [
  ["in its own closure", ITS_ACCEPTANCE],
  ["where all of a transaction are settled", ITS_SETTLING],
] as const) {
  test(`a text whose answer cannot be written, ${where}, goes once more, marked, and nobody else waits for it`, async () => {
    // A receipt would settle it.
    await using world = await start({ script: { receipts: { states: [] } } });
    poison(world, trigger);
    const id = await sendAll(world);
    expect(world.instance.bugs[0]).toMatchObject({ where: "sms link event", id, seq: 1 });
    expectNoDiskTrouble(world);
    await waitUntil("it was sent again", 10_000, async () => (await submitsTo(world, POISON)) === 2);
    expect(await world.show(id)).toMatchObject({ possibleDuplicate: true });
    // The second one's answer cannot be written either: that is held.
    await waitUntil("it is in doubt", 10_000, () => Promise.resolve(stateOf(world).join() === "unknown"));
    cure(world);
    await world.until(id, ({ status }) => status === "delivered" || status === "failed" || status === "sent");
    expect(await submitsTo(world, POISON)).toBe(2);
  });
}

test("a text of which nothing can be written keeps no place, is a trouble with its cure, and is not sent again unmarked", async () => {
  await using world = await start({ link: { window: 1 } });
  poison(world, ITS_END);
  const id = await sendAll(world);
  expect(world.instance.bugs).toMatchObject([{ where: "sms link event", id, seq: 1 }]);
  expectNoDiskTrouble(world);
  expect(stateOf(world)).toEqual(["in_flight"]);
  const issues = await troublesOf(world.instance);
  expect(issues).toMatchObject([{ component: "sms" }]);
  expect(issues[0].reason).toContain(id);
  expect((await fetch(`${world.instance.app.url}/ready`)).status).toBe(200);
  // A start with the same bug recovers all others, and neither fails nor sends it.
  await world.instance.restart();
  const next = await world.text();
  await world.until(next, ({ status }) => status === "delivered");
  expect(stateOf(world)).toEqual(["in_flight"]);
  expect((await troublesOf(world.instance))[0].reason).toContain(id);
  expect(await submitsTo(world, POISON)).toBe(1);
  // The bug passes: a minute later it is as one whose answer was lost, and a receipt was there before.
  cure(world);
  expect(await world.until(id, ({ status }) => status === "delivered")).toMatchObject({ possibleDuplicate: false });
  expect(await submitsTo(world, POISON)).toBe(1);
  expect(await troublesOf(world.instance)).toEqual([]);
});

test("where the bug passes within the run, the answer is written a minute later, and the text was sent once", async () => {
  await using world = await start();
  poison(world, ITS_END);
  const id = await sendAll(world);
  cure(world);
  expect(await world.until(id, ({ status }) => status === "sent" || status === "delivered")).toMatchObject({
    possibleDuplicate: false,
  });
  expect(await submitsTo(world, POISON)).toBe(1);
  await waitUntil("all is well", 15_000, async () => (await troublesOf(world.instance)).length === 0);
});

test("a route whose policy is to hold sends none of it again: it is given up as of unknown outcome", async () => {
  await using world = await start({
    script: { rules: [{ answer: { receipt: { states: [] } } }] },
    route: { onLostResponse: "hold" },
    configure: (config) => void (config.sms.lostResponseWaitMs = 20_000),
  });
  poison(world, ITS_ACCEPTANCE);
  const id = await sendAll(world);
  const message = await world.until(id, ({ status }) => status !== "sending");
  expect(message).toMatchObject({ status: "failed", failureCategory: "outcome_unknown", possibleDuplicate: false });
  expect(await submitsTo(world, POISON)).toBe(1);
});

test("a text that cannot be decided at a start holds up neither the start nor the others", async () => {
  await using world = await start({ script: { rules: [{ answer: { kind: "none", receipt: { states: [] } } }] } });
  const ids: string[] = [];
  for (const to of ["+258841234501", POISON, "+258841234502"]) ids.push(await world.text({ to }));
  await world.smsc.until({ submits: 3 });
  poison(world, `BEFORE UPDATE OF state ON sms_segment WHEN NEW.state = 'ready' AND ${ITS_MESSAGE} ${ABORT}`);
  await world.instance.restart();
  await waitUntil("the others go", 10_000, async () => (await world.smsc.state()).counters.submits >= 5);
  expect(await submitsTo(world, POISON)).toBe(1);
  expect(world.instance.bugs.at(-1)).toMatchObject({ where: "sms uncertain", id: ids[1] });
  expect((await troublesOf(world.instance))[0].reason).toContain(ids[1] as string);
});

test("a text that cannot be claimed is put off, and those behind it go on", async () => {
  await using world = await start({ link: { window: 4 } });
  poison(world, `BEFORE UPDATE OF status ON sms_message WHEN NEW.recipient = '${POISON}' ${ABORT}`);
  const id = await sendAll(world);
  expect(await submitsTo(world, POISON)).toBe(0);
  expect(world.instance.bugs).toContainEqual(expect.objectContaining({ where: "sms claim", id }));
  expectNoDiskTrouble(world);
  const { length } = world.instance.bugs;
  expect(length).toBeLessThan(6);
  cure(world);
  expect(await world.until(id, ({ status }) => status === "delivered")).toMatchObject({ possibleDuplicate: false });
  expect(await submitsTo(world, POISON)).toBe(1);
});

test("a text whose end cannot be written when its time is over keeps no other from its end", async () => {
  const clock = fastClock(20);
  await using world = await startTexting({ link: { port: 1 }, instance: { clock } });
  const ids: string[] = [];
  for (const to of ["+258841234501", POISON, "+258841234502"]) ids.push(await world.text({ to }));
  poison(world, `BEFORE UPDATE OF status ON sms_message WHEN NEW.recipient = '${POISON}' ${ABORT}`);
  clock.jump(25 * 3_600_000);
  for (const id of [ids[0], ids[2]]) await world.until(id ?? "", ({ status }) => status === "expired");
  expect(world.instance.bugs).toContainEqual(expect.objectContaining({ where: "sms expire", id: ids[1] }));
  cure(world);
  await world.until(ids[1] ?? "", ({ status }) => status === "expired");
});

test("five hundred texts whose ends cannot be written keep no later one from its end", async () => {
  const clock = fastClock(20);
  await using world = await startTexting({ link: { port: 1 }, instance: { clock } });
  await Promise.all(Array.from({ length: 500 }, () => world.text({ to: POISON })));
  const id = await world.text();
  poison(world, `BEFORE UPDATE OF status ON sms_message WHEN NEW.recipient = '${POISON}' ${ABORT}`);
  clock.jump(25 * 3_600_000);
  await world.until(id, ({ status }) => status === "expired");
  expect(stateOf(world)).toHaveLength(501);
  cure(world);
  await waitUntil("all have ended", 20_000, () => Promise.resolve(!stateOf(world).includes("ready")));
});
