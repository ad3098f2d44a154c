import { expect, test } from "bun:test";
import { defaultSmsRoute } from "../../../src/config/config.ts";
import { linkConfig, shiftedClock, startTexting } from "../../support/texting/world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test("a text whose route is away for its lifetime expires, and its credit comes back", async () => {
  const clock = shiftedClock();
  await using world = await startTexting({ script: { bind: { kind: "none" } }, instance: { clock } });
  const id = await world.text();
  clock.shift(24 * HOUR);
  await world.instance.app.sms.sweep();
  const message = await world.until(id, ({ status }) => status === "expired");
  expect(message).toMatchObject({ failureCategory: "provider_unavailable", credits: 0, deliveryState: null });
});

test("a receipt that does not come is given up after the grace, and still counts later", async () => {
  const clock = shiftedClock();
  await using world = await startTexting({ script: { receipts: { states: [] } }, instance: { clock } });
  const id = await world.text();
  await world.until(id, ({ status }) => status === "sent");
  clock.shift(25 * HOUR + MINUTE);
  await world.instance.app.sms.sweep();
  const message = await world.until(id, ({ deliveryState }) => deliveryState === "unknown");
  expect(message).toMatchObject({ status: "sent", failureCategory: "receipt_timeout", credits: 1 });
});

test("a received text that stays incomplete is delivered as it is after half an hour", async () => {
  const clock = shiftedClock();
  await using world = await startTexting({ instance: { clock } });
  const header = Buffer.from([5, 0, 3, 9, 2, 1]);
  await world.smsc.deliver("loja", {
    command: "deliver_sm",
    from: "258841234567",
    to: "Loja",
    esmClass: 0x40,
    dataCoding: 0,
    bytes: Buffer.concat([header, Buffer.from("Bom ")]).toString("hex"),
    isPayload: false,
    tlvs: [],
  });
  await world.smsc.until({ acknowledged: 1 });
  clock.shift(31 * MINUTE);
  await world.instance.app.sms.sweep();
  const rows = world.instance.app.db.sqlite.query("SELECT body, is_whole FROM sms_inbound").all();
  expect(rows).toEqual([{ body: "Bom […]", is_whole: 0 }]);
});

test("receipts that fit nothing are forgotten after three days", async () => {
  const clock = shiftedClock();
  await using world = await startTexting({
    script: { receipts: { ids: "unknown", tlvs: [] } },
    instance: { clock },
  });
  await world.text();
  await world.smsc.until({ acknowledged: 1 });
  const count = () => world.instance.app.db.sqlite.query("SELECT COUNT(*) AS n FROM sms_receipt_orphan").get();
  expect(count()).toEqual({ n: 1 });
  // More than a transaction of the clean-up takes.
  world.instance.app.db.sqlite.run(`
    WITH RECURSIVE nth(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM nth WHERE n < 2500)
    INSERT INTO sms_receipt_orphan (route, receipt_state, receipt, raw, received_at)
    SELECT route, receipt_state, receipt, raw, received_at FROM sms_receipt_orphan, nth`);
  expect(count()).toEqual({ n: 2_501 });
  clock.shift(73 * HOUR);
  await world.instance.app.sms.sweep();
  expect(count()).toEqual({ n: 0 });
});

test("texts that wait for a route that was taken out go by the one that has their number", async () => {
  await using world = await startTexting({
    configure(config, port) {
      config.sms.routes = [
        { ...defaultSmsRoute("old"), links: [linkConfig(port, { name: "old-a", systemId: "old" })] },
      ];
    },
    script: { bind: { systemId: "loja" } },
  });
  const id = await world.text();
  const { config } = world.instance;
  config.sms.routes = [{ ...defaultSmsRoute("new"), links: [linkConfig(world.smsc.port, { name: "new-a" })] }];
  await world.instance.restart();
  await world.until(id, ({ status }) => status === "delivered");
  expect(world.segments()).toMatchObject([{ route: "new" }]);
});

test("a link's password file that cannot be read keeps pombo from starting, and is named", async () => {
  const start = startTexting({ link: { password: null, passwordFile: "/nowhere/at/all" } });
  expect(start).rejects.toThrow("/nowhere/at/all (sms.routes[0].links[0].password_file) cannot be read");
});
