// The operator drops a queue, and the instance is killed in the middle of it: each email is dropped or waits as
// before, and the same command does the rest. And what pombo status ends with meanwhile.
import { Database } from "bun:sqlite";
import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { waitUntil } from "../../support/peers/process.ts";
import { runPombo, spawnPombo } from "./child.ts";
import { bugsOf, call, createWorld, DESTINATIONS, emailTo, type Served, type World } from "./world.ts";

setDefaultTimeout(180_000);

const BATCHES = 6;
const BATCH = 1_000;
const TOTAL = BATCHES * BATCH;
const LIMIT_MS = 60_000;

function query<Row>(world: World, sql: string): Row[] {
  using database = new Database(join(world.dataDir, "pombo.db"), { readonly: true });
  return database.query<Row, []>(sql).all();
}

const countForWorkspace = (world: World, sql: string) =>
  query<{ n: number }>(world, `SELECT COUNT(*) AS n ${sql}`)[0]?.n ?? -1;
const droppedOf = (world: World) => countForWorkspace(world, "FROM email WHERE status = 'failed'");
const waitingOf = (world: World) => countForWorkspace(world, "FROM email_queue");

async function fill(world: World, served: Served): Promise<void> {
  for (let batch = 0; batch < BATCHES; batch += 1) {
    const emails = Array.from({ length: BATCH }, (_, index) =>
      emailTo(`u${index}@${DESTINATIONS[index % DESTINATIONS.length]}`, "Dropped"),
    );
    const request = { method: "POST", path: "/api/v1/emails/batch", body: { emails } };
    expect((await call(served.url, world.key, request)).status).toBe(202);
  }
}

async function statusCode(world: World): Promise<number | null> {
  return (await runPombo(["status", "--config", world.configFile])).code;
}

const DROP = ["queue", "drop", "--queued-before", "now", "--yes", "--reason", "dropped after a restore", "--json"];

test("a drop that is killed leaves every email dropped or waiting, and is finished by the same command", async () => {
  // Nobody listens there: everything waits.
  await using world = await createWorld({ mxPort: 1, settings: { email: { retry_schedule: ["1h"] } } });
  expect(await statusCode(world)).toBe(3);
  {
    await using first = await world.serve();
    expect(await statusCode(world)).toBe(0);
    await fill(world, first);
    expect(waitingOf(world)).toBe(TOTAL);
    await using dropping = spawnPombo([...DROP, "--config", world.configFile]);
    await waitUntil("some to be dropped", LIMIT_MS, () => droppedOf(world) > 0);
    first.signal("SIGKILL");
    await first.ended;
    // Told of what it asked and was not answered, or, between two of its calls, on its own over the data.
    expect([0, 1]).toContain((await dropping.ended).code ?? -1);
    expect(bugsOf(first)).toEqual([]);
  }
  expect(await statusCode(world)).toBe(3);
  const dropped = droppedOf(world);
  expect(dropped).toBeGreaterThan(0);
  expect(dropped + waitingOf(world)).toBe(TOTAL);
  expect(countForWorkspace(world, "FROM email_queue q JOIN email e ON e.id = q.id WHERE e.status <> 'queued'")).toBe(0);
  await using second = await world.serve();
  const left = waitingOf(world);
  let more = 0;
  // What is being tried just then is left alone, and told.
  await waitUntil("all to be dropped", LIMIT_MS, async () => {
    const { code, stdout, stderr } = await runPombo([...DROP, "--config", world.configFile]);
    expect([code, stderr]).toEqual([0, ""]);
    more += (JSON.parse(stdout) as { changed: { email: number } }).changed.email;
    return waitingOf(world) === 0;
  });
  expect([more, droppedOf(world)]).toEqual([left, TOTAL]);
  const reasons = query<{ reason: string }>(world, "SELECT DISTINCT failed_reason AS reason FROM email");
  expect(reasons).toEqual([{ reason: "Dropped by the operator: dropped after a restore" }]);
  second.signal("SIGTERM");
  expect(await second.ended).toEqual({ code: 0, signal: null });
  expect(bugsOf(second)).toEqual([]);
});
