import { describe, expect, test } from "bun:test";
import { MessageBudget } from "../../../../src/modules/emails/delivery/message-budget.ts";
import { Intake } from "../../../../src/modules/submission/intake.ts";
import { turn } from "../../../support/db/temporary.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const [SHOP, BANK] = [1, 2];
const LIMITS = { messageBytes: 10 * MIB, firstBytes: 64 * KIB, roomMs: 30_000 };

function scene({ roomMib = 64, limits = {} }: { roomMib?: number; limits?: Partial<typeof LIMITS> } = {}) {
  const clock = fakeClock();
  const budget = new MessageBudget(roomMib * MIB, {
    ...{ countedBytes: 0, largeBytes: 0, maxOwnWaiting: Infinity, maxWaiting: Infinity, growth: 1, reservedBytes: 0 },
  });
  const open = (declaredBytes: number | null = null, workspaceId = SHOP) =>
    new Intake({ workspaceId, declaredBytes }, { clock, budget, limits: { ...LIMITS, ...limits } });
  return { clock, open };
}

/** Waits for room; whether there was an answer within some turns of the event loop. */
async function isAdmitted(waiting: Promise<void>): Promise<boolean> {
  let isOver = false;
  void waiting.then(() => (isOver = true));
  await turn(3);
  return isOver;
}

test("the first octets have room at once, and what follows waits for all of the message", async () => {
  const { open } = scene();
  const intake = open();
  expect(intake.hasRoomFor(64 * KIB)).toBe(true);
  intake.add(new Uint8Array(64 * KIB).fill(1));
  expect(intake.hasRoomFor(1)).toBe(false);
  expect(await isAdmitted(intake.waitForRoom())).toBe(true);
  expect(intake.hasRoomFor(10 * MIB)).toBe(true);
  intake.add(new Uint8Array(3 * MIB).fill(2));
  intake.add(Uint8Array.of(3));
  const pieces = intake.end();
  // Each the whole of its memory, so that a thread can be given it.
  expect(pieces.map(({ byteLength, buffer }) => byteLength === buffer.byteLength)).toEqual(pieces.map(() => true));
  const whole = Buffer.concat(pieces);
  expect([whole.length, whole[0], whole[64 * KIB], whole.at(-1)]).toEqual([64 * KIB + 3 * MIB + 1, 1, 2, 3]);
  expect(intake.fault).toBeNull();
});

test("what comes in pieces of any size is the same message", async () => {
  const octets = crypto.getRandomValues(new Uint8Array(60_000));
  const message = Buffer.concat(Array.from({ length: 40 }, () => octets));
  for (const size of [1_023, 65_536, 65_537, 1_048_576, 2_000_000]) {
    const intake = scene().open();
    for (let at = 0; at < message.length; at += size) {
      const piece = message.subarray(at, at + size);
      if (!intake.hasRoomFor(piece.length)) await intake.waitForRoom();
      intake.add(piece);
    }
    expect([size, Buffer.concat(intake.end()).equals(message)]).toEqual([size, true]);
  }
});

test("nothing is no piece", () => {
  expect(scene().open().end()).toEqual([]);
});

describe("sizes", () => {
  test("one octet more than the largest is too large, and is counted on", async () => {
    const intake = scene().open();
    await intake.waitForRoom();
    intake.add(new Uint8Array(10 * MIB));
    expect(intake.fault).toBeNull();
    intake.add(Uint8Array.of(1));
    expect([intake.fault, intake.receivedBytes, intake.hasRoomFor(MIB), intake.end()]).toEqual([
      "too_large",
      10 * MIB + 1,
      true,
      [],
    ]);
    intake.add(new Uint8Array(MIB));
    expect(intake.receivedBytes).toBe(11 * MIB + 1);
  });

  test.each([
    [1_000_000, 1_125_000 + 64 * KIB],
    [0, 64 * KIB],
  ])("of a declared %i octets %i may come, since what is declared is an estimate", async (declared, most) => {
    const intake = scene().open(declared);
    await intake.waitForRoom();
    intake.add(new Uint8Array(most));
    expect(intake.fault).toBeNull();
    intake.add(Uint8Array.of(1));
    expect(intake.fault).toBe("more_than_declared");
  });

  test("where even the largest is among the first octets nobody waits", () => {
    const intake = scene({ limits: { messageBytes: 64 * KIB } }).open();
    intake.add(new Uint8Array(64 * KIB));
    expect(intake.hasRoomFor(1)).toBe(false);
    intake.add(Uint8Array.of(1));
    expect(intake.fault).toBe("too_large");
  });
});

describe("room", () => {
  test("is waited for during thirty seconds, and not a moment longer", async () => {
    const { clock, open } = scene({ roomMib: 10 });
    const first = open();
    await first.waitForRoom();
    const second = open();
    const waiting = second.waitForRoom();
    clock.advance(29_999);
    expect([await isAdmitted(waiting), second.fault]).toEqual([false, null]);
    clock.advance(1);
    expect([await isAdmitted(waiting), second.fault]).toEqual([true, "no_room"]);
    expect(second.hasRoomFor(MIB)).toBe(true);
    first.letGo();
    expect(await isAdmitted(open().waitForRoom())).toBe(true);
    expect(clock.pending).toBe(0);
  });

  test("is given back once, when the message is kept, refused, or its client is gone", async () => {
    const { open } = scene({ roomMib: 10 });
    const kept = open();
    await kept.waitForRoom();
    const gone = open();
    const waiting = gone.waitForRoom();
    const next = open();
    const nextWaiting = next.waitForRoom();
    gone.letGo();
    expect([await isAdmitted(waiting), gone.fault]).toEqual([true, "no_room"]);
    expect(await isAdmitted(nextWaiting)).toBe(false);
    kept.letGo();
    kept.letGo();
    expect(await isAdmitted(nextWaiting)).toBe(true);
    // Too large: nothing more of it is kept, so it takes no room.
    next.add(new Uint8Array(10 * MIB + 1));
    expect(await isAdmitted(open().waitForRoom())).toBe(true);
  });

  test("of a workspace with many large messages is left to another's", async () => {
    const { open } = scene({ roomMib: 20 });
    const shop = Array.from({ length: 4 }, () => open(null, SHOP));
    const waiting = shop.map((each) => each.waitForRoom());
    expect(await Promise.all(waiting.map(isAdmitted))).toEqual([true, true, false, false]);
    const bank = open(null, BANK);
    const bankWaiting = bank.waitForRoom();
    shop[0]?.letGo();
    expect([await isAdmitted(bankWaiting), await isAdmitted(waiting[2] ?? Promise.resolve())]).toEqual([true, false]);
    shop[1]?.letGo();
    expect(await isAdmitted(waiting[2] ?? Promise.resolve())).toBe(true);
  });
});

test("two clients that go in the same turn leave all room to the third", async () => {
  const { open } = scene({ roomMib: 20 });
  const [first, second, third] = [open(20 * MIB), open(20 * MIB), open(20 * MIB)];
  expect(await isAdmitted(first.waitForRoom())).toBe(true);
  const waiting = second.waitForRoom();
  // The second is admitted by what the first gives back, and goes before it hears of it.
  first.letGo();
  second.letGo();
  await waiting;
  expect(await isAdmitted(third.waitForRoom())).toBe(true);
  expect(third.fault).toBeNull();
});
