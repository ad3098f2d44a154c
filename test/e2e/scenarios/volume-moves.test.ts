// The data directory is on a volume: its machine dies in the middle of the load, and another one starts with it, under
// another path and another name. Nothing is lost, nothing waits for a person, and what came twice is marked.
import { expect, setDefaultTimeout, test } from "bun:test";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { startLoad } from "./load.ts";
import { bugsOf, call, createWorld, type Served } from "./world.ts";

const MOVES = 2;
const LIMIT_MS = 60_000;
setDefaultTimeout((MOVES + 2) * LIMIT_MS);

test("a volume that moves to another machine goes on there by itself", async () => {
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  world.dns.zone["b.pombo.test"] = { A: ["127.0.0.1"] };
  let serving = Promise.withResolvers<Served>();
  const load = startLoad({
    key: world.key,
    customers: 6,
    url: async () => (await serving.promise).url,
    delivered: { count: () => mx.distinct, until: (isTrue) => mx.until(isTrue) },
  });
  let place = world.dataDir;
  for (let move = 1; move <= MOVES; move += 1) {
    const config = world.writeConfig(`${move}.toml`, { "": { data_dir: place } });
    await using machine = await world.serve({ config });
    serving.resolve(machine);
    const enough = load.accepted.size + 150;
    await within(
      LIMIT_MS,
      "enough emails",
      load.until(() => load.accepted.size > enough),
    );
    serving = Promise.withResolvers<Served>();
    machine.signal("SIGKILL");
    await machine.ended;
    expect(bugsOf(machine)).toEqual([]);
    const next = join(world.folder, `mounted-${move}`);
    renameSync(place, next);
    place = next;
  }
  const config = world.writeConfig("last.toml", { "": { data_dir: place, hostname: "b.pombo.test" } });
  await using last = await world.serve({ config });
  expect((await fetch(`${last.url}/ready`)).status).toBe(200);
  serving.resolve(last);
  await load.stop();
  const missing = () => {
    const arrived = new Set(mx.arrivals.map(({ subject }) => subject));
    return [...load.accepted.keys()].filter((subject) => !arrived.has(subject));
  };
  await within(
    LIMIT_MS,
    "all mail",
    mx.until(() => missing().length === 0),
  );
  const counts = new Map<string, number>();
  for (const { subject } of mx.arrivals) counts.set(subject, (counts.get(subject) ?? 0) + 1);
  const twice = [...counts].filter(([subject, count]) => count > 1 && load.accepted.has(subject));
  for (const [subject] of twice) {
    const path = `/api/v1/emails/${load.accepted.get(subject)}`;
    const { body } = await call(last.url, world.key, { path });
    expect([subject, body.data.possibleDuplicate]).toEqual([subject, true]);
  }
  expect(bugsOf(last)).toEqual([]);
});
