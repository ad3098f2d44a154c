import { expect, test } from "bun:test";
import type { Json } from "../../support/fakes/instance.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { startTexting, type TextWorld } from "../../support/texting/world.ts";

const TO = "+258849999999";
const PATH = "/api/v1/operator/sms/trial";

/** Begins a trial and resolves with it when it is over. */
async function tryLink({ instance }: TextWorld, body: Json = {}): Promise<Json> {
  const begun = await instance.operator.call("POST", PATH, { body: { to: TO, from: "Loja", ...body } });
  if (begun.status !== 201) throw new Error(begun.text);
  let last: Json = null;
  await waitUntil("the trial is over", 15_000, async () => {
    last = (await instance.operator.call("GET", PATH)).body.data;
    return last.verdict !== null;
  });
  return last;
}

function counted(world: TextWorld, table: string): number {
  return world.instance.app.db.sqlite.query<{ n: number }, []>(`SELECT COUNT(*) AS n FROM ${table}`).get()?.n ?? -1;
}

test("a trial sends three texts, shows each step raw, and ends when all are delivered", async () => {
  await using world = await startTexting();
  const trial = await tryLink(world);
  expect(trial.verdict.result).toBe("delivered");
  expect(trial.verdict.sentences).toEqual([
    "GSM: delivered.",
    "UCS-2: delivered.",
    "Two parts: delivered.",
    "Ids are the same in answers and receipts: found out, nothing to set.",
  ]);
  const submits = trial.lines.filter(({ kind }: Json) => kind === "submit");
  expect(submits.map(({ text, part, dataCoding, esmClass }: Json) => [text, part, dataCoding, esmClass])).toEqual([
    ["gsm", 1, 0, 0],
    ["ucs2", 1, 8, 0],
    ["two_parts", 1, 0, 0x40],
    ["two_parts", 2, 0, 0x40],
  ]);
  const written = (await world.smsc.journal()).filter(({ what }) => what.startsWith("00000004", 8));
  expect(submits.map(({ raw }: Json) => raw)).toEqual(written.map(({ what }) => what));
  const answers = trial.lines.filter(({ kind }: Json) => kind === "answer");
  expect(answers).toHaveLength(4);
  for (const { statusName, status, messageId, ms, raw } of answers) {
    expect([statusName, status]).toEqual(["ESME_ROK", 0]);
    expect(messageId).toMatch(/^\d+$/);
    expect(ms).toBeNumber();
    expect(raw).toMatch(/^[0-9a-f]{32,}$/);
  }
  const receipts = trial.lines.filter(({ kind }: Json) => kind === "receipt");
  expect(receipts.map(({ receipt }: Json) => receipt.word)).toEqual(["DELIVRD", "DELIVRD", "DELIVRD", "DELIVRD"]);
  // Nobody's: nothing of it is stored, nothing is kept for later, and nobody pays.
  for (const table of ["sms_message", "sms_segment", "sms_receipt_orphan", "sms_inbound"])
    expect(counted(world, table)).toBe(0);
  expect(world.instance.bugs).toEqual([]);
  const [link] = (await world.instance.operator.call("GET", "/api/v1/operator/sms/links")).body.data;
  expect(link).toMatchObject({ state: "bound", submits: { accepted: 4 }, receipts: 4, window: { size: 10, used: 0 } });
});

test("a trial goes through a window of one, beside a customer's texts, and its receipts are its own", async () => {
  await using world = await startTexting({ link: { window: 1, rate: 50 } });
  const ids = await Promise.all([1, 2, 3].map(() => world.text({ to: TO })));
  const trial = await tryLink(world);
  expect(trial.verdict.result).toBe("delivered");
  for (const id of ids) await world.until(id, ({ status }) => status === "delivered");
  expect((await world.smsc.state()).maxUnanswered).toBe(1);
  expect(counted(world, "sms_receipt_orphan")).toBe(0);
});

test("a trial goes before customers' texts that fill the window over and over", async () => {
  await using world = await startTexting({ script: { answerDelayMs: 30 }, link: { window: 4 } });
  await Promise.all(Array.from({ length: 400 }, () => world.text()));
  const trial = await tryLink(world, { waitS: 30 });
  expect(trial.verdict.result).toBe("delivered");
  expect(world.segments().some(({ state }) => state === "ready")).toBe(true);
});

test("receipts that come before their answers are held until those tell whose they are", async () => {
  await using world = await startTexting({ script: { receipts: { isBeforeAnswer: true } } });
  const trial = await tryLink(world);
  expect(trial.verdict.result).toBe("delivered");
  expect(counted(world, "sms_receipt_orphan")).toBe(0);
});

test("ids in hexadecimal and receipts in decimal are told", async () => {
  await using world = await startTexting({ script: { ids: "hex", receipts: { ids: "decimal" } } });
  await world.smsc.tell("ids", { next: 40_000 });
  const trial = await tryLink(world);
  expect(trial.verdict.result).toBe("delivered");
  expect(trial.verdict.sentences).toContain(
    "Ids are hexadecimal in answers and decimal in receipts: found out, nothing to set.",
  );
});

test("without receipts a trial ends with its time, and says what to ask for", async () => {
  await using world = await startTexting({ script: { receipts: { states: [] } } });
  const trial = await tryLink(world, { waitS: 1 });
  expect(trial.verdict.result).toBe("unconfirmed");
  expect(trial.verdict.sentences.join(" ")).toContain("the SMSC has it, and no receipt came within 1 s");
  expect(trial.verdict.sentences.join(" ")).toContain('set receipts = "none"');
});

test("receipts that come when a trial is over are taken, and kept nowhere", async () => {
  await using world = await startTexting({ script: { receipts: { delayMs: 1_500 } } });
  const trial = await tryLink(world, { waitS: 1 });
  expect(trial.verdict.result).toBe("unconfirmed");
  await world.smsc.until({ acknowledged: 4 });
  expect(counted(world, "sms_receipt_orphan")).toBe(0);
});

test("receipts of another text to the number are shown and go their usual way", async () => {
  await using world = await startTexting({ script: { receipts: { ids: "unknown" } } });
  const trial = await tryLink(world, { waitS: 1 });
  expect(trial.verdict.sentences.join(" ")).toContain("Receipts came whose ids fit no answer");
  expect(counted(world, "sms_receipt_orphan")).toBe(4);
});

test("a refusal is told by its name, with the setting to change", async () => {
  const rules = [
    { part: 1, answer: { status: 0x43 } },
    { part: 2, answer: { status: 0x43 } },
  ];
  await using world = await startTexting({ script: { rules } });
  const trial = await tryLink(world);
  expect(trial.verdict.result).toBe("failed");
  const words = trial.verdict.sentences.join(" ");
  expect(words).toContain(
    "Two parts: part 1 was refused with ESME_RINVESMCLASS, part 2 was refused with ESME_RINVESMCLASS.",
  );
  expect(words).toContain('try segmentation = "sar" or "payload"');
  expect(words).toContain("Only the message of two parts is refused");
});

test("answers that do not come end in doubt, and nothing is sent twice", async () => {
  await using world = await startTexting({ script: { rules: [{ answer: { kind: "none" } }] } });
  const trying = tryLink(world);
  await world.smsc.until({ submits: 4 });
  await world.smsc.tell("drop", { how: "rst" });
  const trial = await trying;
  expect(trial.verdict.result).toBe("failed");
  expect(trial.verdict.sentences.join(" ")).toContain("lost with the connection");
  await world.smsc.until({ bound: 1 });
  expect((await world.smsc.state()).counters.submits).toBe(4);
});

test("an SMSC that is down, or lets nobody in, is told with what to do", async () => {
  await using world = await startTexting({ script: { bind: { status: 0x0e } } });
  const refused = await tryLink(world);
  expect(refused.verdict).toMatchObject({ result: "not_sent" });
  expect(refused.verdict.sentences.join(" ")).toContain("ESME_RINVPASWD");
  expect(refused.verdict.sentences.join(" ")).toContain("Look at password or password_file of the link.");
  await using down = await startTexting({ link: { port: 9 } });
  const away = await tryLink(down, { waitS: 1 });
  expect(away.verdict).toMatchObject({ result: "not_sent" });
  expect(away.verdict.sentences.join(" ")).toContain("Look at host and port of the link");
});

test("a trial is ended by the operator, and by the next one", async () => {
  await using world = await startTexting({ script: { receipts: { states: [] } } });
  const { operator } = world.instance;
  expect((await operator.call("GET", PATH)).body.data).toBeNull();
  const first = await operator.call("POST", PATH, { body: { to: TO, from: "Loja" } });
  const second = await operator.call("POST", PATH, { body: { to: TO, from: "Loja" } });
  expect(second.body.data.id).not.toBe(first.body.data.id);
  await world.smsc.until({ submits: 4 });
  const ended = (await operator.call("DELETE", PATH)).body.data;
  expect(ended).toMatchObject({ id: second.body.data.id, verdict: { result: "stopped" } });
});

test("what a trial cannot begin with is refused: route, link, sender, number", async () => {
  await using world = await startTexting();
  const { operator } = world.instance;
  for (const [field, body] of [
    ["route", { to: TO, route: "none" }],
    ["link", { to: TO, link: "none" }],
    ["from", { to: TO, from: "way too long a name" }],
    ["to", { to: "+351912345678" }],
  ] as const) {
    const answer = await operator.call("POST", PATH, { body });
    expect([field, answer.status, answer.body.errors?.[0]?.field]).toEqual([field, 422, field]);
  }
});
