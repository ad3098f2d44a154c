import { describe, expect, test } from "bun:test";
import { openSmsRetentionStore } from "../../../src/modules/sms/queue/retention-store.ts";
import { walkBatch } from "../../../src/platform/db/purge.ts";
import { temporaryDatabase } from "../../support/db/temporary.ts";
import { startTexting } from "../../support/texting/world.ts";

const NOW = Date.UTC(2026, 10, 21, 12);

describe("SMS older than the retention", () => {
  test("go with their segments; those with a segment that waits stay, and so do younger ones", () => {
    using on = temporaryDatabase();
    const { sqlite } = on.db;
    const forgotten: number[] = [];
    const retention = openSmsRetentionStore(on.db, (id) => void forgotten.push(id));
    const insert = (createdAt: number, states: string[]) => {
      const { id } = sqlite
        .query(
          `INSERT INTO sms_message (uid, workspace_id, recipient, sender, body, encoding, alphabet, segments, credits,
             expires_at, created_at, status)
           VALUES (?, 1, '+258841234567', 'Loja', 'x', 'gsm7', 'gsm', ?, 1, ?, ?, 'sent') RETURNING id`,
        )
        .get(Bun.randomUUIDv7(), states.length, createdAt, createdAt) as { id: number };
      for (const [index, state] of states.entries())
        sqlite
          .query(
            `INSERT INTO sms_segment (message_id, seq, parts, workspace_id, payload, umr, state, route, priority, next_at)
             VALUES (?, ?, ?, 1, X'00', 1, ?, 'vodacom', 'bulk', 0)`,
          )
          .run(id, index + 1, states.length, state);
      return id;
    };
    const old = sqlite.transaction(() => [
      ...Array.from({ length: 230 }, () => insert(NOW - 10, ["delivered"])),
      insert(NOW - 9, ["delivered", "failed", "accepted"]),
    ])();
    const open = ["ready", "in_flight", "unknown"].map((state) => insert(NOW - 8, ["delivered", state]));
    const young = insert(NOW, ["delivered"]);
    for (let after: number | null = 0; after !== null;)
      after = walkBatch(retention.messages, { after, limit: 100, notBefore: NOW });
    const ids = (table: string, column: string) =>
      (sqlite.query(`SELECT DISTINCT ${column} AS id FROM ${table} ORDER BY 1`).all() as { id: number }[]).map(
        ({ id }) => id,
      );
    expect(ids("sms_message", "id")).toEqual([...open, young]);
    expect(ids("sms_segment", "message_id")).toEqual([...open, young]);
    expect(forgotten.toSorted((a, b) => a - b)).toEqual(old);
  });

  test("that were received go too, and nothing is left to be read", async () => {
    await using world = await startTexting({ script: { receipts: { states: [] } } });
    const id = await world.text();
    await world.until(id, ({ status }) => status === "sent");
    const bytes = Buffer.from("SIM").toString("hex");
    const message = { command: "deliver_sm" as const, esmClass: 0, dataCoding: 0, isPayload: false, tlvs: [], bytes };
    await world.smsc.deliver("loja", { ...message, from: "258841234567", to: "84000" });
    await world.smsc.until({ acknowledged: 1 });
    const { db, committer, smsStores } = world.instance.app;
    const later = Date.now() + 1_000;
    await committer.commit(() => walkBatch(smsStores.retention.messages, { after: 0, limit: 100, notBefore: later }));
    expect((await world.instance.workspace.call("GET", `/api/v1/sms/${id}`)).status).toBe(404);
    const count = () => db.sqlite.query("SELECT COUNT(*) AS count FROM sms_inbound").get();
    expect(count()).toEqual({ count: 1 });
    await committer.commit(() => walkBatch(smsStores.retention.inbound, { after: 0, limit: 100, notBefore: later }));
    expect(count()).toEqual({ count: 0 });
    expect(world.instance.bugs).toEqual([]);
  });
});
