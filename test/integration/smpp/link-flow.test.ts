// A peer that is silent, floods, does not read, or says goodbye; and messages that come (the faults of flow).
import { expect, setDefaultTimeout, test } from "bun:test";
import { startSmsc } from "../../support/peers/smsc/client.ts";
import { caughtUp, makeBound, makeLink, readBy, segment, TEXT } from "../../support/smpp/world.ts";

// Each starts an SMSC, a process of its own.
setDefaultTimeout(20_000);

const LARGE = { shortMessage: new Uint8Array(), messagePayload: Buffer.alloc(8_000) };
const NO_ANSWERS = { receipts: { states: [] }, rules: [{ answer: { kind: "none" as const } }] };

test("after 30 s without anything received it asks with enquire_link, and goes on when that is answered", async () => {
  await using smsc = await startSmsc();
  await using world = await makeBound(smsc);
  await caughtUp(smsc, world);
  for (const nth of [1, 2, 3]) {
    world.clock.advance(29_999);
    expect((await smsc.state()).counters.enquires).toBe(nth - 1);
    world.clock.advance(1);
    await smsc.until({ enquires: nth });
    await caughtUp(smsc, world);
  }
  expect(world.unbound).toEqual([]);
});

test("an enquire_link that is not answered in 10 s ends the connection", async () => {
  await using smsc = await startSmsc({ script: { enquire: "none", ...NO_ANSWERS } });
  await using world = await makeBound(smsc);
  world.clock.advance(15_000);
  world.send("a");
  world.clock.advance(15_000);
  await smsc.until({ enquires: 1 });
  world.clock.advance(9_999);
  expect(world.unbound).toEqual([]);
  world.clock.advance(1);
  expect(world.unbound).toMatchObject([{ reason: "enquire_link was not answered" }]);
  expect(world.lost).toEqual(["a"]);
});

test("300 s without anything received end the connection, whatever else is asked for", async () => {
  await using smsc = await startSmsc({ script: { enquire: "none" } });
  await using world = await makeBound(smsc, { enquireMs: 200_000, enquireTimeoutMs: 200_000 });
  world.clock.advance(299_999);
  expect(world.unbound).toEqual([]);
  world.clock.advance(1);
  expect(world.unbound).toMatchObject([{ reason: "nothing was received for too long" }]);
});

test("the peer's enquire_links are answered each, also while we are throttled", async () => {
  await using smsc = await startSmsc({ script: { rules: [{ answer: { status: 0x58 } }] } });
  await using world = await makeBound(smsc);
  world.send("a");
  await world.until(() => world.answers.length === 1);
  await smsc.tell("enquire", { times: 5_000 });
  await smsc.until({ enquireAnswers: 5_000 });
  expect(world.unbound).toEqual([]);
});

test("a peer that reads nothing is sent no more, and given up when it answers nothing", async () => {
  await using smsc = await startSmsc();
  await using world = await makeBound(smsc, { window: 1_000 });
  await smsc.tell("stall", { isStalled: true });
  let sent = 0;
  while (world.link.free > 0) {
    expect(world.link.send([segment(`s${sent}`, LARGE)])).toEqual([]);
    sent += 1;
  }
  // The kernel's buffers are full before the window is.
  expect(sent).toBeLessThan(1_000);
  world.clock.advance(30_000);
  expect(world.unbound).toMatchObject([{ reason: "submits are not answered" }]);
  expect(world.timedOut.length + world.lost.length).toBe(sent);
});

test("a peer that reads again is sent more", async () => {
  await using smsc = await startSmsc({ script: { receipts: { states: [] } } });
  await using world = await makeBound(smsc, { window: 1_000 });
  await smsc.tell("stall", { isStalled: true });
  let sent = 0;
  while (world.link.free > 0) {
    world.link.send([segment(`s${sent}`, LARGE)]);
    sent += 1;
  }
  world.ready.length = 0;
  await smsc.tell("stall", { isStalled: false });
  await world.until(() => world.answers.length === sent);
  expect(world.link.free).toBe(1_000);
});

test("a peer that asks and asks and does not read is given up before its answers fill our memory", async () => {
  await using smsc = await startSmsc();
  await using world = await makeBound(smsc, { window: 1_000 });
  await smsc.tell("stall", { isStalled: true });
  // The kernel's buffers first.
  for (let nth = 0; world.link.free > 0; nth += 1) world.link.send([segment(`s${nth}`, LARGE)]);
  for (let time = 0; world.unbound.length === 0 && time < 10; time += 1) {
    await smsc.tell("enquire", { times: 20_000 });
  }
  await world.until(() => world.unbound.length === 1);
  expect(world.unbound).toMatchObject([{ reason: "the peer does not read" }]);
});

test("messages are acknowledged when whoever took them says so, with the status given, once", async () => {
  await using smsc = await startSmsc({ script: { retryMs: 10 } });
  await using world = await makeBound(smsc);
  world.isAcknowledging = false;
  await smsc.deliver("loja", TEXT, { ...TEXT, command: "data_sm" });
  await world.until(() => world.received.length === 2);
  expect((await smsc.state()).counters).toMatchObject({ acknowledged: 0, unacknowledged: 2 });
  const [first, second] = world.received;
  second?.acknowledge(0);
  second?.acknowledge(0x64);
  first?.acknowledge(0x64);
  await smsc.until({ acknowledged: 1, refused: 1 });
  // What could not be committed comes again.
  await world.until(() => world.received.length === 3);
  expect(world.received[2]?.message.shortMessage.toString()).toBe("Sim");
  world.received[2]?.acknowledge(0);
  await smsc.until({ acknowledged: 2 });
  expect(await readBy(smsc)).toEqual(["bind_transceiver", "data_sm_resp", "deliver_sm_resp 0x64", "deliver_sm_resp"]);
});

test("a message whose taker throws is answered 0x64, and the session goes on", async () => {
  await using smsc = await startSmsc({ script: { retryMs: 10 } });
  await using world = await makeBound(smsc);
  const take = world.received.push.bind(world.received);
  world.received.push = () => {
    world.received.push = take;
    throw new Error("our own bug");
  };
  await smsc.deliver("loja", TEXT);
  await smsc.until({ refused: 1, acknowledged: 1 });
  expect(world.unbound).toEqual([]);
});

test("an acknowledgement for a connection that is gone is not written to the next", async () => {
  await using smsc = await startSmsc();
  await using world = await makeBound(smsc);
  world.isAcknowledging = false;
  await smsc.deliver("loja", TEXT);
  await world.until(() => world.received.length === 1);
  await smsc.tell("drop", { how: "rst" });
  await world.until(() => world.unbound.length === 1);
  world.clock.advance(1_000);
  // It comes again over the new one.
  await world.until(() => world.received.length === 2);
  world.received[0]?.acknowledge(0);
  world.received[1]?.acknowledge(0);
  await smsc.until({ acknowledged: 1 });
  expect((await smsc.state()).counters.faults).toBe(0);
});

test("while reading is paused nothing is taken, and all of it after", async () => {
  await using smsc = await startSmsc({ script: { maxUnacknowledged: 1_000 } });
  await using world = await makeBound(smsc);
  world.link.pauseReading();
  await smsc.deliver("loja", ...Array.from({ length: 200 }, () => TEXT));
  await smsc.tell("enquire", { times: 1 });
  world.clock.advance(9_999);
  expect(world.received).toEqual([]);
  world.link.resumeReading();
  await smsc.until({ acknowledged: 200, enquireAnswers: 1 });
  world.clock.advance(20_000);
  expect(world.unbound).toEqual([]);
});

test("a pause of reading over 10 s ends the connection; the next one is paused too", async () => {
  await using smsc = await startSmsc();
  await using world = await makeBound(smsc);
  world.link.pauseReading();
  world.clock.advance(10_000);
  expect(world.unbound).toMatchObject([{ reason: "reading was paused for too long" }]);
  world.clock.advance(1_000);
  await world.until(() => world.link.state.state === "bound");
  await smsc.deliver("loja", TEXT);
  world.clock.advance(9_000);
  expect(world.received).toEqual([]);
  world.link.resumeReading();
  await world.until(() => world.received.length === 1);
});

test("the peer's unbind is answered when all that it delivered is acknowledged, and we come again", async () => {
  await using smsc = await startSmsc({ script: NO_ANSWERS });
  await using world = await makeBound(smsc);
  world.isAcknowledging = false;
  world.send("a");
  await smsc.deliver("loja", TEXT);
  await world.until(() => world.received.length === 1);
  await smsc.tell("unbind", {});
  await smsc.tell("enquire", { times: 1 });
  await smsc.until({ enquireAnswers: 1 });
  expect(world.link.free).toBe(0);
  expect(world.send("b")).toEqual(["b"]);
  expect((await smsc.state()).counters.unbindAnswers).toBe(0);
  world.received[0]?.acknowledge(0);
  await world.until(() => world.unbound.length === 1);
  expect(world.lost).toEqual(["a"]);
  expect((await readBy(smsc)).slice(-2)).toEqual(["deliver_sm_resp", "unbind_resp"]);
  world.clock.advance(1_000);
  await world.until(() => world.link.state.state === "bound");
});

test("a message that is never acknowledged does not keep an unbind from ending", async () => {
  await using smsc = await startSmsc();
  await using world = await makeBound(smsc);
  world.isAcknowledging = false;
  await smsc.deliver("loja", TEXT);
  await world.until(() => world.received.length === 1);
  await smsc.tell("unbind", {});
  await smsc.tell("enquire", { times: 1 });
  await smsc.until({ enquireAnswers: 1 });
  world.clock.advance(5_000);
  expect(world.unbound).toMatchObject([{ reason: "the peer did not close" }]);
});

test("an unbind in the middle of the window loses what was not answered", async () => {
  await using smsc = await startSmsc({
    script: { rules: [{ from: 3, count: 1, answer: { end: "unbind" } }] },
  });
  await using world = await makeBound(smsc);
  world.send("a", "b", "c", "d", "e");
  await world.until(() => world.unbound.length === 1);
  expect(world.answers.map((answer) => answer.segment.name)).toEqual(["a", "b", "c"]);
  expect(world.lost).toEqual(["d", "e"]);
});

test("closing sends nothing more, waits for the answers that are missing, and unbinds", async () => {
  await using smsc = await startSmsc({ script: { rules: [{ answer: { delayMs: 50 } }], receipts: { states: [] } } });
  await using world = await makeBound(smsc);
  world.send("a", "b");
  const closed = world.link.close();
  expect(world.link.free).toBe(0);
  expect(world.send("c")).toEqual(["c"]);
  await closed;
  expect(world.answers).toHaveLength(2);
  expect(world.lost).toEqual([]);
  expect(await readBy(smsc)).toEqual(["bind_transceiver", "submit a", "submit b", "unbind"]);
  expect(world.link.state.state).toBe("closed");
  await smsc.until({ closed: 1 });
  world.clock.advance(600_000);
  expect((await smsc.state()).counters.connections).toBe(1);
  expect(world.unbound).toMatchObject([{ retryInMs: null }]);
});

test("closing waits 30 s for answers, and what is missing then is lost", async () => {
  await using smsc = await startSmsc({ script: NO_ANSWERS });
  await using world = await makeBound(smsc, { responseTimeoutMs: 100_000 });
  world.send("a");
  const closed = world.link.close();
  world.clock.advance(29_999);
  expect((await smsc.state()).counters.unbinds).toBe(0);
  world.clock.advance(1);
  await closed;
  expect(world.lost).toEqual(["a"]);
  expect((await smsc.state()).counters.unbinds).toBe(1);
});

test("a peer that does not answer our unbind, or does not close after it, does not keep us", async () => {
  for (const unbind of ["none", "answer"] as const) {
    await using smsc = await startSmsc({ script: { unbind } });
    await using world = await makeBound(smsc);
    const closed = world.link.close();
    await smsc.until({ unbinds: 1 });
    if (unbind === "answer") await smsc.until({ closed: 1 });
    else {
      world.clock.advance(5_000);
      world.clock.advance(5_000);
    }
    await closed;
    expect(world.link.state.state).toBe("closed");
  }
});

test("a link that is away is closed at once", async () => {
  await using world = makeLink({ port: 1 });
  await world.until(() => world.unbound.length === 1);
  await world.link.close();
  world.clock.advance(600_000);
  expect(world.unbound).toHaveLength(1);
});
