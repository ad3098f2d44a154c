// What a text to each magic number ends as, through a whole pombo: API, queue, SMPP, receipts.
import { expect, setDefaultTimeout, test } from "bun:test";
import { MAGIC_NUMBERS, buildNumber } from "../../../src/sandbox/smsc/magic-numbers.ts";
import type { Json } from "../../support/fakes/instance.ts";
import { startPhones } from "./phone-kit.ts";

// The time is the clock's of the tests; each 50 ms of it cost some requests, which a busy machine answers slowly.
setDefaultTimeout(180_000);

/** Two segments. */
const LONG = "a".repeat(200);
/** A sweep is up to a second late, a timer of a link a little. */
const LATE_MS = 3_000;

test("a text to each magic number ends as the table says, in the time that it says", async () => {
  await using world = await startPhones();
  const startedAt = world.clock.now();
  for (const row of MAGIC_NUMBERS) {
    await world.text({ to: buildNumber(row), body: row.parts === 2 ? LONG : `to ${row.ending}`, from: "84000" });
  }
  const endedAt = new Map<string, number>();
  const seen = async () => new Map((await world.messages()).map((each): [string, Json] => [each.to, each]));
  await world.until("all end as the table says", 80_000, async () => {
    const messages = await seen();
    for (const row of MAGIC_NUMBERS) {
      const { status, deliveryState, failureCategory } = messages.get(buildNumber(row));
      const isSo = Bun.deepEquals({ status, deliveryState, failureCategory }, row.ends);
      if (isSo && !endedAt.has(row.ending)) endedAt.set(row.ending, world.clock.now() - startedAt);
      if (!isSo) endedAt.delete(row.ending);
    }
    return endedAt.size === MAGIC_NUMBERS.length;
  });
  const late = MAGIC_NUMBERS.filter(
    ({ ending, seconds }) => (endedAt.get(ending) ?? 0) > Math.max(seconds * 1_000, 1_000) + LATE_MS,
  );
  expect(late.map(({ ending }) => `${ending}: ${endedAt.get(ending)} ms`)).toEqual([]);
  // Nothing changes any more.
  const before = await seen();
  await world.pass(20_000);
  expect(await seen()).toEqual(before);

  const marked = [...before.values()].filter(({ possibleDuplicate }) => possibleDuplicate === true);
  expect(marked.map(({ to }) => to).sort()).toEqual(["+258840000016", "+258840000017"]);
  const shown = world.texts.list().map(({ to }) => to.slice(-2));
  const arrived = ["07", "08", "09", "13", "14", "15", "17", "17", "19", "20"];
  expect(shown.sort()).toEqual(arrived);
  expect(world.instance.bugs).toEqual([]);
});

test("what is refused for good gives its credits back, what the network could not deliver does not", async () => {
  await using world = await startPhones();
  const costs = async (ending: string, body = "x") => {
    const id = await world.text({ to: buildNumber({ ending }), body });
    let message: Json;
    await world.until("the end", 30_000, async () => {
      message = (await world.messages()).find((each) => each.id === id);
      return ["failed", "undelivered"].includes(message.status);
    });
    return (await world.instance.workspace.call("GET", "/api/v1/workspace/usage")).body.data.usage
      .smsCreditsBalance as number;
  };
  expect(await costs("10")).toBe(1_000);
  expect(await costs("01")).toBe(999);
  // Of two segments the first was taken.
  expect(await costs("18", LONG)).toBe(998);
});

test("the reader at 19 opts out by writing STOP to the number that texted it: the next text is refused, and sms.received tells", async () => {
  await using world = await startPhones();
  const to = buildNumber({ ending: "19" });
  const { workspace } = world.instance;
  const { next_cursor: cursor } = (await workspace.call("GET", "/api/v1/events")).body.meta;
  await world.text({ to, body: "Promoção", from: "84000" });
  const inbound = async () => (await workspace.call("GET", "/api/v1/sms/inbound")).body.data as Json[];
  await world.until("the STOP is there", 5_000, async () => (await inbound()).length === 1);
  expect(await inbound()).toMatchObject([{ from: to, to: "84000", body: "STOP" }]);
  const again = await workspace.call("POST", "/api/v1/sms", { body: { to, body: "Mais" } });
  expect([again.status, again.body.errors[0].code]).toEqual([422, "RECIPIENT_SUPPRESSED"]);
  const facts = await workspace.call("GET", `/api/v1/events?limit=100&cursor=${cursor}`);
  const types = facts.body.data.map(({ type }: Json) => type as string);
  expect(types.toSorted()).toEqual(["sms.delivered", "sms.queued", "sms.received", "sms.sent", "suppression.created"]);
});

test("a text from a name arrives at 19 and is not answered, which the terminal says", async () => {
  await using world = await startPhones();
  await world.text({ to: buildNumber({ ending: "19" }), body: "Olá" });
  await world.until("it is told", 5_000, () => world.lines.some((line) => line.includes("nothing is written back")));
  await world.pass(3_000);
  expect(world.texts.list({ withOut: true }).map(({ direction }) => direction)).toEqual(["in"]);
});

test("a text that was refused twice and taken is counted anew the next time", async () => {
  await using world = await startPhones();
  const to = buildNumber({ ending: "13" });
  for (const nth of [1, 2]) {
    const id = await world.text({ to, body: "mesmo" });
    await world.until("delivered", 20_000, async () => {
      const message = (await world.messages()).find((each) => each.id === id);
      return message.status === "delivered";
    });
    expect(world.lines.filter((line) => line.startsWith("refused with 0x58"))).toHaveLength(2 * nth);
  }
});

test("in another country a phone gets its text and writes back, and the numbers that behave on purpose have its prefix", async () => {
  await using world = await startPhones(["3519xxxxxxxx"]);
  const { workspace, app } = world.instance;
  const maria = "+351961234567";
  const ids = [await world.text({ to: maria, body: "Olá, Maria", from: "84000" })];
  for (const ending of ["01", "13"])
    ids.push(await world.text({ to: buildNumber({ ending }, maria), body: `to ${ending}`, from: "84000" }));
  const ends = async () => {
    const all = await world.messages();
    return ids.map((id) => all.find((each) => each.id === id).status as string);
  };
  await world.until(
    "all have ended",
    20_000,
    async () => !(await ends()).some((end) => /queued|sending|sent/.test(end)),
  );
  expect(await ends()).toEqual(["delivered", "undelivered", "delivered"]);
  expect(world.texts.list({ phone: maria }).map(({ body }) => body)).toEqual(["Olá, Maria"]);
  const write = (from: string) =>
    fetch(`${app.url}/sandbox/texts`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ from, body: "STOP" }),
    });
  expect((await write(maria)).status).toBe(201);
  const refused = await write("+258841234567");
  const message = "from must be the phone's number in E.164, such as +351912345678";
  expect([refused.status, ((await refused.json()) as Json).errors[0].message]).toEqual([422, message]);
  const again = await workspace.call("POST", "/api/v1/sms", { body: { to: maria, body: "Mais" } });
  expect([again.status, again.body.errors[0].code]).toEqual([422, "RECIPIENT_SUPPRESSED"]);
  const html = await (await fetch(`${app.url}/sandbox`)).text();
  expect(html).toContain('data-recipient="+351912345678"');
  expect(html).toContain("<dt>+351910000001</dt>");
  expect(html).not.toContain("+258");
});
