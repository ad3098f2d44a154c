// All at once: resets, missing answers, wrong numbers, throttling, answers out of order, receipts. Time is real,
// and runs faster.
import { expect, test } from "bun:test";
import { steadyClock, type Clock } from "../../../src/platform/clock.ts";
import { Link } from "../../../src/protocols/smpp/link.ts";
import { startSmsc, type SmscHandle } from "../../support/peers/smsc/client.ts";
import { readMessage } from "../../support/peers/smsc/codec.ts";
import type { Rule } from "../../support/peers/smsc/script.ts";
import { segment, settingsFor, type NamedSegment } from "../../support/smpp/world.ts";

const SEGMENTS = 3_000;
const WINDOW = 20;
const SPEED = 30;
const LIMIT_MS = 60_000;

const RULES: Rule[] = [
  { every: 701, from: 350, answer: { end: "rst" } },
  { every: 499, from: 250, answer: { kind: "none" } },
  { every: 307, from: 150, answer: { sequence: "wrong" } },
  { every: 211, from: 100, answer: { times: 2 } },
  { every: 401, from: 50, answer: { status: 0x58 } },
  { every: 7, from: 3, answer: { delayMs: 4 } },
];

const fast: Clock = {
  now: () => steadyClock.now() * SPEED,
  after: (delayMs, run) => steadyClock.after(delayMs / SPEED, run),
};

/** Sends them all, each once, whatever becomes of it; answers are committed a moment later. */
function sendAll(smsc: SmscHandle) {
  const fates = new Map<string, string[]>();
  const receipts: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  let next = 0;
  const fate = ({ name }: NamedSegment, what: string) => {
    fates.set(name, [...(fates.get(name) ?? []), what]);
    if (fates.size === SEGMENTS) resolve();
  };
  const link = new Link<NamedSegment>({
    settings: settingsFor(smsc, { window: WINDOW, responseTimeoutMs: 6_000 }),
    clock: fast,
    unit: () => 0.5,
    log: { event: () => undefined, error: (where, error) => fate(segment(where), String(error)) },
    lookUp: () => Promise.resolve([]),
    events: {
      ready(free) {
        const batch = Array.from({ length: Math.min(free, SEGMENTS - next) }, (_, at) => segment(String(next + at)));
        next += batch.length;
        for (const { segment: unsent } of link.send(batch)) fate(unsent, "unsent");
      },
      responded(answer) {
        fate(answer.segment, answer.isLate ? "late" : "answered");
        setImmediate(answer.settle);
      },
      timedOut: (late) => fate(late, "timed out"),
      lost: (lost) => {
        for (const one of lost) fate(one, "lost");
      },
      received(message, acknowledge) {
        receipts.push(message.receiptedMessageId ?? "");
        setImmediate(() => acknowledge(0));
      },
    },
  });
  link.start();
  return { link, fates, receipts, done: promise };
}

test(
  "through all of it each segment is written once, has one fate, and no more than the window is in doubt",
  async () => {
    await using smsc = await startSmsc({ script: { rules: RULES, reverse: 0, maxUnacknowledged: 50 } });
    const { link, fates, receipts, done } = sendAll(smsc);
    await done;
    await smsc.until({ acknowledged: 2_000 });
    await smsc.tell("until", { atMost: { waiting: 0, unacknowledged: 0 }, limitMs: 10_000 });
    await link.close();

    const kinds = [...fates.values()].map((fate) => fate.join(", "));
    expect([...new Set(kinds)].filter((kind) => !ONE_FATE.has(kind))).toEqual([]);
    for (const kind of ["answered", "lost", "timed out"]) expect(kinds).toContain(kind);
    const { counters, maxUnanswered } = await smsc.state();
    expect(counters.connections).toBeGreaterThan(3);
    expect(maxUnanswered).toBeLessThanOrEqual(WINDOW);
    expect(counters.faults).toBe(0);
    // What the SMSC took is told of by exactly its receipts, but for those that came twice over a reset.
    expect(new Set(receipts).size).toBeLessThanOrEqual(counters.accepted + kinds.length);

    const submits = (await smsc.journal()).filter(
      ({ direction, what }) => direction === "<" && what.slice(8, 16) === "00000004",
    );
    const texts = submits.map(({ what }) => readMessage(Buffer.from(what, "hex")).shortMessage.toString("latin1"));
    expect(new Set(texts).size).toBe(texts.length);
    const unseen = [...fates].filter(([name, fate]) => fate.includes("answered") && !texts.includes(name));
    expect(unseen).toEqual([]);
  },
  LIMIT_MS,
);

const ONE_FATE = new Set(["answered", "lost", "timed out", "timed out, late", "unsent"]);
