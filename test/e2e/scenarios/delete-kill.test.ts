// A workspace is deleted under load, and the process is killed in the middle of its removal, again and
// again: nothing of it is left in the end, nothing of it is sent after a start, and its neighbour's mail
// arrives.
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { waitUntil } from "../../support/peers/process.ts";
import { within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { bugsOf, call, createWorld, DESTINATIONS, emailTo, type Served, type World } from "./world.ts";

const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const LIMIT_MS = 30_000;
const BATCHES = 4;
const BATCH = 500;
const CUSTOMERS = 4;
const DOMAIN = "gone.test";
/** The kill comes at most so long after the answer: in the deletion's first shares, in its last, after it. */
const LATEST_MS = 800;

setDefaultTimeout((ROUNDS + 2) * 2 * LIMIT_MS);

interface Doomed {
  id: string;
  key: string;
}

async function makeDoomed(served: Served, world: World): Promise<Doomed> {
  const made = await call(served.url, world.operatorKey, {
    method: "POST",
    path: "/api/v1/workspaces",
    body: { name: "Doomed", plan: "scale" },
  });
  const { workspaceId: id, apiKey } = made.body.data;
  const domain = await call(served.url, apiKey.key, {
    method: "POST",
    path: "/api/v1/domains",
    body: { domain: DOMAIN },
  });
  const { id: domainId, dns } = domain.body.data;
  for (const { type, name, value } of [...dns.dkim, dns.spf])
    world.dns.zone[name] = type === "CNAME" ? { CNAME: value } : { TXT: [value] };
  const path = `/api/v1/domains/${domainId}/verification-checks`;
  const checked = await call(served.url, apiKey.key, { method: "POST", path });
  // The domain of the one before is free again, though that may still be in removal.
  expect(checked.body.data.verifiedAt).not.toBeNull();
  return { id, key: apiKey.key };
}

const doomedEmail = (index: number, subject: string) => ({
  ...emailTo(`u${index}@${DESTINATIONS[index % DESTINATIONS.length]}`, subject),
  from: `a@${DOMAIN}`,
});

/** Sends until its key is refused or nobody answers. */
async function keepSending(served: Served, { key }: Doomed, subject: string): Promise<void> {
  for (let index = 0; ; index++) {
    const request = { method: "POST", path: "/api/v1/emails", body: doomedEmail(index, subject) };
    const reply = await call(served.url, key, request).catch(() => null);
    if (reply === null || reply.status === 401) return;
    expect(reply.status).toBe(202);
  }
}

function query<Row>(world: World, sql: string): Row[] {
  using database = new Database(join(world.dataDir, "pombo.db"), { readonly: true });
  return database.query<Row, []>(sql).all();
}

/** Tables with rows of others than the first workspace, and what hangs on no email or domain any more. */
function leftovers(world: World): string[] {
  const owned = query<{ name: string }>(
    world,
    "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'workspace_id' WHERE m.type = 'table'",
  );
  const counts = [
    ...owned.map(({ name }) => [name, `SELECT COUNT(*) AS n FROM ${name} WHERE workspace_id <> 1`]),
    ["body", "SELECT COUNT(*) AS n FROM email_body WHERE email_id NOT IN (SELECT id FROM email)"],
    ["attempt", "SELECT COUNT(*) AS n FROM attempt WHERE email_id NOT IN (SELECT id FROM email)"],
    ["dkim", "SELECT COUNT(*) AS n FROM dkim_key WHERE domain_id NOT IN (SELECT id FROM domain)"],
  ] as const;
  return counts.filter(([, sql]) => query<{ n: number }>(world, sql)[0]?.n !== 0).map(([name]) => name);
}

test("a removal that is killed goes on at the next start, and leaves nothing but the neighbour's", async () => {
  await using mx = await startCountingMx(() => new Promise((resolve) => setTimeout(() => resolve("250 2.0.0 Ok"), 20)));
  await using world = await createWorld({ mxPort: mx.port });
  let neighbours = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const subject = `Doomed ${round}.`;
    const killAfterMs = Math.floor((LATEST_MS * round) / Math.max(1, ROUNDS - 1));
    {
      await using first = await world.serve();
      const doomed = await makeDoomed(first, world);
      for (let batch = 0; batch < BATCHES; batch++) {
        const emails = Array.from({ length: BATCH }, (_, index) => doomedEmail(index, subject));
        const sent = await call(first.url, doomed.key, {
          method: "POST",
          path: "/api/v1/emails/batch",
          body: { emails },
        });
        expect(sent.status).toBe(202);
      }
      const sending = Promise.all(Array.from({ length: CUSTOMERS }, () => keepSending(first, doomed, subject)));
      await within(
        LIMIT_MS,
        "arrivals",
        mx.until(() => mx.arrivals.some((each) => each.subject === subject)),
      );
      const path = `/api/v1/operator/workspaces/${doomed.id}`;
      expect((await call(first.url, world.operatorKey, { method: "DELETE", path })).status).toBe(200);
      const neighbour = emailTo(`n${round}@${DESTINATIONS[0]}`, "Neighbour");
      expect(
        (await call(first.url, world.key, { method: "POST", path: "/api/v1/emails", body: neighbour })).status,
      ).toBe(202);
      neighbours += 1;
      await new Promise((resolve) => setTimeout(resolve, killAfterMs));
      first.signal("SIGKILL");
      await first.ended;
      await within(LIMIT_MS, "the senders' end", sending);
      expect(bugsOf(first)).toEqual([]);
    }
    const left = query<{ n: number }>(world, "SELECT COUNT(*) AS n FROM email WHERE workspace_id <> 1")[0]?.n;
    const ofDoomed = () => mx.arrivals.filter((each) => each.subject === subject).length;
    const arrivedBefore = ofDoomed();
    await using second = await world.serve();
    await waitUntil("its removal", LIMIT_MS, () => query(world, "SELECT id FROM workspace").length === 1);
    await waitUntil("the neighbour's mail", LIMIT_MS, () => query(world, "SELECT id FROM email_queue").length === 0);
    expect([round, leftovers(world)]).toEqual([round, []]);
    expect(ofDoomed()).toBe(arrivedBefore);
    second.signal("SIGTERM");
    expect(await second.ended).toEqual({ code: 0, signal: null });
    expect(bugsOf(second)).toEqual([]);
    console.log(`delete: killed ${killAfterMs} ms after the answer, ${left} emails were left`);
  }
  const stored = query<{ status: string }>(world, "SELECT status FROM email");
  expect(stored).toEqual(Array.from({ length: neighbours }, () => ({ status: "delivered" })));
});
