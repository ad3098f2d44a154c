// What is told and that it was told are one transaction: no end of the process lies between the two.

import { expect, test } from "bun:test";
import type { Notice } from "../../../../src/modules/alerts/watch.ts";
import { Notifier } from "../../../../src/modules/alerts/notifier.ts";
import { openAlertStore } from "../../../../src/modules/alerts/store.ts";
import { listTargets } from "../../../../src/modules/alerts/targets.ts";
import type { WebhookOutbox } from "../../../../src/modules/alerts/webhook-outbox.ts";
import type { Trouble } from "../../../../src/modules/alerts/trouble.ts";
import { temporaryDatabase } from "../../../support/db/temporary.ts";
import { fakeClock, withFractions } from "../../../support/fakes/clock.ts";

const FIRE: Trouble = { id: "fire", level: "problem", what: "It burns.", step: null };
const BLOCK = { kind: "email", least: "warning", from: null, route: null } as const;

const HOOK = { ...BLOCK, kind: "webhook" as const, to: ["https://hooks.example.com/T0"] };

function start(sources: (() => readonly Trouble[])[], outboxes: WebhookOutbox[] = []) {
  const database = temporaryDatabase();
  const { sqlite } = database.db;
  sqlite.run("CREATE TABLE mailed (recipient TEXT, subject TEXT) STRICT");
  const clock = fakeClock();
  const bugs: unknown[] = [];
  const guard = { failure: null as string | null, whenOpen: () => () => undefined };
  const startNotifier = () => {
    const notifier = new Notifier({
      commit: database.committer.commit,
      clock,
      steady: withFractions(clock),
      log: { event: () => undefined, error: (_, error) => void bugs.push(error) },
      guard,
      store: openAlertStore(database.db),
      targets: [
        ...listTargets([{ ...BLOCK, to: ["a@example.org", "b@example.org"] }]),
        ...outboxes.map(({ target }) => target),
      ],
      sources,
      outboxes,
      hostname: "mail.example.net",
      queueMail({ to, subject }) {
        sqlite.run("INSERT INTO mailed VALUES (?, ?)", [to, subject]);
        return to;
      },
      sendSms: () => "",
    });
    notifier.start();
    return notifier;
  };
  let notifier = startNotifier();
  return {
    sqlite,
    bugs,
    guard,
    mailed: () =>
      sqlite
        .query<{ recipient: string }, []>("SELECT * FROM mailed")
        .all()
        .map(({ recipient }) => recipient),
    told: () => sqlite.query("SELECT id FROM alert_trouble WHERE ended_at IS NULL").all(),
    async restart() {
      await notifier.stop();
      notifier = startNotifier();
    },
    async pass(looks: number) {
      for (let nth = 0; nth < looks; nth += 1) {
        clock.advance(15_000);
        await notifier.idle();
      }
    },
    async [Symbol.asyncDispose]() {
      await notifier.stop();
      database[Symbol.dispose]();
    },
  };
}

test("where the second email cannot be queued, neither the first nor the note that it was told stays, and both follow", async () => {
  await using kit = start([() => [FIRE]]);
  kit.sqlite.run(
    "CREATE TRIGGER broken BEFORE INSERT ON mailed WHEN new.recipient = 'b@example.org' BEGIN SELECT RAISE(ABORT, 'no'); END",
  );
  await kit.pass(12);
  expect(kit.bugs.length).toBeGreaterThan(1);
  expect([kit.mailed(), kit.told()]).toEqual([[], []]);
  kit.sqlite.run("DROP TRIGGER broken");
  await kit.pass(12);
  expect(kit.mailed()).toEqual(["a@example.org", "b@example.org"]);
  expect(kit.told()).toEqual([{ id: "fire" }]);
});

test("a source that throws keeps no other from being heard, and ends nothing", async () => {
  let isBroken = false;
  await using kit = start([
    () => {
      if (isBroken) throw new Error("broken");
      return [FIRE];
    },
    () => (isBroken ? [{ ...FIRE, id: "flood" }] : []),
  ]);
  await kit.pass(10);
  isBroken = true;
  await kit.pass(100);
  expect(kit.told()).toEqual([{ id: "fire" }, { id: "flood" }]);
  expect(kit.mailed()).toHaveLength(4);
  expect(kit.bugs.length).toBeGreaterThan(50);
});

test("a process that is started again every few minutes tells by email what began, though nobody saw the end of a problem", async () => {
  let troubles: Trouble[] = [FIRE];
  await using kit = start([() => troubles]);
  await kit.pass(10);
  expect(kit.mailed()).toEqual(["a@example.org", "b@example.org"]);
  troubles = [{ ...FIRE, id: "flood" }];
  const mailed: number[] = [];
  for (let run = 0; run < 5; run += 1) {
    await kit.restart();
    await kit.pass(18);
    mailed.push(kit.mailed().length);
  }
  // The fire may block the way, for as long as it may take to see it.
  expect(mailed).toEqual([2, 2, 2, 4, 4]);
  expect(kit.bugs).toEqual([]);
});

test("a call that fails while nothing can be written is made again with its id and words, and waits with them once it can", async () => {
  const [target] = listTargets([HOOK]);
  const calls: string[] = [];
  let made = 0;
  const outbox = {
    target,
    newCallId: () => `call ${(made += 1)}`,
    async callUnwritten(uid: string, notices: readonly Notice[]) {
      calls.push(`${uid}: ${notices.map(({ id, at }) => `${id} ${at}`).join(", ")}`);
      return false;
    },
    trigger: () => undefined,
  };
  const flood = { ...FIRE, id: "flood" };
  let troubles = [FIRE];
  await using kit = start([() => troubles], [outbox as unknown as WebhookOutbox]);
  kit.guard.failure = "the disk is full";
  await kit.pass(12);
  expect(calls.length).toBeGreaterThan(2);
  expect(new Set(calls).size).toBe(1);
  troubles = [FIRE, flood];
  await kit.pass(12);
  expect(new Set(calls).size).toBe(1);
  kit.guard.failure = null;
  await kit.pass(1);
  const waiting = kit.sqlite
    .query("SELECT trouble_id, call_uid FROM alert_message WHERE target LIKE 'webhook%'")
    .values();
  expect(waiting).toEqual([
    ["fire", "call 1"],
    ["flood", null],
  ]);
  expect(kit.bugs).toEqual([]);
});

test("a trouble that becomes a problem while nothing can be written is told to a webhook that wants problems alone", async () => {
  const [all] = listTargets([HOOK]);
  const [problems] = listTargets([{ ...HOOK, least: "problem", to: ["https://hooks.example.com/T1"] }]);
  const calls: string[] = [];
  const hook = (target: typeof all, name: string) =>
    ({
      target,
      newCallId: () => name,
      async callUnwritten(_: string, notices: readonly Notice[]) {
        calls.push(`${name}: ${notices.map(({ kind, level }) => `${kind} ${level}`).join(", ")}`);
        return true;
      },
      trigger: () => undefined,
    }) as unknown as WebhookOutbox;
  let level: Trouble["level"] = "warning";
  await using kit = start([() => [{ ...FIRE, level }]], [hook(all, "all"), hook(problems, "problems")]);
  kit.guard.failure = "the disk is full";
  await kit.pass(12);
  expect(calls).toEqual(["all: began warning"]);
  level = "problem";
  await kit.pass(4);
  level = "warning";
  await kit.pass(4);
  expect(calls.toSorted()).toEqual(["all: began warning", "all: worsened problem", "problems: worsened problem"]);
  kit.guard.failure = null;
  await kit.pass(1);
  expect(kit.told()).toEqual([{ id: "fire" }]);
  expect(kit.bugs).toEqual([]);
});
