// What is answered to submits, and what is not (the faults of answers and of status).
import { expect, setDefaultTimeout, test } from "bun:test";
import { startSmsc } from "../../support/peers/smsc/client.ts";
import { caughtUp, makeBound, readBy, segment } from "../../support/smpp/world.ts";

// Each starts an SMSC, a process of its own.
setDefaultTimeout(20_000);

const NO_RECEIPTS = { receipts: { states: [] } };
const TEN = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

test("segments go out in order, each answer comes with its segment, its status and its id", async () => {
  await using smsc = await startSmsc({ script: { ...NO_RECEIPTS, ids: "hex" } });
  await using world = await makeBound(smsc);
  expect(world.send("a", "b", "c")).toEqual([]);
  await world.until(() => world.answers.length === 3);
  expect(world.answers.map((answer) => [answer.segment.name, answer.status, answer.messageId, answer.isLate])).toEqual([
    ["a", 0, "39f99dd5", false],
    ["b", 0, "39f99dd6", false],
    ["c", 0, "39f99dd7", false],
  ]);
  expect(await readBy(smsc)).toEqual(["bind_transceiver", "submit a", "submit b", "submit c"]);
});

test("more than the window holds is not written, and given back", async () => {
  await using smsc = await startSmsc({ script: { ...NO_RECEIPTS, rules: [{ answer: { kind: "none" } }] } });
  await using world = await makeBound(smsc, { window: 4 });
  expect(world.send("a", "b", "c", "d", "e", "f")).toEqual(["e", "f"]);
  expect(world.link.free).toBe(0);
  await smsc.until({ submits: 4 });
  await caughtUp(smsc, world);
  expect((await smsc.state()).maxUnanswered).toBe(4);
});

test("a place in the window is free when its answer is committed, not when it has come", async () => {
  await using smsc = await startSmsc({ script: NO_RECEIPTS });
  await using world = await makeBound(smsc, { window: 2 });
  world.isSettling = false;
  world.send("a", "b");
  await world.until(() => world.answers.length === 2);
  expect(world.link.free).toBe(0);
  expect(world.send("c")).toEqual(["c"]);
  world.answers[0]?.settle();
  world.answers[0]?.settle();
  expect(world.link.free).toBe(1);
  expect(world.send("c", "d")).toEqual(["d"]);
});

test("places that are about to be given back count from half of the window on, and those of an older session never", async () => {
  await using smsc = await startSmsc({ script: NO_RECEIPTS });
  await using world = await makeBound(smsc, { window: 4 });
  world.isSettling = false;
  world.send("a", "b", "c", "d");
  await world.until(() => world.answers.length === 4);
  const [first] = world.answers;
  expect([0, 1, 2, 4, 9].map((settle) => world.link.freeWith(settle))).toEqual([0, 0, 2, 4, 4]);
  expect(first?.isPresent()).toBe(true);
  world.link.reconnect("for a test");
  await world.until(() => world.unbound.length === 1);
  expect(world.link.freeWith(4)).toBe(0);
  expect(first?.isPresent()).toBe(false);
});

test("it asks for more at once when half of the window is free, else in 2 ms", async () => {
  await using smsc = await startSmsc({ script: NO_RECEIPTS });
  await using world = await makeBound(smsc, { window: 4 });
  world.isSettling = false;
  await world.until(() => world.ready.length === 1);
  world.send("a", "b", "c", "d");
  await world.until(() => world.answers.length === 4);
  world.answers[0]?.settle();
  await Promise.resolve();
  expect(world.ready).toEqual([4]);
  world.clock.advance(2);
  expect(world.ready).toEqual([4, 1]);
  for (const { settle } of world.answers) settle();
  // Once, after all of one commit.
  await Promise.resolve();
  expect(world.ready).toEqual([4, 1, 4]);
});

test("a segment that cannot be written is given back alone, with the reason", async () => {
  await using smsc = await startSmsc({ script: NO_RECEIPTS });
  await using world = await makeBound(smsc);
  const bad = segment("bad", { source: { ton: 5, npi: 0, address: "Água" } });
  expect(world.link.send([segment("a"), bad, segment("b")])).toEqual([
    { segment: bad, reason: "source: at most 20 ASCII characters" },
  ]);
  await world.until(() => world.answers.length === 2);
  expect(world.link.state.taken).toBe(0);
});

test("answers may come in any order", async () => {
  await using smsc = await startSmsc({ script: { ...NO_RECEIPTS, reverse: 10 } });
  await using world = await makeBound(smsc);
  world.send(...TEN);
  await world.until(() => world.answers.length === 10);
  expect(world.answers.map((answer) => answer.segment.name)).toEqual(TEN.toReversed());
});

test("answers under a number that was not sent, zero, and twice, change nothing and are told of once", async () => {
  await using smsc = await startSmsc({
    script: {
      ...NO_RECEIPTS,
      rules: [
        { from: 1, count: 1, answer: { sequence: "wrong" } },
        { from: 1, count: 1, answer: { sequence: "zero" } },
        { from: 1, count: 1, answer: { sequence: "high" } },
        { from: 1, count: 1, answer: { times: 3 } },
      ],
    },
  });
  await using world = await makeBound(smsc);
  world.send("wrong", "zero", "high", "twice", "right");
  await world.until(() => world.answers.length === 2);
  await caughtUp(smsc, world);
  expect(world.answers.map((answer) => answer.segment.name)).toEqual(["twice", "right"]);
  expect(world.link.state.taken).toBe(3);
  expect(world.logged.filter(({ name }) => name === "smpp.unexpected_pdu")).toHaveLength(1);
});

test("a ROK with an empty id is an answer, and ids that are all the same are passed on", async () => {
  await using smsc = await startSmsc({ script: { ...NO_RECEIPTS, ids: "empty" } });
  await using world = await makeBound(smsc);
  world.send("a");
  await world.until(() => world.answers.length === 1);
  await smsc.script({ ids: "constant" });
  world.send("b", "c");
  await world.until(() => world.answers.length === 3);
  expect(world.answers.map(({ messageId }) => messageId)).toEqual(["", "123456789", "123456789"]);
});

test("without an answer in 30 s the outcome is unknown, the place stays taken, and a late answer still counts", async () => {
  await using smsc = await startSmsc({ script: { ...NO_RECEIPTS, rules: [{ count: 1, answer: { delayMs: 300 } }] } });
  await using world = await makeBound(smsc);
  world.send("a");
  world.clock.advance(29_999);
  expect(world.timedOut).toEqual([]);
  world.clock.advance(1);
  expect(world.timedOut).toEqual(["a"]);
  expect(world.link.state).toMatchObject({ state: "bound", taken: 1 });
  await world.until(() => world.answers.length === 1);
  expect(world.answers).toMatchObject([{ segment: { name: "a" }, status: 0, isLate: true }]);
  expect(world.link.state.taken).toBe(0);
});

test("three timeouts in a row end the session; each segment is told of once, as timed out or as lost", async () => {
  await using smsc = await startSmsc({ script: { ...NO_RECEIPTS, rules: [{ answer: { kind: "none" } }] } });
  await using world = await makeBound(smsc, { window: 100, enquireMs: 200_000 });
  world.send("a", "b");
  world.clock.advance(10_000);
  world.send("c", "d");
  await smsc.until({ submits: 4 });
  world.clock.advance(5_000);
  world.send("e");
  world.clock.advance(15_000);
  await caughtUp(smsc, world);
  expect(world.timedOut).toEqual(["a", "b"]);
  expect(world.unbound).toEqual([]);
  world.clock.advance(10_000);
  expect(world.timedOut).toEqual(["a", "b", "c", "d"]);
  expect(world.lost).toEqual(["e"]);
  expect(world.unbound).toMatchObject([{ reason: "submits are not answered" }]);
});

test("half of the window late ends the session, also with answers in between", async () => {
  await using smsc = await startSmsc({
    script: { ...NO_RECEIPTS, rules: [{ every: 2, from: 2, answer: { kind: "none" } }] },
  });
  await using world = await makeBound(smsc, { window: 4 });
  world.send("a", "b", "c", "d");
  await world.until(() => world.answers.length === 2);
  world.clock.advance(30_000);
  expect(world.timedOut).toEqual(["b", "d"]);
  expect(world.unbound).toHaveLength(1);
});

test("a dropped connection loses what was not answered, and nothing that was", async () => {
  for (const how of ["rst", "fin"] as const) {
    await using smsc = await startSmsc({
      script: { ...NO_RECEIPTS, rules: [{ every: 2, from: 2, answer: { kind: "none" } }] },
    });
    await using world = await makeBound(smsc);
    world.isSettling = false;
    world.send(...TEN);
    await world.until(() => world.answers.length === 5);
    await smsc.tell("drop", { how });
    await world.until(() => world.unbound.length === 1);
    expect(world.lost).toEqual(["1", "3", "5", "7", "9"]);
    expect(world.link.free).toBe(0);
    expect(world.send("x")).toEqual(["x"]);
    // What is committed after the end concerns the next session in nothing.
    world.clock.advance(1_000);
    await world.until(() => world.link.state.state === "bound");
    world.answers[0]?.settle();
    expect(world.link.state).toMatchObject({ taken: 0 });
    expect(world.link.epoch).toBe(2);
  }
});

test("a ROK right before a reset is an answer, told before what is lost", async () => {
  await using smsc = await startSmsc({
    script: { ...NO_RECEIPTS, rules: [{ count: 1, answer: { end: "rst" } }, { answer: { kind: "none" } }] },
  });
  await using world = await makeBound(smsc);
  world.send("a", "b");
  await world.until(() => world.unbound.length === 1);
  expect(world.answers.map((answer) => answer.segment.name)).toEqual(["a"]);
  expect(world.lost).toEqual(["b"]);
});

test("any status is handed over as it is, and the session goes on", async () => {
  const statuses = [0x01, 0x08, 0x0a, 0x0b, 0x14, 0x45, 0x64, 0x65, 0xfe, 0xff, 0x100, 0x104, 0x400, 0x4ff, 0x80000000];
  await using smsc = await startSmsc({
    script: { ...NO_RECEIPTS, rules: statuses.map((status) => ({ count: 1, answer: { status } })) },
  });
  await using world = await makeBound(smsc, { window: 100 });
  world.send(...statuses.map(String));
  await world.until(() => world.answers.length === statuses.length);
  expect(world.answers.map(({ status }) => status)).toEqual(statuses);
  expect(world.unbound).toEqual([]);
});

test("one part of several may be refused by itself", async () => {
  await using smsc = await startSmsc({ script: { ...NO_RECEIPTS, rules: [{ part: 2, answer: { status: 0x14 } }] } });
  await using world = await makeBound(smsc);
  const parts = [1, 2, 3].map((part) =>
    segment(`part ${part}`, { esmClass: 0x40, shortMessage: Buffer.from([5, 0, 3, 66, 3, part, 65]) }),
  );
  world.link.send(parts);
  await world.until(() => world.answers.length === 3);
  expect(world.answers.map(({ status }) => status)).toEqual([0, 0x14, 0]);
});

test("a generic_nack says so, and one that means we are out of step ends the session after it was told", async () => {
  for (const status of [0x02, 0x03, 0x04]) {
    const kind = status === 0x04 ? "answer" : "nack";
    await using smsc = await startSmsc({
      script: { ...NO_RECEIPTS, rules: [{ count: 1, answer: { kind, status } }, { answer: { kind: "none" } }] },
    });
    await using world = await makeBound(smsc);
    world.send("a", "b");
    await world.until(() => world.unbound.length === 1);
    expect(world.answers).toMatchObject([{ segment: { name: "a" }, status, isNack: kind === "nack" }]);
    expect(world.lost).toEqual(["b"]);
  }
  await using smsc = await startSmsc({
    script: { ...NO_RECEIPTS, rules: [{ answer: { kind: "nack", status: 0x58 } }] },
  });
  await using world = await makeBound(smsc);
  world.send("a");
  await world.until(() => world.answers.length === 1);
  expect(world.unbound).toEqual([]);
});

test("0x58 to all halves the rate, once a round trip, and is told of once a minute", async () => {
  await using smsc = await startSmsc({ script: { ...NO_RECEIPTS, rules: [{ answer: { status: 0x58 } }] } });
  await using world = await makeBound(smsc, { ratePerSecond: 200, enquireMs: 200_000 });
  const told = () => world.logged.filter(({ name }) => name === "smpp.throttled");
  world.send(...TEN);
  await world.until(() => world.answers.length === 10);
  expect(world.link.state.ratePerSecond).toBe(100);
  expect(told()).toMatchObject([{ fields: { status: "0x00000058", ratePerSecond: 100 } }]);
  world.clock.advance(100);
  expect(world.link.free).toBe(10);
  world.send(...TEN);
  await world.until(() => world.answers.length === 20);
  expect([world.link.state.ratePerSecond, told().length]).toEqual([50, 1]);
  world.clock.advance(60_000);
  world.send("1", "2", "3", "4", "5");
  world.clock.advance(1_000);
  world.send("6", "7", "8", "9", "10");
  await world.until(() => world.answers.length === 30);
  expect([world.link.state.ratePerSecond, told().length]).toEqual([25, 2]);
});

test("one in a hundred throttled leaves the rate as it is, and a limit of the SMSC is found", async () => {
  const rules = [{ every: 100, answer: { status: 0x58 } }];
  await using smsc = await startSmsc({ script: { ...NO_RECEIPTS, rules } });
  await using world = await makeBound(smsc, { ratePerSecond: 2_000, window: 50 });
  let sent = 0;
  const sendFor = async (ms: number) => {
    for (const end = world.clock.now() + ms; world.clock.now() < end; world.clock.advance(10)) {
      const { free } = world.link;
      world.send(...Array.from({ length: free }, String));
      sent += free;
      await world.until(() => world.answers.length === sent);
    }
  };
  await sendFor(1_000);
  expect(world.link.state.ratePerSecond).toBe(2_000);
  expect(world.answers.filter(({ status }) => status === 0x58).length).toBeGreaterThan(15);
  // Of ten one is taken, whatever comes.
  await smsc.script({ rules: [{ every: 10, answer: {} }, { answer: { status: 0x58 } }] });
  await sendFor(1_000);
  expect(world.link.state.ratePerSecond).toBeLessThan(1_900);
});

test("no more goes out than the rate allows, and it asks again as the rate does", async () => {
  await using smsc = await startSmsc({ script: NO_RECEIPTS });
  await using world = await makeBound(smsc, { ratePerSecond: 20, window: 100 });
  const startedAt = world.clock.now();
  let sent = 0;
  for (let ms = 0; ms < 10_000; ms += 10) {
    const { free } = world.link;
    world.send(...Array.from({ length: free }, String));
    sent += free;
    await world.until(() => world.answers.length === sent);
    world.clock.advance(10);
  }
  expect(world.clock.now() - startedAt).toBe(10_000);
  expect(sent).toBeGreaterThanOrEqual(195);
  expect(sent).toBeLessThanOrEqual(202);
});

test("whoever takes an answer and throws ends the session, and does not leave it deaf", async () => {
  await using smsc = await startSmsc({ script: NO_RECEIPTS });
  await using world = await makeBound(smsc);
  const take = world.answers.push.bind(world.answers);
  world.answers.push = () => {
    world.answers.push = take;
    throw new Error("our own bug");
  };
  world.send("a", "b");
  await world.until(() => world.unbound.length === 1);
  expect(world.unbound).toMatchObject([{ reason: "a fault of our own" }]);
  expect(world.logged.find(({ level }) => level === "error")?.fields).toEqual({ error: "Error: our own bug" });
  world.clock.advance(1_000);
  await world.until(() => world.link.state.state === "bound");
  world.send("c");
  await world.until(() => world.answers.some(({ segment: { name } }) => name === "c"));
});
