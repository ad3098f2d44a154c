// What an SMSC answers, each code of the rulebook, with a whole pombo: how often it is tried again, by which route, and
// what the text is called in the end. Time runs faster.
import { expect, setDefaultTimeout, test } from "bun:test";
import { headOf, partOf, readMessage } from "../../support/peers/smsc/codec.ts";
import { type SmscHandle, startSmsc } from "../../support/peers/smsc/client.ts";
import type { Rule } from "../../support/peers/smsc/script.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { addStandIn, fastClock, startTexting } from "../../support/texting/world.ts";

setDefaultTimeout(60_000);

/** What becomes of a text that is answered so each time: its category, and how many submits that took. */
const FINAL: [codes: number[], category: string, submits: number][] = [
  [[0x01, 0x65, 0x66], "content_rejected", 1],
  [[0x06, 0x07, 0x15, 0x43, 0x54, 0x61, 0x62, 0x63, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4], "protocol_error", 1],
  [[0x0c, 0x11, 0x13, 0x33, 0x34, 0x40, 0x42, 0x44, 0x55, 0x67], "protocol_error", 1],
  [[0x0a, 0x48, 0x49], "sender_rejected", 1],
  [[0x0b, 0x50, 0x51], "invalid_destination", 1],
  [[0x0d, 0x0e, 0x0f, 0x53], "provider_auth", 1],
  [[0x100, 0x101, 0x103], "blocked", 1],
  [[0x104], "content_rejected", 1],
  [[0xfe], "provider_error", 1],
  [[0x45, 0xff, 0x09, 0x400, 0x4ff, 0x500, 0x80000000], "provider_error", 3],
  [[0x08], "provider_error", 6],
];

/** Those that are tried until the text's time is over. */
const PASSING = [0x14, 0x58, 0x64, 0x102];

/** A number of its own for each. */
function numberFor(index: number): string {
  return `25884${String(index).padStart(7, "0")}`;
}

async function submitsTo(smsc: SmscHandle) {
  const submits = (await smsc.journal())
    .filter(({ direction, what }) => direction === "<" && what.startsWith("00000004", 8))
    .map(({ what }) => ({
      ...readMessage(Buffer.from(what, "hex")),
      sequence: headOf(Buffer.from(what, "hex")).sequence,
    }));
  return Map.groupBy(submits, ({ destination }) => destination);
}

test("every code of the rulebook has its category, and as many tries as it is worth", async () => {
  const cases = FINAL.flatMap(([codes, category, submits]) => codes.map((code) => ({ code, category, submits })));
  const rules: Rule[] = cases.map(({ code }, index) => ({ to: numberFor(index), answer: { status: code } }));
  await using world = await startTexting({ script: { rules }, instance: { clock: fastClock(40) } });
  const ids = await Promise.all(cases.map((_, index) => world.text({ to: `+${numberFor(index)}` })));
  for (const [index, id] of ids.entries()) {
    const message = await world.until(id, ({ status }) => status === "failed");
    const { code, category } = cases[index] ?? {};
    expect([code, message.failureCategory, message.credits]).toEqual([code, category, 0]);
    expect(Number(message.providerErrorCode)).toBe(code ?? -1);
  }
  const byNumber = await submitsTo(world.smsc);
  expect(cases.map(({ code }, index) => [code, byNumber.get(numberFor(index))?.length])).toEqual(
    cases.map(({ code, submits }) => [code, submits]),
  );
  expect(world.instance.bugs).toEqual([]);
});

test("what is passing is tried again, and goes out in the end", async () => {
  const rules: Rule[] = PASSING.map((code, index) => ({ to: numberFor(index), count: 3, answer: { status: code } }));
  await using world = await startTexting({ script: { rules }, instance: { clock: fastClock(40) } });
  const ids = await Promise.all(PASSING.map((_, index) => world.text({ to: `+${numberFor(index)}` })));
  for (const id of ids) await world.until(id, ({ status }) => status === "delivered");
  const byNumber = await submitsTo(world.smsc);
  expect(PASSING.map((_, index) => byNumber.get(numberFor(index))?.length)).toEqual(PASSING.map(() => 4));
});

test("what says that we are out of step begins a new connection, and only 0x04 is tried again on it", async () => {
  for (const [status, kind, expected] of [
    [0x02, "nack", "protocol_error"],
    [0x03, "nack", "protocol_error"],
    [0x02, "answer", "protocol_error"],
    [0x04, "answer", null],
  ] as const) {
    const rules: Rule[] = [{ count: 1, answer: { status, kind } }];
    await using world = await startTexting({ script: { rules }, instance: { clock: fastClock() } });
    const id = await world.text();
    const message = await world.until(id, (each) => each.status === (expected === null ? "delivered" : "failed"));
    expect([status, message.failureCategory]).toEqual([status, expected]);
    await world.smsc.until({ connections: 2, bound: 1 });
  }
});

test("tries are counted for each status alone", async () => {
  // As many as 0x45 and 0x400 have each: three causes in turn, and none too often.
  const statuses = [0x64, 0x45, 0x64, 0x400, 0x45, 0x400, 0x64];
  const rules: Rule[] = statuses.map((status) => ({ count: 1, answer: { status } }));
  await using world = await startTexting({ script: { rules }, instance: { clock: fastClock(40) } });
  const id = await world.text();
  await world.until(id, ({ status }) => status === "delivered");
  expect((await world.smsc.state()).counters.submits).toBe(statuses.length + 1);
});

test("a text refused for its coding goes once more as UCS-2, where the route allows it and it takes no more segments", async () => {
  const rules: Rule[] = [{ count: 1, answer: { status: 0x104 } }];
  await using world = await startTexting({ route: { reencode: true }, script: { rules } });
  const id = await world.text({ body: "O PIN é 482913" });
  const message = await world.until(id, ({ status }) => status === "delivered");
  const [first, second] = (await submitsTo(world.smsc)).get("258841234567") ?? [];
  expect(message).toMatchObject({ encoding: "ucs2", segments: 1, credits: 1 });
  expect([first?.dataCoding, second?.dataCoding]).toEqual([0, 8]);
  expect(second?.shortMessage.swap16().toString("utf16le")).toBe("O PIN é 482913");
});

test("a route without re-encoding, a text that would grow, and one that was UCS-2 already are refused for good", async () => {
  const rules: Rule[] = [{ answer: { status: 0x104 } }];
  for (const [reencode, body, submits] of [
    [false, "Ola", 1],
    [true, "Ola ".repeat(30), 1],
    [true, "日本", 1],
    [true, "Ola", 2],
  ] as const) {
    await using world = await startTexting({ route: { reencode }, script: { rules } });
    const id = await world.text({ body });
    const message = await world.until(id, ({ status }) => status === "failed");
    expect(message).toMatchObject({ failureCategory: "content_rejected", credits: 0 });
    const sent = (await submitsTo(world.smsc)).get("258841234567") ?? [];
    expect([body, sent.length]).toEqual([body, submits]);
    if (submits === 2) expect(sent[1]?.shortMessage.toString("hex")).toBe("004f006c0061");
  }
});

test("an SMSC of which half of the answers are errors is left alone, tried after a pause, and used again", async () => {
  await using other = await startSmsc();
  const clock = fastClock(30);
  await using world = await startTexting({
    script: { rules: [{ answer: { status: 0x45 } }] },
    route: { failover: ["other"] },
    configure: (config) => addStandIn(config, other.port),
    instance: { clock },
  });
  const ids = await Promise.all(Array.from({ length: 80 }, () => world.text()));
  for (const id of ids) await world.until(id, ({ status }) => status === "delivered");
  const opened = () => world.instance.events.filter(({ name }) => name === "sms.circuit_open").length;
  expect(opened()).toBeGreaterThan(0);
  const { submits } = (await world.smsc.state()).counters;
  // Not each of them three times.
  expect(submits).toBeLessThan(200);
  await world.smsc.script({ rules: [] });
  await waitUntil("the circuit is closed", 40_000, async () => {
    await world.text();
    return world.instance.events.some(({ name }) => name === "sms.circuit_closed");
  });
  const before = (await other.state()).counters.submits;
  const id = await world.text();
  await world.until(id, ({ status }) => status === "delivered");
  expect((await other.state()).counters.submits).toBe(before);
  expect(world.instance.bugs).toEqual([]);
});

test("a number whose queue is full does not hold up the others", async () => {
  const rules: Rule[] = [{ to: "258849", answer: { status: 0x14 } }];
  await using world = await startTexting({ script: { rules } });
  const full = await world.text({ to: "+258849000000" });
  for (let nth = 0; nth < 30; nth += 1) await world.text({ to: `+${numberFor(nth)}` });
  await world.smsc.until({ accepted: 30 });
  expect(await world.show(full)).toMatchObject({ status: "queued", providerStatus: "ESME_RMSGQFUL" });
});

test("an SMSC that takes two a second gets all of them, each once", async () => {
  await using world = await startTexting({ script: { ratePerSecond: 2 }, link: { rate: 40 } });
  const ids = await Promise.all(Array.from({ length: 12 }, (_, nth) => world.text({ to: `+${numberFor(nth)}` })));
  for (const id of ids) {
    const message = await world.until(id, ({ status }) => status === "delivered");
    expect(message.possibleDuplicate).toBe(false);
  }
  expect((await world.smsc.state()).counters.accepted).toBe(12);
});

test("a storm of 0x58 costs no text a try, and is over when the SMSC says so", async () => {
  await using world = await startTexting({
    script: { rules: [{ count: 60, answer: { status: 0x58 } }] },
    instance: { clock: fastClock(40) },
  });
  const ids = await Promise.all(Array.from({ length: 20 }, (_, nth) => world.text({ to: `+${numberFor(nth)}` })));
  for (const id of ids) await world.until(id, ({ status }) => status === "delivered");
  expect(world.segments().filter(({ attempts }) => attempts !== 1)).toEqual([]);
});

test("part 2 of 3 refused: nothing behind it goes out, and what it costs is told", async () => {
  const rules: Rule[] = [{ part: 2, answer: { status: 0x66 } }];
  await using world = await startTexting({ script: { rules }, link: { window: 1 } });
  const id = await world.text({ body: "Um texto que vai em partes. ".repeat(14) });
  await world.until(id, ({ status }) => status === "failed");
  const message = await world.until(id, ({ deliveryState }) => deliveryState === "partially_delivered");
  expect(message).toMatchObject({ failureCategory: "content_rejected", segments: 3, credits: 1 });
  const parts = ((await submitsTo(world.smsc)).get("258841234567") ?? []).map((submit) => partOf(submit)?.part);
  expect(parts).toEqual([1, 2]);
});
