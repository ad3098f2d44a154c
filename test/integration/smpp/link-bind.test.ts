// How a link binds, and what it does when it may not (the faults of binding).
import { expect, setDefaultTimeout, test } from "bun:test";
import { AUTHORITY, OTHER_CERTIFICATE, RELAY_CERTIFICATE } from "../../support/fakes/certificates.ts";
import { startSmsc } from "../../support/peers/smsc/client.ts";
import { readBind } from "../../support/peers/smsc/codec.ts";
import { caughtUp, makeBound, makeLink, readBy, TEXT } from "../../support/smpp/world.ts";

// Each starts an SMSC, a process of its own.
setDefaultTimeout(20_000);

test("a transceiver binds as SMPP 3.4, with the name and the password given, and asks for segments", async () => {
  await using smsc = await startSmsc();
  await using world = await makeBound(smsc, { systemType: "VMA" });
  await world.until(() => world.ready.length > 0);
  expect(world.ready).toEqual([10]);
  expect(world.link.state).toMatchObject({ state: "bound", window: 10, taken: 0, lastEnd: null });
  const [first] = (await smsc.journal()).filter(({ direction }) => direction === "<");
  expect(readBind(Buffer.from(first?.what ?? "", "hex"))).toEqual({
    systemId: "loja",
    password: "segredo",
    systemType: "VMA",
    interfaceVersion: 0x34,
    addressRange: "",
  });
});

test("settings that could never bind are refused before anything is connected", () => {
  for (const wrong of [
    { systemId: "a".repeat(16) },
    { password: "ç" },
    { systemType: "a".repeat(13) },
    { window: 0 },
  ]) {
    expect(() => makeLink({ port: 1 }, wrong)).toThrow(Object.keys(wrong)[0]);
  }
});

test("a pair is two binds: segments go over the transmitter, messages come over the receiver", async () => {
  await using smsc = await startSmsc({ script: { bind: { refused: ["bind_transceiver"] }, receipts: { delayMs: 0 } } });
  await using world = await makeBound(smsc, { bindMode: "pair" });
  expect(world.bound.toSorted()).toEqual(["receiver", "transmitter"]);
  expect(world.send("a")).toEqual([]);
  await world.until(() => world.received.length === 1 && world.answers.length === 1);
  const journal = await smsc.journal();
  const overOne = (id: string) => journal.find(({ what }) => what.slice(8, 16) === id)?.connection;
  expect(overOne("00000004")).toBe(overOne("00000002"));
  expect(overOne("80000005")).toBe(overOne("00000001"));
});

test("of a pair each half is made anew by itself, and the transmitter alone may send", async () => {
  await using smsc = await startSmsc();
  await using world = await makeBound(smsc, { bindMode: "pair" });
  const receiver = (await smsc.state()).connections.find(({ command }) => command === "bind_receiver");
  await smsc.tell("drop", { how: "fin", connection: receiver?.number ?? 0 });
  await world.until(() => world.unbound.length === 1);
  expect(world.link.state).toMatchObject({ state: "partly", lastEnd: { role: "receiver" } });
  world.send("a");
  await world.until(() => world.answers.length === 1);
  world.clock.advance(1_000);
  await world.until(() => world.link.state.state === "bound");
  expect(world.link.epoch).toBe(1);
});

test("a receiver is never asked for segments", async () => {
  await using smsc = await startSmsc();
  await using world = await makeBound(smsc, { bindMode: "receiver" });
  expect(world.link.free).toBe(0);
  expect(world.send("a")).toEqual(["a"]);
});

test("a bind that is not answered is given up after 30 s, and tried again", async () => {
  await using smsc = await startSmsc({ script: { bind: { kind: "none" } } });
  await using world = makeLink(smsc);
  await smsc.until({ binds: 1 });
  world.clock.advance(29_999);
  expect(world.unbound).toEqual([]);
  world.clock.advance(1);
  expect(world.unbound).toMatchObject([{ reason: "the bind was not answered", refusedWith: null, retryInMs: 1_000 }]);
  await smsc.script({ bind: { kind: "answer" } });
  world.clock.advance(1_000);
  await world.until(() => world.link.state.state === "bound");
});

test("an enquire_link never goes out before the bind is answered", async () => {
  await using smsc = await startSmsc({ script: { bind: { kind: "none" } } });
  await using world = makeLink(smsc, { bindTimeoutMs: 100_000 });
  await smsc.until({ binds: 1 });
  world.clock.advance(99_000);
  expect(await readBy(smsc)).toEqual(["bind_transceiver"]);
});

test("a bind refused for its settings is tried again after a minute, then rarer, and the operator is warned", async () => {
  await using smsc = await startSmsc();
  for (const status of [0x0d, 0x0e, 0x0f, 0x53]) {
    await smsc.script({ bind: { status } });
    await using world = makeLink(smsc);
    await world.until(() => world.unbound.length === 1);
    expect(world.unbound).toMatchObject([{ refusedWith: status, retryInMs: 75_000 }]);
    expect(world.logged.filter(({ level }) => level === "warn")).toMatchObject([
      {
        name: "smpp.unbound",
        fields: { link: "vodacom-a", status: `0x000000${status.toString(16).padStart(2, "0").toUpperCase()}` },
      },
    ]);
    world.clock.advance(75_000);
    await world.until(() => world.unbound.length === 2);
    expect(world.unbound[1]?.retryInMs).toBe(150_000);
    // Never for good: somebody may have put it right.
    await smsc.script({ bind: { status: 0 } });
    world.clock.advance(150_000);
    await world.until(() => world.link.state.state === "bound");
  }
});

test("an old session that lingers at the SMSC is waited for", async () => {
  await using smsc = await startSmsc({ script: { bind: { status: 0x05 } } });
  await using world = makeLink(smsc);
  await world.until(() => world.unbound.length === 1);
  expect(world.unbound).toMatchObject([{ refusedWith: 0x05, retryInMs: 45_000 }]);
});

test("a bind refused for a passing reason is tried again soon", async () => {
  await using smsc = await startSmsc({ script: { bind: { status: 0x08 } } });
  await using world = makeLink(smsc);
  await world.until(() => world.unbound.length === 1);
  expect(world.unbound).toMatchObject([{ refusedWith: 0x08, retryInMs: 1_000 }]);
});

test("an SMSC that does not know a transceiver is told apart from one that is away", async () => {
  await using smsc = await startSmsc({ script: { bind: { kind: "nack" } } });
  await using world = makeLink(smsc);
  await world.until(() => world.unbound.length === 1);
  expect(world.unbound).toMatchObject([{ refusedWith: 0x03, retryInMs: 75_000 }]);
});

test("a bind that is answered and then closed counts as no health", async () => {
  await using smsc = await startSmsc({ script: { bind: { thenFin: true } } });
  await using world = makeLink(smsc);
  for (const retryInMs of [1_000, 2_000, 4_000]) {
    const before = world.unbound.length;
    await world.until(() => world.unbound.length === before + 1);
    expect(world.unbound.at(-1)).toMatchObject({ retryInMs });
    world.clock.advance(retryInMs);
  }
});

test("after a minute of health a lost connection is made again at once", async () => {
  await using smsc = await startSmsc({ script: { bind: { thenFin: true } } });
  await using world = makeLink(smsc);
  await world.until(() => world.unbound.length === 1);
  await smsc.script({ bind: { thenFin: false } });
  world.clock.advance(1_000);
  await world.until(() => world.link.state.state === "bound");
  world.clock.advance(29_000);
  await smsc.tell("drop", { how: "rst" });
  await world.until(() => world.unbound.length === 2);
  expect(world.unbound[1]?.retryInMs).toBe(2_000);
  world.clock.advance(2_000);
  await world.until(() => world.link.state.state === "bound");
  for (let half = 0; half < 2; half += 1) {
    world.clock.advance(30_000);
    await smsc.until({ enquires: half + 1 });
    await caughtUp(smsc, world);
  }
  await smsc.tell("drop", { how: "rst" });
  await world.until(() => world.unbound.length === 3);
  expect(world.unbound[2]?.retryInMs).toBe(1_000);
});

test("messages that come before the bind's answer are taken, and acknowledged", async () => {
  await using smsc = await startSmsc({ script: { bind: { before: [TEXT] } } });
  await using world = await makeBound(smsc);
  expect(world.received).toHaveLength(1);
  expect(world.received[0]?.message.shortMessage.toString()).toBe("Sim");
  await smsc.until({ acknowledged: 1 });
});

test("an outbind is no bind: it is told of and changes nothing", async () => {
  await using smsc = await startSmsc({ script: { bind: { isOutbound: true } } });
  await using world = await makeBound(smsc);
  expect(world.logged.map(({ name, fields }) => [name, fields["what"]])).toContainEqual([
    "smpp.unexpected_pdu",
    "outbind",
  ]);
});

test("nobody listening, and nobody answering, are given up and tried again", async () => {
  await using smsc = await startSmsc();
  await smsc.tell("door", { isOpen: false });
  await using world = makeLink(smsc);
  await world.until(() => world.unbound.length === 1);
  expect(world.unbound).toMatchObject([{ retryInMs: 1_000 }]);
  await smsc.tell("door", { isOpen: true });
  world.clock.advance(1_000);
  await world.until(() => world.link.state.state === "bound");
});

test("a name that is not answered for ends the attempt after 10 s", async () => {
  await using world = makeLink({ port: 1 }, { host: "smsc.example" }, () => new Promise(() => undefined));
  world.clock.advance(9_999);
  expect(world.unbound).toEqual([]);
  world.clock.advance(1);
  await world.until(() => world.unbound.length === 1);
  expect(world.unbound).toMatchObject([{ reason: "no connection in time" }]);
});

test("of several addresses of a name each has its turn", async () => {
  await using smsc = await startSmsc();
  // Nobody listens at the first.
  const lookUp = () => Promise.resolve(["127.0.0.2", "127.0.0.1"]);
  await using world = makeLink(smsc, { host: "smsc.example" }, lookUp);
  await world.until(() => world.unbound.length === 1);
  world.clock.advance(1_000);
  await world.until(() => world.link.state.state === "bound");
});

test("over TLS the certificate must be valid and carry the name", async () => {
  const certificate = RELAY_CERTIFICATE;
  await using smsc = await startSmsc({ certificate });
  for (const name of [{ host: "127.0.0.1" }, { tlsName: "relay.test" }]) {
    await using world = await makeBound(smsc, { tls: "verified", tlsCa: AUTHORITY, ...name });
    world.send("a");
    await world.until(() => world.answers.length === 1);
  }
  for (const wrong of [{ tlsName: "other.test", tlsCa: AUTHORITY }, { tlsCa: null }]) {
    await using world = makeLink(smsc, { tls: "verified", ...wrong });
    await world.until(() => world.unbound.length === 1);
    expect(world.unbound[0]?.reason).toMatch(/certificate|altnames|issuer/i);
  }
  expect((await smsc.state()).counters.binds).toBe(2);
});

test("a certificate of another name is taken only where the operator said so", async () => {
  await using smsc = await startSmsc({ certificate: OTHER_CERTIFICATE });
  await using strict = makeLink(smsc, { tls: "verified", tlsName: "relay.test", tlsCa: AUTHORITY });
  await strict.until(() => strict.unbound.length === 1);
  await using world = await makeBound(smsc, { tls: "unverified" });
  expect(world.link.state.state).toBe("bound");
});

test("an SMSC that speaks in clear where TLS should be is never told the password", async () => {
  await using smsc = await startSmsc({ script: { greeting: Buffer.from("HTTP/1.1 400 Bad\r\n\r\n").toString("hex") } });
  await using world = makeLink(smsc, { tls: "verified", tlsCa: AUTHORITY });
  await world.until(() => world.unbound.length === 1);
  expect((await smsc.journal()).some(({ what }) => what.includes(Buffer.from("segredo").toString("hex")))).toBe(false);
});
