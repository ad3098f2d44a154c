// Everything at once, with a whole pombo under load: resets, answers that are missing, wrong, late, twice, out of order,
// every kind of refusal, receipts early, twice and on the other bind, an SMSC that goes away and comes back. Then
// the eight invariants. Time runs faster.
import { expect, setDefaultTimeout, test } from "bun:test";
import type { Rule } from "../../support/peers/smsc/script.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { fastClock, judged, linkConfig, startTexting, type TextWorld } from "../../support/texting/world.ts";

setDefaultTimeout(120_000);

const TEXTS = Number(process.env["TEXTS"] ?? 500);
const WINDOW = 10;
const LONG = "Um texto que vai em partes. ".repeat(14);

const RULES: Rule[] = [
  { every: 97, from: 50, answer: { end: "rst" } },
  { every: 151, from: 90, answer: { end: "half" } },
  { every: 89, from: 40, answer: { kind: "none" } },
  { every: 83, from: 30, answer: { sequence: "wrong" } },
  { every: 61, from: 20, answer: { times: 2 } },
  { every: 47, from: 10, answer: { status: 0x58 } },
  { every: 43, from: 12, answer: { status: 0x14 } },
  { every: 41, from: 14, answer: { status: 0x08 } },
  { every: 37, from: 16, answer: { status: 0x45 } },
  { every: 59, from: 18, answer: { status: 0x65 } },
  { every: 67, from: 22, answer: { kind: "nack", status: 0x0b } },
  { every: 71, from: 60, answer: { receipt: { isBeforeAnswer: true } } },
  { every: 29, from: 5, answer: { receipt: { times: 2 } } },
  { every: 31, from: 6, answer: { receipt: { states: ["ENROUTE", "UNDELIV"], err: "027" } } },
  { every: 101, from: 70, answer: { receipt: { states: ["EXPIRED", "DELIVRD"] } } },
  { every: 103, from: 80, answer: { receipt: { on: "other", text: "upper_keys" } } },
  { every: 107, from: 33, answer: { delayMs: 2_000 } },
  { every: 7, from: 3, answer: { delayMs: 20 } },
];

/** Texts, one in five of three parts, each to a number of its own; a third is asked for twice under one key. */
async function sendAll(world: TextWorld): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  const sendOn = async () => {
    for (let nth = next++; nth < TEXTS; nth = next++) {
      const body = { to: `+25884${String(nth).padStart(7, "0")}`, body: nth % 5 === 4 ? LONG : `Texto ${nth}` };
      const headers = { "idempotency-key": `key-${nth}` };
      for (let time = 0; time < (nth % 3 === 0 ? 2 : 1); time += 1) {
        const id = await send(world, { body, headers });
        // The key's answer is replayed.
        if (time > 0) expect(id).toBe(ids[nth] ?? "");
        ids[nth] = id;
      }
    }
  };
  await Promise.all([1, 2, 3, 4].map(sendOn));
  return ids;
}

/** Until it is accepted: 503 while the database cannot be written. */
async function send(
  { instance }: TextWorld,
  request: { body: object; headers: Record<string, string> },
): Promise<string> {
  let id = "";
  await waitUntil("it is accepted", 20_000, async () => {
    const answer = await instance.workspace.call("POST", "/api/v1/sms", request);
    expect([202, 503]).toContain(answer.status);
    if (answer.status === 202) id = answer.body.data.id;
    return id !== "";
  });
  return id;
}

test("through all faults at once nothing is lost, nothing comes twice unmarked, and all is accounted for", async () => {
  await using world = await startTexting({
    script: {
      answerDelayMs: 2,
      rules: RULES,
      receipts: { tlvs: ["receipted_message_id", "message_state", "user_message_reference"] },
      retryMs: 100,
    },
    link: { window: WINDOW },
    configure: (config, port) =>
      void config.sms.routes[0]?.links.push(linkConfig(port, { name: "vodacom-b", bind: "pair", window: WINDOW })),
    instance: { clock: fastClock(20) },
  });
  const { smsc, instance } = world;
  await smsc.until({ bound: 3 });
  const sending = sendAll(world);
  await smsc.until({ submits: Math.floor(TEXTS / 4) });
  await smsc.tell("unbind", {});
  await smsc.until({ submits: Math.floor(TEXTS / 2) });
  await smsc.tell("door", { isOpen: false });
  await smsc.tell("drop", { how: "rst" });
  instance.app.db.sqlite.run("PRAGMA query_only = 1");
  await smsc.tell("door", { isOpen: true });
  await waitUntil("it is noticed", 10_000, () => instance.app.guard.failure !== null);
  instance.app.db.sqlite.run("PRAGMA query_only = 0");
  const accepted = await sending;
  const open = () =>
    instance.app.db.sqlite
      .query<{ n: number }, []>("SELECT COUNT(*) AS n FROM sms_message WHERE status IN ('queued', 'sending', 'sent')")
      .get()?.n ?? 0;
  await smsc.script({ rules: [] });
  // A receipt whose id came with no answer is never told of again.
  await waitUntil("all texts have an end", 60_000, () => open() === 0);
  await smsc.untilAtMost({ waiting: 0, unacknowledged: 0 });
  const verdict = await judged(world, accepted);
  expect(verdict.broken).toEqual([]);
  expect(instance.bugs).toEqual([]);
  expect(verdict.doubled).toBeGreaterThan(0);
});
