// What comes is not what SMPP says (the faults of framing).
import { expect, setDefaultTimeout, test } from "bun:test";
import { startSmsc, type SmscHandle } from "../../support/peers/smsc/client.ts";
import { ALERT, BORNE, CUT, FATAL, HALF, HEADER_ALONE, MANY, UNKNOWN_COMMAND } from "./faults.ts";
import { caughtUp, makeBound, readBy, type LinkWorld } from "../../support/smpp/world.ts";

// Each starts an SMSC, a process of its own.
setDefaultTimeout(20_000);

const say = (smsc: SmscHandle, bytes: Buffer, end?: "rst" | "fin") =>
  smsc.tell("say", { bytes: bytes.toString("hex"), ...(end === undefined ? {} : { end }) });

async function boundAgain(world: LinkWorld): Promise<void> {
  world.clock.advance(world.unbound.at(-1)?.retryInMs ?? 0);
  await world.until(() => world.link.state.state === "bound");
}

test("lengths that no PDU has, HTTP and TLVs past the end are answered generic_nack 0x02 and end the connection", async () => {
  await using smsc = await startSmsc({ script: { receipts: { states: [] }, rules: [{ answer: { kind: "none" } }] } });
  await using world = await makeBound(smsc);
  for (const [name, { bytes, reason }] of Object.entries(FATAL)) {
    world.send(name);
    await say(smsc, bytes);
    await world.until(() => world.link.state.state === "unbound");
    expect([name, world.unbound.at(-1)?.reason]).toEqual([name, expect.stringMatching(reason)]);
    expect(world.lost).toEqual([name]);
    world.lost.length = 0;
    await boundAgain(world);
  }
  expect((await readBy(smsc)).filter((read) => read === "generic_nack 0x2")).toHaveLength(Object.keys(FATAL).length);
});

test("TLVs without NUL, unknown ones and numbers of the upper half are borne", async () => {
  await using smsc = await startSmsc();
  await using world = await makeBound(smsc);
  for (const [name, { bytes, id }] of Object.entries(BORNE)) {
    const before = world.received.length;
    await say(smsc, bytes);
    await world.until(() => world.received.length > before);
    expect([name, world.received.at(-1)?.message.receiptedMessageId]).toEqual([name, id]);
  }
  // The SMSC itself knows of none of them.
  await smsc.until({ faults: Object.keys(BORNE).length });
  const journal = await smsc.journal();
  const acknowledged = journal.filter(({ direction, what }) => direction === "<" && what.slice(8, 16) === "80000005");
  expect(acknowledged.map(({ what }) => what.slice(24, 32))).toContain("80000007");
  expect(world.unbound).toEqual([]);
});

test("a command that nobody knows is answered generic_nack 0x03, and the session goes on", async () => {
  await using smsc = await startSmsc();
  await using world = await makeBound(smsc);
  await say(smsc, UNKNOWN_COMMAND);
  await smsc.until({ nacks: 1 });
  expect((await smsc.journal()).find(({ what }) => what.slice(8, 16) === "80000000")?.what).toBe(
    "0000001080000000000000030000002a",
  );
  world.send("a");
  await world.until(() => world.answers.length === 1);
  expect(world.unbound).toEqual([]);
});

test("a message that ends too early is answered 0x01 and told of, and nothing is taken for it; the session goes on", async () => {
  await using smsc = await startSmsc();
  await using world = await makeBound(smsc);
  await say(smsc, Buffer.concat(CUT));
  await caughtUp(smsc, world);
  expect(world.received).toHaveLength(1);
  const answers = (await readBy(smsc)).filter((read) => read.startsWith("deliver_sm_resp"));
  expect(answers.filter((read) => read === "deliver_sm_resp 0x1")).toHaveLength(CUT.length);
  expect(world.logged.filter(({ name }) => name === "smpp.message_truncated")).toHaveLength(CUT.length);
  expect(world.logged.find(({ name }) => name === "smpp.message_truncated")).toMatchObject({
    ...{ level: "warn", fields: { link: "vodacom-a", command: "deliver_sm", octets: 16 } },
  });
  expect(world.unbound).toEqual([]);
});

test("an alert_notification has no answer, and is nothing to tell of", async () => {
  await using smsc = await startSmsc();
  await using world = await makeBound(smsc);
  await say(smsc, ALERT);
  await caughtUp(smsc, world);
  expect(await readBy(smsc)).not.toContain("generic_nack 0x3");
  expect(world.logged.map(({ name }) => name)).not.toContain("smpp.unexpected_pdu");
  expect(world.unbound).toEqual([]);
});

test("octet by octet, and a hundred in one piece, PDUs are PDUs", async () => {
  await using smsc = await startSmsc({ script: { receipts: { delayMs: 0 } } });
  await using world = await makeBound(smsc);
  await say(smsc, MANY);
  await smsc.until({ enquireAnswers: 100 });
  await caughtUp(smsc, world);
  expect((await readBy(smsc)).filter((read) => read === "enquire_link_resp")).toHaveLength(100);
  await smsc.script({ pieceOctets: 1 });
  world.send("a", "b", "c");
  await world.until(() => world.answers.length === 3 && world.received.length === 4);
  expect(world.unbound).toEqual([]);
});

for (const [name, part] of Object.entries({ "half a PDU": HALF, "a header without its body": HEADER_ALONE })) {
  test(`${name} is waited for 10 s, and ends the connection then`, async () => {
    await using smsc = await startSmsc({ script: { receipts: { states: [] }, rules: [{ answer: { kind: "none" } }] } });
    await using world = await makeBound(smsc);
    await caughtUp(smsc, world);
    await say(smsc, part);
    await world.until(() => world.delays.at(-1) === 10_000);
    world.clock.advance(9_999);
    expect(world.unbound).toEqual([]);
    world.clock.advance(1);
    expect(world.unbound).toMatchObject([{ reason: "a PDU was not finished" }]);
  });

  test(`a reset after ${name} leaves nothing behind for the next connection`, async () => {
    await using smsc = await startSmsc({ script: { receipts: { states: [] } } });
    await using world = await makeBound(smsc);
    for (const end of ["rst", "fin"] as const) {
      await say(smsc, part, end);
      await world.until(() => world.link.state.state === "unbound");
      await boundAgain(world);
      const before = world.answers.length;
      world.send("a");
      await world.until(() => world.answers.length === before + 1);
    }
    expect(world.received).toEqual([]);
  });
}

test("an answer cut in the middle by a reset is no answer: its segment is lost, not accepted under half an id", async () => {
  await using smsc = await startSmsc({ script: { rules: [{ from: 2, count: 1, answer: { end: "half" } }] } });
  await using world = await makeBound(smsc);
  world.send("a", "b", "c");
  await world.until(() => world.unbound.length === 1);
  expect(world.answers[0]?.segment.name).toBe("a");
  expect(world.lost[0]).toBe("b");
  expect(new Set([...world.answers.map(({ segment }) => segment.name), ...world.lost]).size).toBe(3);
});
