// Replication to S3: moto stands in for the service. Its keys come by the environment and stand in no file; while
// the service does not answer no mail waits; an ordered stop leaves nothing that is not there.
import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { deletePrefix } from "../../../src/backup/litestream/delete-prefix.ts";
import { openTools } from "../../../src/backup/litestream/tools.ts";
import { defaultConfig } from "../../../src/config/config.ts";
import { bringMoto, startMoto } from "../../support/peers/moto.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { runPombo, within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { startLoad } from "./load.ts";
import { expectAllInReplica, findDaemon, stopInOrder } from "./replicated.ts";
import { readEmails } from "./stored.ts";
import { createWorld, HOSTNAME, type World } from "./world.ts";

const LIMIT_MS = 30_000;
const ROUNDS = Number(process.env["ROUNDS"] ?? 5);
const [ID, SECRET] = ["AKIDPOMBO", "s3cr3t-of-the-test"];
const CREDENTIALS = { accessKeyId: ID, secretAccessKey: SECRET };
const THROUGH = ["env", `POMBO_REPLICATION_ACCESS_KEY_ID=${ID}`, `POMBO_REPLICATION_SECRET_ACCESS_KEY=${SECRET}`];

setDefaultTimeout(300_000);

const moto = bringMoto();
if (moto === null) console.warn("SKIPPED: replication to S3 needs python3 with venv and pip, which bring moto.");
const hasDaemon = await findDaemon();

test.skipIf(moto === null || !hasDaemon)(
  "a bucket has all of it after an ordered stop, and holds up no mail while it does not answer",
  async () => {
    await using service = await startMoto(moto ?? "");
    await using mx = await startCountingMx();
    await using world = await createWorld({ mxPort: mx.port });
    const replication = { url: "s3://copies/pombo", endpoint: service.url, region: "eu-1" };
    const how = { config: world.writeConfig("s3.toml", { replication }), through: THROUGH };
    await using process = await world.serve(how);
    const load = startLoad({
      key: world.key,
      customers: 4,
      url: () => Promise.resolve(process.url),
      delivered: { count: () => mx.distinct, until: (isTrue) => mx.until(isTrue) },
    });
    const answers = (more: number) => {
      const wanted = load.accepted.size + more;
      return within(
        LIMIT_MS,
        `${more} answers`,
        load.until(() => load.accepted.size > wanted),
      );
    };
    await answers(100);
    const metrics = /"metrics":"([^"]+)"/.exec(process.stdout())?.[1] ?? "";
    await waitUntil("the daemon answers", LIMIT_MS, async () =>
      /^pombo_replication_up 1$/m.test(await (await fetch(metrics)).text()),
    );
    service.signal("SIGSTOP");
    const arrived = mx.distinct;
    await answers(100);
    await within(
      LIMIT_MS,
      "mail meanwhile",
      mx.until(() => mx.distinct > arrived + 50),
    );
    service.signal("SIGCONT");
    await load.stop();
    await stopInOrder(process);
    expect(process.stdout()).toContain('"isComplete":true');
    const told = readFileSync(join(world.dataDir, "litestream/litestream.yml"), "utf8") + process.stdout();
    for (const secret of [ID, SECRET]) expect(told).not.toContain(secret);
    expectAllInReplica(world, load, { AWS_ACCESS_KEY_ID: ID, AWS_SECRET_ACCESS_KEY: SECRET });
    {
      // It knows its own again.
      await using again = await world.serve(how);
      await stopInOrder(again);
    }
    await restoreElsewhere(world, service.url);
    await deleteFirstLineage(world, service.url);
  },
);

test.skipIf(moto === null || !hasDaemon || ROUNDS <= 5)(
  "an emptied bucket is told within a good minute, and a new snapshot is taken by itself (the long run)",
  async () => {
    await using service = await startMoto(moto ?? "");
    await using mx = await startCountingMx();
    await using world = await createWorld({ mxPort: mx.port });
    const replication = { url: "s3://copies/pombo", endpoint: service.url, region: "eu-1" };
    const how = { config: world.writeConfig("s3.toml", { replication }), through: THROUGH };
    await using process = await world.serve(how);
    const load = startLoad({
      key: world.key,
      customers: 1,
      url: () => Promise.resolve(process.url),
      delivered: { count: () => mx.distinct, until: (isTrue) => mx.until(isTrue) },
    });
    const ready = async () => JSON.stringify(await (await fetch(`${process.url}/ready`)).json());
    await waitUntil("a snapshot", LIMIT_MS, async () =>
      (await keysIn(service.url)).some((key) => /^pombo\/[0-9a-f-]{36}\/0009\//.test(key)),
    );
    const bucket = new Bun.S3Client({ ...CREDENTIALS, endpoint: service.url, bucket: "copies" });
    for (const key of await keysIn(service.url)) await bucket.delete(key);
    expect((await keysIn(service.url)).filter((key) => /^pombo\/[0-9a-f-]{36}\/0009\//.test(key))).toEqual([]);
    await waitUntil("it is told", 4 * LIMIT_MS, async () => (await ready()).includes("Nothing can be restored"));
    await waitUntil("it is mended", 3 * LIMIT_MS, async () => !(await ready()).includes("Nothing can be restored"));
    await load.stop();
    await stopInOrder(process);
    expectAllInReplica(world, load, { AWS_ACCESS_KEY_ID: ID, AWS_SECRET_ACCESS_KEY: SECRET });
  },
);

/** As pombo does when it is past the retention. */
async function deleteFirstLineage(world: World, endpoint: string): Promise<void> {
  const defaults = defaultConfig({ hostname: HOSTNAME, dataDir: world.dataDir });
  const replication = { ...defaults.replication, url: "s3://copies/pombo", endpoint, region: "eu-1" };
  const dataDir = join(world.folder, "deleting");
  mkdirSync(dataDir);
  const keys = { accessKeyId: ID, secretAccessKey: SECRET };
  const tools = await openTools({ ...replication, ...keys }, { dataDir, database: join(dataDir, "pombo.db") });
  const before = await keysIn(endpoint);
  const [lineage = ""] = before.flatMap((key) => /^pombo\/([0-9a-f-]{36})\//.exec(key)?.[1] ?? []).toSorted();
  expect(await deletePrefix(tools, lineage, LIMIT_MS)).toBe(true);
  const left = before.filter((key) => !key.startsWith(`pombo/${lineage}/`));
  expect([await keysIn(endpoint), left.length]).toEqual([left, expect.any(Number)]);
  expect(left.length).toBeLessThan(before.length);
  expect(left.some((key) => key.startsWith("pombo/catalog/"))).toBe(true);
}

/** All keys of the bucket. */
async function keysIn(url: string): Promise<string[]> {
  const listed = await (await fetch(`${url}/copies?list-type=2`)).text();
  return [...listed.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key = ""]) => key);
}

/** Another machine has the URL, the service's address and keys, and the recovery key. */
async function restoreElsewhere(world: World, endpoint: string): Promise<void> {
  const folder = join(world.folder, "elsewhere");
  const place = ["--config", join(folder, "pombo.toml"), "--data-dir", join(folder, "data"), "--hostname", HOSTNAME];
  const from = ["--from", "s3://copies/pombo", "--endpoint", endpoint];
  const words = ["restore", ...from, "--key-file", join(world.dataDir, "instance.key"), ...place];
  // Without the service's keys it is refused, and nothing is left.
  const refused = await runPombo(words, { env: { AWS_EC2_METADATA_DISABLED: "true" } });
  expect([refused.code, existsSync(join(folder, "pombo.toml"))]).toEqual([1, false]);
  const restored = await runPombo(words, { through: THROUGH });
  expect({ code: restored.code, err: restored.stderr }).toEqual({ code: 0, err: expect.stringMatching(/^Restoring/) });
  // What waits may have been sent since, for all that the copy knows.
  const lost = [...readEmails(world.dataDir)].map(([uid, email]) => [
    uid,
    { ...email, possibleDuplicate: email.possibleDuplicate || email.queue !== null },
  ]);
  expect([...readEmails(join(folder, "data"))]).toEqual(lost as never);
  const config = readFileSync(join(folder, "pombo.toml"), "utf8");
  expect(config).toContain(`\nurl = "s3://copies/pombo"\n`);
  for (const secret of [ID, SECRET]) expect(config).not.toContain(secret);
}
