import { expect, test } from "bun:test";
import { openAuditStore } from "../../../../src/modules/audit/store.ts";
import { temporaryDatabase } from "../../../support/db/temporary.ts";

test("rows from before the retention are removed in batches, the oldest first, and no other", () => {
  using opened = temporaryDatabase();
  const audit = openAuditStore(opened.db);
  const row = {
    workspaceId: 1,
    userId: null,
    actor: "operator",
    action: "x",
    target: null,
    detail: null,
    network: null,
  };
  for (let at = 1; at <= 250; at += 1) audit.insert({ ...row, uid: String(at), createdAt: at });
  const left = () => audit.list(1, null, 1_000).map(({ createdAt }) => createdAt);
  expect([audit.purge(240), left().length]).toEqual([true, 50]);
  expect([audit.purge(240), left()]).toEqual([false, [250, 249, 248, 247, 246, 245, 244, 243, 242, 241, 240]]);
  expect([audit.purge(240), left().length]).toEqual([false, 11]);
});
