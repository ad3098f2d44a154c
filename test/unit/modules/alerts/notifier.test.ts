// What is told and that it was told are one transaction: no end of the process lies between the two.

import { expect, test } from "bun:test";
import { Notifier } from "../../../../src/modules/alerts/notifier.ts";
import { openAlertStore } from "../../../../src/modules/alerts/store.ts";
import { listTargets } from "../../../../src/modules/alerts/targets.ts";
import type { Trouble } from "../../../../src/modules/alerts/trouble.ts";
import { temporaryDatabase } from "../../../support/db/temporary.ts";
import { fakeClock } from "../../../support/fakes/clock.ts";

const FIRE: Trouble = { id: "fire", level: "problem", what: "It burns.", step: null };
const BLOCK = { kind: "email", least: "warning", from: null, route: null } as const;

function start(sources: (() => readonly Trouble[])[]) {
  const database = temporaryDatabase();
  const { sqlite } = database.db;
  sqlite.run("CREATE TABLE mailed (recipient TEXT, subject TEXT) STRICT");
  const clock = fakeClock();
  const bugs: unknown[] = [];
  const notifier = new Notifier({
    commit: database.committer.commit,
    clock,
    steady: clock,
    log: { event: () => undefined, error: (_, error) => void bugs.push(error) },
    guard: { failure: null, whenOpen: () => () => undefined },
    store: openAlertStore(database.db),
    targets: listTargets([{ ...BLOCK, to: ["a@example.org", "b@example.org"] }]),
    sources,
    outboxes: [],
    hostname: "mail.example.net",
    queueMail({ to, subject }) {
      sqlite.run("INSERT INTO mailed VALUES (?, ?)", [to, subject]);
      return to;
    },
    sendSms: () => "",
  });
  notifier.start();
  return {
    sqlite,
    bugs,
    mailed: () =>
      sqlite
        .query<{ recipient: string }, []>("SELECT * FROM mailed")
        .all()
        .map(({ recipient }) => recipient),
    told: () => sqlite.query("SELECT id FROM alert_trouble WHERE ended_at IS NULL").all(),
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
