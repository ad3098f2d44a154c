// Rows that a sweep cannot handle, one among many: the others are handled, and it is logged once and is an issue.
import { expect, setDefaultTimeout, test } from "bun:test";
import { defaultSmsRoute } from "../../../src/config/config.ts";
import { createWalkingPurge, PURGE_EVERY_MS } from "../../../src/platform/db/purge.ts";
import { SkippedRows } from "../../../src/platform/db/skipped-rows.ts";
import { turn } from "../../support/db/temporary.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { linkConfig, shiftedClock, startTexting, type TextWorld } from "../../support/texting/world.ts";

setDefaultTimeout(40_000);

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const POISON = "+258849999999";
const NUMBERS = ["+258841234501", POISON, "+258841234502"];
const ABORT = "BEGIN SELECT RAISE(ABORT, 'poisoned'); END";
const ITS_MESSAGE = `(SELECT recipient FROM sms_message WHERE id = NEW.message_id) = '${POISON}'`;

const run = (world: TextWorld, statement: string) => world.instance.app.db.sqlite.run(statement);
const poison = (world: TextWorld, trigger: string) => run(world, `CREATE TRIGGER poison ${trigger} ${ABORT}`);
const list = (world: TextWorld, query: string) =>
  world.instance.app.db.sqlite
    .query<Record<string, unknown>, []>(query)
    .all()
    .map((row) => Object.values(row)[0]);

async function sweep(world: TextWorld, times = 3): Promise<void> {
  for (let n = 0; n < times; n += 1) await world.instance.app.sms.sweep();
}

/** It was logged once, and the operator sees it. */
async function expectReported({ instance }: TextWorld, where: string): Promise<void> {
  expect(instance.bugs).toMatchObject([{ where }]);
  const { issues } = (await instance.operator.call("GET", "/api/v1/operator/status")).body.data;
  expect(issues.map(({ reason }: { reason: string }) => reason).join("\n")).toContain(`(the first: ${where} `);
  expect((await fetch(`${instance.app.url}/ready`)).status).toBe(200);
}

test("received messages that stay incomplete", async () => {
  const clock = shiftedClock();
  await using world = await startTexting({ instance: { clock } });
  for (const [index, source] of ["258841", "258842", "258843"].entries())
    run(
      world,
      `INSERT INTO sms_inbound_part (route, source, destination, scheme, reference, total, seq, data_coding, alphabet, payload, received_at)
       VALUES ('vodacom', '${source}', 'Loja', 'udh8', ${index}, 2, 1, 0, 'gsm', X'42', ${clock.now()})`,
    );
  poison(world, "BEFORE DELETE ON sms_inbound_part WHEN OLD.source = '258842'");
  clock.shift(31 * MINUTE);
  await sweep(world);
  expect(list(world, "SELECT source FROM sms_inbound_part")).toEqual(["258842"]);
  expect(list(world, "SELECT COUNT(*) FROM sms_inbound")).toEqual([2]);
  await expectReported(world, "sms inbound parts");
  run(world, "DROP TRIGGER poison");
  clock.shift(MINUTE);
  await sweep(world);
  expect(list(world, "SELECT COUNT(*) FROM sms_inbound")).toEqual([3]);
});

test("receipts that fit nothing, and messages to nobody, whose time is over", async () => {
  const clock = shiftedClock();
  await using world = await startTexting({ instance: { clock } });
  for (let n = 1; n <= 3; n += 1) {
    run(
      world,
      `INSERT INTO sms_receipt_orphan (route, receipt_state, receipt, raw, received_at) VALUES ('vodacom', 'delivered', '{}', X'00', ${clock.now()})`,
    );
    run(
      world,
      `INSERT INTO sms_inbound (uid, route, sender, recipient, body, is_whole, received_at) VALUES ('${n}', 'vodacom', 'a', 'b', 'c', 1, ${clock.now()})`,
    );
  }
  poison(world, "BEFORE DELETE ON sms_receipt_orphan WHEN OLD.id = 2");
  clock.shift(31 * DAY);
  await sweep(world);
  expect(list(world, "SELECT id FROM sms_receipt_orphan")).toEqual([2]);
  expect(list(world, "SELECT COUNT(*) FROM sms_inbound")).toEqual([0]);
  await expectReported(world, "sms orphan receipts");
});

test("messages of a route that is away, which another takes over", async () => {
  await using world = await startTexting({
    configure(config, port) {
      const away = { ...defaultSmsRoute("away"), failover: ["near"], failoverAfterMs: 1 };
      config.sms.routes = [
        { ...away, links: [linkConfig(1, { name: "away-a" })] },
        { ...defaultSmsRoute("near"), prefixes: ["+1"], links: [linkConfig(port, { name: "near-a" })] },
      ];
    },
  });
  poison(world, `BEFORE UPDATE OF route ON sms_segment WHEN ${ITS_MESSAGE}`);
  const ids: string[] = [];
  for (const to of NUMBERS) ids.push(await world.text({ to }));
  await sweep(world);
  for (const id of [ids[0], ids[2]]) await world.until(id ?? "", ({ status }) => status === "delivered");
  expect(list(world, "SELECT route FROM sms_segment WHERE state = 'ready'")).toEqual(["away"]);
  await expectReported(world, "sms failover");
});

test("messages of a route and of a link that were taken out do not hold up the start", async () => {
  await using world = await startTexting({
    configure(config) {
      config.sms.routes = [{ ...defaultSmsRoute("old"), links: [linkConfig(1, { name: "old-a" })] }];
    },
  });
  const ids: string[] = [];
  for (const to of NUMBERS) ids.push(await world.text({ to }));
  run(world, "UPDATE sms_segment SET link = 'old-a'");
  poison(world, `BEFORE UPDATE OF link, route ON sms_segment WHEN ${ITS_MESSAGE}`);
  const { config } = world.instance;
  config.sms.routes = [{ ...defaultSmsRoute("new"), links: [linkConfig(world.smsc.port, { name: "new-a" })] }];
  await world.instance.restart();
  for (const id of [ids[0], ids[2]]) await world.until(id ?? "", ({ status }) => status === "delivered");
  expect(list(world, "SELECT route FROM sms_segment WHERE state = 'ready'")).toEqual(["old"]);
  expect(world.instance.bugs).toMatchObject([{ where: "sms unpin" }, { where: "sms reroute" }]);
});

test("records whose retention is over", async () => {
  await using world = await startTexting();
  for (const to of NUMBERS) await world.until(await world.text({ to }), ({ status }) => status === "delivered");
  poison(world, `BEFORE DELETE ON sms_message WHEN OLD.recipient = '${POISON}'`);
  const { committer, smsStores } = world.instance.app;
  const clock = fakeClock();
  const bugs: string[] = [];
  const log = { event: () => undefined, error: (where: string) => void bugs.push(where) };
  const deps = { commit: committer.commit, clock, steady: clock, log };
  const skipped = new SkippedRows({ ...deps, component: "sms" });
  const purge = createWalkingPurge({ ...deps, skipped }, "sms records", smsStores.retention.messages, () => Infinity);
  purge.start();
  for (let pass = 0; pass < 3; pass += 1) {
    clock.advance(PURGE_EVERY_MS);
    await turn(20);
  }
  await purge.stop();
  expect(list(world, "SELECT recipient FROM sms_message")).toEqual([POISON]);
  expect(list(world, "SELECT COUNT(*) FROM sms_segment")).toEqual([1]);
  expect([bugs, skipped.issue?.component]).toEqual([["sms records"], "sms"]);
});
