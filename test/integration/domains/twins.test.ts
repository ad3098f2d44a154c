// A domain that two workspaces have registered: the first to verify has it.
import { expect, setDefaultTimeout, test } from "bun:test";
import type { Instance, Workspace } from "../../support/fakes/instance.ts";
import { DAY, HOUR, type Life, MINUTE, START, startLife } from "../../support/domains/life.ts";

setDefaultTimeout(60_000);

/** In the order of their registration. */
const statusesOf = (pombo: Instance, name: string) =>
  pombo.app.db.sqlite
    .query<{ status: string }, [string]>("SELECT status FROM domain WHERE name = ? ORDER BY id")
    .all(name)
    .map(({ status }) => status);

async function startTwins(): Promise<Life & { ids: [string, string]; other: Workspace }> {
  const life = await startLife();
  const other = await life.pombo.newWorkspace();
  const ids: [string, string] = [await life.register("shared.test"), await life.register("shared.test", other)];
  // DNS holds one key at a time; for both checks to find theirs the second is given the first's public keys.
  life.pombo.app.db.sqlite.run(`
    UPDATE dkim_key SET public_key = (
      SELECT first.public_key FROM dkim_key AS first
      WHERE first.selector = dkim_key.selector AND first.domain_id = (SELECT max(id) - 1 FROM domain)
    ) WHERE domain_id = (SELECT max(id) FROM domain)`);
  return Object.assign(life, { ids, other });
}

test("of two pending twins the watch verifies one, and the other by itself once the first is gone", async () => {
  await using life = await startTwins();
  const { pombo, ids, other } = life;
  await life.publish(ids[0]);
  await life.until(START + 2 * MINUTE);
  expect(statusesOf(pombo, "shared.test")).toEqual(["verified", "pending"]);
  const waiting = await life.show(ids[1], other);
  expect(waiting.hint).toContain("Another workspace");
  // Its records are right: it is not given up after 14 days.
  pombo.app.db.sqlite.run("UPDATE domain SET created_at = created_at - ? WHERE status = 'pending'", [20 * DAY]);
  await life.until(START + 2 * HOUR);
  expect((await life.show(ids[1], other)).status).toBe("pending");
  await pombo.workspace.call("DELETE", `/api/v1/domains/${ids[0]}`);
  await life.until(START + 3.2 * HOUR);
  expect((await life.show(ids[1], other)).status).toBe("verified");
  expect(pombo.bugs).toEqual([]);
});

test("a failed domain whose name another workspace has meanwhile stays failed until that ends", async () => {
  await using life = await startTwins();
  const { pombo, ids, other } = life;
  await life.publish(ids[0]);
  await life.check(ids[0]);
  const { verifiedAt } = await life.show(ids[0]);
  life.withdraw("shared.test");
  await life.check(ids[0]);
  pombo.app.db.sqlite.run("UPDATE domain SET warning_at = warning_at - ? WHERE status = 'warning'", [72 * HOUR]);
  await life.check(ids[0]);
  expect((await life.show(ids[0])).status).toBe("failed");
  await life.publish(ids[1], other);
  await life.check(ids[1], other);
  expect((await life.show(ids[1], other)).status).toBe("verified");
  expect(await life.check(ids[0])).toMatchObject({ hint: expect.stringContaining("Another workspace") });
  expect((await life.show(ids[0])).status).toBe("failed");
  expect(await life.send("shared.test")).toBe(422);
  // In warning it still has the name.
  life.withdraw("shared.test");
  await life.check(ids[1], other);
  await life.publish(ids[0]);
  pombo.app.db.sqlite.run(
    "UPDATE domain SET status = 'warning', warning_at = checked_at WHERE name = 'shared.test' AND status = 'verified'",
  );
  expect((await life.check(ids[0])).hint).toContain("Another workspace");
  await other.call("DELETE", `/api/v1/domains/${ids[1]}`);
  expect(await life.check(ids[0])).toMatchObject({ verifiedAt });
  expect((await life.show(ids[0])).status).toBe("verified");
  expect(pombo.bugs).toEqual([]);
});
