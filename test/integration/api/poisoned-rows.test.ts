// A row that cannot be written, by what is no trouble of the storage: one email among many.
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { databaseFile } from "../../../src/platform/db/open.ts";
import { turn } from "../../support/db/temporary.ts";
import type { Instance, Json } from "../../support/fakes/instance.ts";
import { sayThenDrop } from "../../support/fakes/mx.ts";
import { type HeldInstance, startHeld } from "../../support/api/kit.ts";
import { MINUTE, NOON, recordOf, send } from "../../support/api/one-email.ts";

const POISON = "poison@example.com";
const ABORT = "BEGIN SELECT RAISE(ABORT, 'poisoned'); END";
const IS_POISON = `(SELECT recipient_address FROM email WHERE id = NEW.id) = '${POISON}'`;
/** Of the poisoned email: its end cannot be written, nor that it may have been taken. */
const ITS_END = `BEFORE UPDATE OF status, possible_duplicate ON email WHEN NEW.recipient_address = '${POISON}' ${ABORT}`;

/** Changes the database behind the back of the instance. */
function alter(pombo: Instance, statement: string): void {
  const database = new Database(databaseFile(pombo.directory));
  database.run("PRAGMA busy_timeout = 5000");
  database.run(statement);
  database.close();
}

const poison = (pombo: Instance, trigger: string) => alter(pombo, `CREATE TRIGGER poison ${trigger}`);
const cure = (pombo: Instance) => alter(pombo, "DROP TRIGGER poison");

/** Sends to ten healthy addresses of the same destination, the poisoned one among them; the ids. */
async function sendAll(pombo: Instance): Promise<{ poisoned: string; sound: string[] }> {
  const sound: string[] = [];
  for (let i = 0; i < 5; i++) sound.push(await send(pombo, { to: `maria${i}@example.com` }));
  const poisoned = await send(pombo, { to: POISON });
  for (let i = 5; i < 10; i++) sound.push(await send(pombo, { to: `maria${i}@example.com` }));
  return { poisoned, sound };
}

const statusesOf = (pombo: Instance, ids: string[]) =>
  Promise.all(ids.map(async (id) => (await recordOf(pombo, id)).status as string)).then((all) => [...new Set(all)]);

const sentTo = (pombo: Instance, address: string) => pombo.mx.messages.filter(({ to }) => to.includes(address)).length;

async function troublesOf(pombo: Instance): Promise<Json[]> {
  return (await pombo.operator.call("GET", "/api/v1/operator/status")).body.data.issues;
}

/** What is tried again comes to its end too. */
async function minutes(count: number, { pombo, advance }: HeldInstance): Promise<void> {
  for (let minute = 0; minute < count; minute++) {
    await advance(MINUTE);
    await turn(10);
  }
  await pombo.app.worker.idle();
}

/** The poisoned email is in flight, told of, and nobody else is the worse for it. */
async function expectHeld(pombo: Instance, { poisoned, sound }: { poisoned: string; sound: string[] }, status: string) {
  expect(await statusesOf(pombo, sound)).toEqual([status]);
  expect((await recordOf(pombo, poisoned)).status).toBe("sending");
  expect(pombo.bugs).toMatchObject([{ where: "record", id: poisoned }]);
  expect(pombo.events.map(({ name }) => name)).not.toContain("disk.failed");
  const issues = await troublesOf(pombo);
  expect(issues).toMatchObject([{ component: "worker" }]);
  expect(issues[0].reason).toContain(poisoned);
  expect((await fetch(`${pombo.app.url}/ready`)).status).toBe(200);
}

test("an email whose 250 cannot be written is not sent again, is told with its cure, and the next start writes it", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  poison(pombo, ITS_END);
  const ids = await sendAll(pombo);
  await pombo.app.worker.idle();
  await expectHeld(pombo, ids, "delivered");
  await minutes(60, held);
  expect(sentTo(pombo, POISON)).toBe(1);
  expect(pombo.bugs).toHaveLength(1);
  // Started with the same bug, it still is not sent.
  await held.restart();
  await minutes(60, held);
  expect(sentTo(pombo, POISON)).toBe(1);
  expect((await troublesOf(pombo))[0].reason).toContain(ids.poisoned);
  cure(pombo);
  await held.restart();
  await minutes(60, held);
  expect(await recordOf(pombo, ids.poisoned)).toMatchObject({
    status: "delivered",
    attempts: 1,
    possibleDuplicate: false,
  });
  expect(sentTo(pombo, POISON)).toBe(1);
  expect(await troublesOf(pombo)).toEqual([]);
  const shown = (await pombo.workspace.call("GET", `/api/v1/emails/${ids.poisoned}/events`)).body.data;
  expect(shown.at(-1)).toMatchObject({ type: "email.delivered" });
});

test("where the bug passes, the end is written a minute later, and the email was sent once", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  poison(pombo, ITS_END);
  const ids = await sendAll(pombo);
  await pombo.app.worker.idle();
  cure(pombo);
  await minutes(1, held);
  expect(await recordOf(pombo, ids.poisoned)).toMatchObject({ status: "delivered", possibleDuplicate: false });
  expect(await troublesOf(pombo)).toEqual([]);
  expect(sentTo(pombo, POISON)).toBe(1);
});

test("a bug in what is summed before the COMMIT is told as one, and holds up no other workspace", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  const other = await pombo.newWorkspace();
  await pombo.addDomain(other, "outra.test");
  const totals = `BEFORE INSERT ON email_total WHEN NEW.status = 'delivered' AND NEW.domain_id =
    (SELECT id FROM domain WHERE name = 'outra.test')`;
  poison(pombo, `${totals} ${ABORT}`);
  const body = pombo.email({ from: "loja@outra.test", to: POISON });
  const [sent, ...sound] = await Promise.all([
    other.call("POST", "/api/v1/emails", { body }),
    ...Array.from({ length: 8 }, (_, i) => send(pombo, { to: `maria${i}@example.com` })),
  ]);
  await pombo.app.worker.idle();
  expect(await statusesOf(pombo, sound)).toEqual(["delivered"]);
  const { id } = sent.body.data;
  expect(pombo.bugs).toMatchObject([{ where: "record", id }]);
  expect(pombo.events.map(({ name }) => name)).not.toContain("disk.failed");
  cure(pombo);
  await minutes(1, held);
  expect((await other.call("GET", `/api/v1/emails/${id}`)).body.data.status).toBe("delivered");
  expect(sentTo(pombo, POISON)).toBe(1);
});

test("an email whose bounce cannot be written is not sent again by this run, and bounces at the next start", async () => {
  await using held = await startHeld(NOON, { mx: { rcpt: "550 5.1.1 No such user" } });
  const { pombo } = held;
  poison(pombo, ITS_END);
  const ids = await sendAll(pombo);
  await pombo.app.worker.idle();
  await expectHeld(pombo, ids, "bounced");
  const tries = () => pombo.mx.connections.flatMap(({ commands }) => commands).filter((each) => each.includes(POISON));
  const before = tries().length;
  await minutes(60, held);
  expect(tries()).toHaveLength(before);
  cure(pombo);
  await held.restart();
  await minutes(60, held);
  expect(await recordOf(pombo, ids.poisoned)).toMatchObject({ status: "bounced", possibleDuplicate: false });
  expect(await troublesOf(pombo)).toEqual([]);
});

test("an email whose dot cannot be marked is not sent, and is tried again when its time comes", async () => {
  await using held = await startHeld(NOON);
  const { pombo } = held;
  poison(pombo, `BEFORE UPDATE OF dot_at ON email_queue WHEN NEW.dot_at IS NOT NULL AND ${IS_POISON} ${ABORT}`);
  const { poisoned, sound } = await sendAll(pombo);
  await pombo.app.worker.idle();
  expect(await statusesOf(pombo, sound)).toEqual(["delivered"]);
  expect((await recordOf(pombo, poisoned)).status).toBe("delivery_delayed");
  expect(sentTo(pombo, POISON)).toBe(0);
  expect(pombo.bugs[0]).toMatchObject({ where: "point of no return", id: poisoned });
  cure(pombo);
  await minutes(60, held);
  expect(await recordOf(pombo, poisoned)).toMatchObject({ status: "delivered", possibleDuplicate: false });
  expect(sentTo(pombo, POISON)).toBe(1);
});

test("an email whose answer was lost, and whose doubt cannot be written, is sent again only once it is marked", async () => {
  await using held = await startHeld(NOON, { mx: { dot: sayThenDrop("") } });
  const { pombo } = held;
  poison(pombo, ITS_END);
  const id = await send(pombo, { to: POISON });
  await pombo.app.worker.idle();
  await minutes(60, held);
  expect([sentTo(pombo, POISON), (await recordOf(pombo, id)).status]).toEqual([1, "sending"]);
  pombo.mx.script = {};
  cure(pombo);
  await minutes(60, held);
  expect(await recordOf(pombo, id)).toMatchObject({ status: "delivered", possibleDuplicate: true });
  expect(sentTo(pombo, POISON)).toBe(2);
});
