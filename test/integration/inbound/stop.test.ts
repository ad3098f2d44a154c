// A stop: nobody new, and what is under way gets its answer.
import { expect, setDefaultTimeout, test } from "bun:test";
import { fakeClock } from "../../support/fakes/clock.ts";
import { openTalk, startDesk, type Talk, until } from "../../support/inbound/kit.ts";

setDefaultTimeout(20_000);

test("those who only talk are told to go at once, messages under way end first, and nobody new is let in", async () => {
  const kept = Promise.withResolvers<void>();
  let begun = 0;
  await using desk = await startDesk({
    receive: async () => {
      begun += 1;
      await kept.promise;
    },
  });
  using idle = await desk.client();
  using sends = await desk.client();
  await sends.message("postmaster");
  sends.write("half a ");
  using waits = await desk.client();
  await waits.message("postmaster");
  waits.write("x\r\n.\r\n");
  await until("the message", () => begun === 1);
  let isStopped = false;
  const stopped = desk.inbound.stop(10_000).then(() => (isStopped = true));
  expect(await idle.rest()).toBe("421 4.3.2 This server is closing down\r\n");
  using late = await openTalk(desk.port, { hears: false });
  expect(await late.rest()).not.toContain("220");
  sends.write("message\r\n.\r\n");
  await until("the other message", () => begun === 2);
  expect([isStopped, waits.heard, sends.heard]).toEqual([false, "", ""]);
  kept.resolve();
  for (const talk of [waits, sends]) {
    expect(await talk.rest()).toBe("250 2.6.0 Taken\r\n421 4.3.2 This server is closing down\r\n");
  }
  await stopped;
  expect(desk.inbound.clientCount).toBe(0);
});

test("when the grace is over the rest is dropped without an answer", async () => {
  const clock = fakeClock();
  const never = Promise.withResolvers<void>();
  let begun = 0;
  await using desk = await startDesk({
    clock,
    receive: async () => {
      begun += 1;
      await never.promise;
    },
  });
  using sends = await desk.client();
  await sends.message("postmaster");
  sends.write("half a message");
  using waits = await desk.client();
  await waits.message("postmaster");
  waits.write("x\r\n.\r\n");
  await until("the message", () => begun === 1);
  let isStopped = false;
  void desk.inbound.stop(5_000).then(() => (isStopped = true));
  clock.advance(4_999);
  for (let turn = 0; turn < 100; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
  expect([isStopped, sends.isClosed, waits.isClosed]).toEqual([false, false, false]);
  await until("the stop", () => {
    clock.advance(100);
    return isStopped;
  });
  expect([await sends.rest(), await waits.rest()]).toEqual(["", ""]);
  await until("their going", () => desk.inbound.clientCount === 0);
});

test("a stop without grace needs no clock, and a second one does nothing", async () => {
  await using desk = await startDesk({ clock: fakeClock() });
  using talk = await desk.client();
  await talk.message("postmaster");
  await desk.inbound.stop(0);
  await desk.inbound.stop(0);
  expect(await talk.rest()).toBe("");
});

test("a stop under load: every message was answered 250 and kept, or was not answered 250", async () => {
  let isSlow = true;
  const waiting: (() => void)[] = [];
  await using desk = await startDesk({
    limits: { clientsOfNetwork: [100], openClients: 250 },
    receive: () => (isSlow ? new Promise<void>((resolve) => waiting.push(resolve)) : Promise.resolve()),
  });
  const talks: Talk[] = [];
  let answered = 0;
  const bring = async () => {
    const talk = await openTalk(desk.port);
    talks.push(talk);
    for (;;) {
      if (!(await talk.say("EHLO x")).startsWith("250")) return;
      if (!(await talk.say("MAIL FROM:<>")).startsWith("250")) return;
      if (!(await talk.say("RCPT TO:<postmaster>")).startsWith("250")) return;
      if (!(await talk.say("DATA")).startsWith("354")) return;
      if (!(await talk.say("x\r\n.")).startsWith("250")) return;
      answered += 1;
    }
  };
  const load = Array.from({ length: 40 }, bring);
  await until("messages", () => waiting.length === 40);
  isSlow = false;
  for (const resolve of waiting) resolve();
  await until("many messages", () => answered > 200);
  await desk.inbound.stop(5_000);
  await Promise.all(load);
  const kept = desk.counted.filter((what) => what === "message person").length;
  expect(answered).toBe(kept);
  expect(desk.inbound.clientCount).toBe(0);
  for (const talk of talks) talk.socket.destroy();
});
