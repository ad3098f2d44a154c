import { expect, setDefaultTimeout, test } from "bun:test";
import { startDelayProxy } from "../../support/peers/delay-proxy.ts";
import { startSmsc } from "../../support/peers/smsc/client.ts";
import { partOf, readMessage } from "../../support/peers/smsc/codec.ts";
import { startTexting } from "../../support/texting/world.ts";

// An SMSC at the other end of a satellite link: 400 ms there and back, and each 50th piece lost and sent again.

setDefaultTimeout(60_000);

const WINDOW = 10;
const DELAY_MS = 200;
const LOST_EVERY = 50;
const RETRANSMIT_MS = 600;
const TEXTS = 100;
const LONG = "Um texto comprido que vai em duas partes. ".repeat(5);

test("a far SMSC is sent a window for each way there and back; nothing is lost, doubled or out of order", async () => {
  await using smsc = await startSmsc({ script: { maxUnacknowledged: 50 } });
  let pieces = 0;
  await using proxy = await startDelayProxy({
    port: smsc.port,
    delayMs: DELAY_MS,
    lossShare: 1 / LOST_EVERY,
    retransmitMs: RETRANSMIT_MS,
    chance: () => ((pieces += 1) % LOST_EVERY === LOST_EVERY / 2 ? 0 : 1),
  });
  await using world = await startTexting({ link: { port: proxy.port, window: WINDOW } });
  const sent: { id: string; number: string; parts: number }[] = [];
  for (let nth = 0; nth < TEXTS; nth += 1) {
    const number = `25884${String(nth).padStart(7, "0")}`;
    const isLong = nth % 5 === 4;
    const id = await world.text({ to: `+${number}`, body: isLong ? LONG : `Texto ${nth}` });
    sent.push({ id, number, parts: isLong ? 2 : 1 });
  }
  for (const { id } of sent) {
    const message = await world.until(id, ({ status }) => status === "delivered");
    expect(message.possibleDuplicate).toBe(false);
  }

  const journal = await smsc.journal();
  const submits = journal.filter(({ direction, what }) => direction === "<" && what.startsWith("00000004", 8));
  const arrived = submits.map(({ what }) => {
    const message = readMessage(Buffer.from(what, "hex"));
    return `${message.destination} ${partOf(message)?.part ?? 1}`;
  });
  const inOrder = sent.flatMap(({ number, parts }) =>
    Array.from({ length: parts }, (_, part) => `${number} ${part + 1}`),
  );
  expect(arrived).toEqual(inOrder);

  await smsc.until({ acknowledged: inOrder.length });
  const { maxUnanswered, counters } = await smsc.state();
  expect(counters).toMatchObject({ connections: 1, closed: 0, refused: 0, faults: 0, acknowledged: inOrder.length });
  // The answers are on their way back when the SMSC has given them: it sees half of the way only.
  expect(maxUnanswered).toBeLessThanOrEqual(WINDOW);
  expect(proxy.losses).toBeGreaterThan(0);
  expect(world.instance.events.filter(({ name }) => name === "smpp.unbound")).toEqual([]);
  expect(world.instance.bugs).toEqual([]);

  const [first, last] = [submits[0]?.at ?? 0, submits.at(-1)?.at ?? 0];
  const perSecond = (submits.length - WINDOW) / ((last - first) / 1_000);
  const most = WINDOW / ((2 * DELAY_MS) / 1_000);
  expect(perSecond).toBeLessThanOrEqual(most * 1.02);
  // What is lost costs time, and a busy machine some more: one at a time would be a tenth.
  expect(perSecond).toBeGreaterThan(most * 0.25);
  console.log(
    `far: ${perSecond.toFixed(1)} a second, of ${most} that the window allows; ${proxy.losses} of ${pieces} lost`,
  );
});
