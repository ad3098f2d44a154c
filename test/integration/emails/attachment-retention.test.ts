// How long attachments stay: while an email needs them, for their retention after that, and no longer.

import { randomBytes } from "node:crypto";
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { databaseFile } from "../../../src/platform/db/open.ts";
import type { Instance, Json } from "../../support/fakes/instance.ts";
import { expectErrors, type HeldInstance, startHeld, totalOf } from "../../support/api/kit.ts";
import { gate, HOUR, LATER, MINUTE, NOON, recordOf } from "../../support/api/one-email.ts";
import { turn } from "../../support/db/temporary.ts";
import {
  attach,
  countFiles,
  countRows,
  download,
  passTime,
  type SentFile,
  sendFiles,
  storedBytes,
} from "../../support/api/attachments.ts";

setDefaultTimeout(60_000);

const EMAILS = "/api/v1/emails";
const MIB = 1024 * 1024;
const DAY = 24 * HOUR;
const BILL: SentFile = { filename: "recibo.pdf", content: randomBytes(2 * MIB + 7) };
const LOGO: SentFile = { filename: "logo.png", contentId: "logo", content: randomBytes(30_000) };
const NONE: ReturnType<typeof countFiles> = [0, 0, 0, 0];

/** Of 7 days; an address with "later" is put off. */
function startWithRetention(): Promise<HeldInstance> {
  return startHeld(NOON, {
    mx: { rcpt: (line) => (line.includes("later") ? LATER : "250 2.1.5 OK") },
    configure: ({ email }) => {
      email.attachmentRetentionMs = 7 * DAY;
      email.lifetimeMs = 20 * DAY;
    },
  });
}

/** Changes the database behind the back of the instance. */
function alter(pombo: Instance, statement: string): void {
  using database = new Database(databaseFile(pombo.directory));
  database.run("PRAGMA busy_timeout = 5000");
  database.run(statement);
}

const erase = async (pombo: Instance, address: string): Promise<Json> =>
  (await pombo.workspace.call("DELETE", `/api/v1/recipients/${encodeURIComponent(address)}`)).body.data;

test("a file goes seven days after the last email that needs it is final, and what it was called stays", async () => {
  await using held = await startWithRetention();
  const { pombo } = held;
  const text = await storedBytes(pombo);
  const id = await sendFiles(pombo, [BILL, LOGO]);
  await pombo.app.worker.idle();
  // Another email has the logo three days later.
  await passTime(held, 3 * DAY);
  const other = await sendFiles(pombo, [LOGO]);
  await pombo.app.worker.idle();
  await passTime(held, 4 * DAY - HOUR);
  expect(countFiles(pombo)).toEqual([2, 2, 4, 3]);
  await passTime(held, 2 * HOUR);
  expect(countFiles(pombo)).toEqual([1, 1, 1, 1]);
  const gone = await pombo.workspace.call("GET", `${EMAILS}/${id}/attachments/0`);
  expectErrors(gone, 404, [{ code: "NOT_FOUND", message: "This attachment is kept no longer" }]);
  expect((await recordOf(pombo, id)).attachments).toEqual([
    { filename: "recibo.pdf", contentType: "application/pdf", contentId: null, bytes: BILL.content.length },
    { filename: "logo.png", contentType: "image/png", contentId: "logo", bytes: LOGO.content.length },
  ]);
  expect((await download(pombo, other, 0)).bytes.equals(LOGO.content)).toBe(true);
  await passTime(held, 3 * DAY);
  expect(countFiles(pombo)).toEqual(NONE);
  // Html and text are still kept.
  expect((await storedBytes(pombo)) - text).toBeWithin(1, 1_000);
  // It comes anew.
  await sendFiles(pombo, [BILL]);
  expect(countFiles(pombo)).toEqual([1, 1, 3, 1]);
  expect(pombo.bugs).toEqual([]);
});

test("a file stays while one of its group waits, and goes to that one too", async () => {
  await using held = await startWithRetention();
  const { pombo } = held;
  const to = ["a@example.com", "later@example.com", "b@example.com"];
  const id = await sendFiles(pombo, [BILL], { to });
  await pombo.app.worker.idle();
  await passTime(held, 9 * DAY);
  expect(countFiles(pombo)).toEqual([1, 1, 3, 1]);
  expect((await download(pombo, id, 0)).bytes.equals(BILL.content)).toBe(true);
  // The one that has body and files for all of them is another's no more than its own.
  expect(await erase(pombo, "a@example.com")).toMatchObject({ emails: 1 });
  pombo.mx.script.rcpt = "250 2.1.5 OK";
  // The last wait of the schedule is six hours and what chance adds.
  for (let n = 0; n < 12 && pombo.mx.messages.length < 3; n += 1) {
    await passTime(held, HOUR);
    await pombo.app.worker.idle();
  }
  const [first, , last] = pombo.mx.messages;
  expect([pombo.mx.messages.length, last?.to]).toEqual([3, ["later@example.com"]]);
  expect(last?.content.length).toBeWithin((first?.content.length ?? 0) - 200, (first?.content.length ?? 0) + 200);
  await passTime(held, 7 * DAY - HOUR);
  expect(countFiles(pombo)).toEqual([1, 1, 3, 1]);
  await passTime(held, 2 * HOUR);
  expect(countFiles(pombo)).toEqual(NONE);
  expect(pombo.bugs).toEqual([]);
});

test("a scheduled email has its file when it is due, however late that is", async () => {
  await using held = await startWithRetention();
  const { pombo } = held;
  const id = await sendFiles(pombo, [BILL], { sendAt: new Date(NOON + 20 * DAY).toISOString() });
  await passTime(held, 20 * DAY - HOUR);
  expect(countFiles(pombo)).toEqual([1, 1, 3, 1]);
  await passTime(held, HOUR + MINUTE);
  await pombo.app.worker.idle();
  expect((await recordOf(pombo, id)).status).toBe("delivered");
  expect(pombo.mx.messages[0]?.content.length).toBeGreaterThan(BILL.content.length);
});

test("what a refused send or a crash leaves is gone after an hour, and no sooner", async () => {
  await using held = await startWithRetention();
  const { pombo } = held;
  const before = await storedBytes(pombo);
  const refused = await pombo.workspace.call("POST", EMAILS, {
    body: pombo.email({ from: "a@unknown.test", attachments: attach(LOGO) }),
  });
  expect([refused.status, countFiles(pombo)]).toEqual([422, [1, 1, 1, 0]]);
  // Cut off before its third piece.
  const cut = "BEFORE INSERT ON attachment_piece WHEN NEW.number = 2 BEGIN SELECT RAISE(ABORT, 'cut off'); END";
  alter(pombo, `CREATE TRIGGER cut ${cut}`);
  const body = pombo.email({ attachments: attach(BILL) });
  expect((await pombo.workspace.call("POST", EMAILS, { body })).status).toBe(500);
  pombo.bugs.length = 0;
  expect([countFiles(pombo), countRows(pombo, "email")]).toEqual([[2, 1, 3, 0], 0]);
  await held.restart(() => alter(pombo, "DROP TRIGGER cut"));
  await passTime(held, 45 * MINUTE);
  expect(countFiles(pombo)).toEqual([2, 1, 3, 0]);
  // Sent again it is written anew, beside what is left of the first time.
  const id = await sendFiles(pombo, [BILL]);
  expect(countFiles(pombo)).toEqual([3, 2, 6, 1]);
  await passTime(held, 30 * MINUTE);
  expect(countFiles(pombo)).toEqual([1, 1, 3, 1]);
  expect((await download(pombo, id, 0)).bytes.equals(BILL.content)).toBe(true);
  expect((await storedBytes(pombo)) - before).toBeWithin(BILL.content.length, BILL.content.length + 1_000);
  expect(pombo.bugs).toEqual([]);
});

test.each([
  ["full", "PRAGMA max_page_count = 1", "PRAGMA max_page_count = 4294967294"],
  ["read-only", "PRAGMA query_only = ON", "PRAGMA query_only = OFF"],
])(
  "while the disk is %s a send with a file is 503, nothing is half done, and it goes through afterwards",
  async (_, begin, end) => {
    await using held = await startWithRetention();
    const { pombo } = held;
    const { sqlite } = pombo.app.db;
    const before = await storedBytes(pombo);
    sqlite.run(begin);
    const body = pombo.email({ attachments: attach(BILL, LOGO) });
    const headers = { "idempotency-key": "k" };
    const refused = await pombo.workspace.call("POST", EMAILS, { body, headers });
    expectErrors(refused, 503, [{ code: "UNAVAILABLE" }]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect([countFiles(pombo)[3], await totalOf(pombo.workspace), pombo.mx.messages]).toEqual([0, 0, []]);
    sqlite.run(end);
    for (let n = 0; n < 50 && (await pombo.workspace.call("GET", "/ready")).status !== 200; n += 1) {
      held.clock.advance(1_000);
      await turn(5);
    }
    const sent = await pombo.workspace.call("POST", EMAILS, { body, headers });
    expect([sent.status, sent.headers.has("idempotent-replayed")]).toEqual([202, false]);
    await pombo.app.worker.idle();
    expect((await recordOf(pombo, sent.body.data.id)).status).toBe("delivered");
    await passTime(held, 2 * HOUR);
    expect(countFiles(pombo)).toEqual([2, 2, 4, 2]);
    expect((await storedBytes(pombo)) - before).toBeWithin(
      BILL.content.length + LOGO.content.length,
      BILL.content.length + LOGO.content.length + 1_000,
    );
  },
);

test("with its last recipient an email's files are erased; what another email has stays", async () => {
  await using held = await startWithRetention();
  const { pombo } = held;
  const id = await sendFiles(pombo, [BILL, LOGO], { to: ["a@example.com", "b@example.com"] });
  const other = await sendFiles(pombo, [LOGO], { to: "c@example.com" });
  await pombo.app.worker.idle();
  await passTime(held, 2 * HOUR);
  const exported = await pombo.workspace.call("GET", "/api/v1/recipients/c@example.com");
  expect(exported.body.data[0].email.attachments).toMatchObject([{ filename: "logo.png" }]);
  const { recipients } = await recordOf(pombo, id);
  const second: string = recipients[1].id;
  expect(await erase(pombo, "a@example.com")).toMatchObject({ emails: 1 });
  // The other one's, not the erased one's.
  expect((await recordOf(pombo, id)).attachments).toEqual([]);
  expect((await download(pombo, id, 0)).response.status).toBe(404);
  expect((await recordOf(pombo, second)).attachments).toHaveLength(2);
  expect((await download(pombo, second, 0)).bytes.equals(BILL.content)).toBe(true);
  expect(await erase(pombo, "b@example.com")).toMatchObject({ emails: 1 });
  expect(countRows(pombo, "email_attachment")).toBe(1);
  expect((await download(pombo, second, 0)).response.status).toBe(404);
  await passTime(held, 20 * MINUTE);
  expect(countFiles(pombo)).toEqual([1, 1, 1, 1]);
  expect((await download(pombo, other, 0)).bytes.equals(LOGO.content)).toBe(true);
  expect(pombo.bugs).toEqual([]);
});

/** Of the large messages only one is in delivery at a time, and the mail server holds it. */
async function startBusy(): Promise<{ held: HeldInstance; open: (answer: string) => void; reached: Promise<void> }> {
  const door = gate();
  const held = await startHeld(NOON, {
    mx: { dot: door.step },
    configure: ({ email }) => void (email.memoryBytes = 1),
  });
  return { held, open: door.open, reached: door.reached };
}

test("an email whose recipient is erased while it waits for memory is not sent without its files", async () => {
  const { held, open, reached } = await startBusy();
  await using _ = held;
  const { pombo } = held;
  await sendFiles(pombo, [BILL], { to: "first@example.com" });
  await reached;
  const id = await sendFiles(pombo, [BILL], { to: "gone@example.com" });
  for (let n = 0; n < 100 && (await recordOf(pombo, id)).status !== "sending"; n += 1) await turn(5);
  expect(await erase(pombo, "gone@example.com")).toMatchObject({ emails: 1, inFlight: 1 });
  open("250 2.0.0 OK");
  await pombo.app.worker.idle();
  expect(pombo.mx.messages.map(({ to }) => to)).toEqual([["first@example.com"]]);
  expect((await recordOf(pombo, id)).status).toBe("canceled");
  expect(pombo.bugs).toEqual([]);
});

test("of many large emails those for which there is no memory wait ten seconds, and no attempt is counted", async () => {
  const { held, open, reached } = await startBusy();
  await using _ = held;
  const { pombo } = held;
  // Each to a place of its own: one place would take five at a time.
  const places = Array.from({ length: 12 }, (__, n) => `place${n}.test`);
  for (const place of places) pombo.dns.zone[place] = { MX: [[10, "mx.example.com"]] };
  const ids: string[] = [];
  for (const place of places) ids.push(await sendFiles(pombo, [BILL], { to: `maria@${place}` }));
  await reached;
  const records = () => Promise.all(ids.map((id) => recordOf(pombo, id)));
  const isLater = ({ status, nextAttemptAt, attempts }: Json) =>
    status === "queued" && attempts === 0 && nextAttemptAt === new Date(NOON + 10_000).toISOString();
  // One is sent, eight wait in memory, and three are put off.
  for (let n = 0; n < 200 && (await records()).filter(isLater).length < 3; n += 1) await turn(5);
  const shown = await records();
  expect([shown.filter(({ status }) => status === "sending").length, shown.filter(isLater).length]).toEqual([9, 3]);
  open("250 2.0.0 OK");
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toHaveLength(9);
  await held.advance(10_000);
  await pombo.mx.until(() => pombo.mx.messages.length === 12);
  await pombo.app.worker.idle();
  expect((await records()).map(({ status, attempts }) => `${status} ${attempts}`)).toEqual(
    Array.from({ length: 12 }, () => "delivered 1"),
  );
  expect(pombo.bugs).toEqual([]);
});
