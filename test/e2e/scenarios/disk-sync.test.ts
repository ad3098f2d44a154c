// A disk whose sync fails when an email is to be durable. The log may hold it all the same, and nobody can say: pombo
// answers nothing and ends, as after a power cut. The next start writes the log again, and the same Idempotency-Key
// settles what became of each email.
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildFailingSync } from "../../support/peers/failing-sync.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { type Child, runPombo, spawnPombo, within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { bugsOf, call, createWorld, emailTo, hasLogged, type Reply } from "./world.ts";

setDefaultTimeout(60_000);

const LIMIT_MS = 20_000;
const EMAILS = 15;

const expectEnd = async (child: Child) => {
  expect(await within(LIMIT_MS, "the end", child.ended)).toEqual({ code: 1, signal: null });
  expect(child.stderr()).toContain("The disk did not sync the database's log (EIO");
  expect(child.stderr()).toContain("The next start writes the log again");
  expect(child.stderr()).not.toContain("    at ");
  expect(hasLogged(child, "disk.failed")).toBe(true);
  expect(bugsOf(child)).toEqual([]);
};

const probe = mkdtempSync(join(tmpdir(), "pombo-cc-"));
const canBuild = buildFailingSync(probe) !== null;
rmSync(probe, { recursive: true });
if (!canBuild) console.warn("SKIPPED: the failing sync needs a C compiler (cc, gcc or clang), which is not here.");

test.skipIf(!canBuild)(
  "after a failed sync nothing is answered and pombo ends with words; the next start and the same key settle it, each email goes out once",
  async () => {
    await using mx = await startCountingMx();
    await using world = await createWorld({ mxPort: mx.port });
    const disk = buildFailingSync(world.folder);
    if (disk === null) throw new Error("the compiler is gone");
    const post = (url: string, number: number) => {
      const subject = `email-${number}`;
      const path = "/api/v1/emails";
      const body = emailTo(`a${number}@one.test`, subject);
      return call(url, world.key, { method: "POST", path, body, idempotencyKey: subject });
    };
    const postAll = (url: string) => Array.from({ length: EMAILS }, (_, number): Promise<Reply> => post(url, number));
    const total = async (url: string): Promise<number> =>
      (await call(url, world.key, { path: "/api/v1/emails" })).body.meta.total;
    {
      await using first = await world.serve({ env: disk.env });
      disk.begin();
      const answers = await Promise.allSettled(postAll(first.url));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set(["rejected"]));
      await expectEnd(first);
    }
    // The disk does not sync yet: what the log shows may not be on it, and nothing is built on that.
    const refused = await runPombo(["serve", "--config", world.configFile], { env: disk.env });
    expect(refused.code).toBe(1);
    expect(refused.stdout).not.toContain("pombo.started");

    disk.end();
    const mailed = (count: number) =>
      within(
        LIMIT_MS,
        "the mail",
        mx.until(() => mx.distinct === count),
      );
    {
      await using second = await world.serve({ env: disk.env });
      // None, if a write of pombo's own met the failing disk before the first of them.
      const found = await total(second.url);
      const settled = await Promise.all(postAll(second.url));
      expect(settled.map(({ status }) => status)).toEqual(settled.map(() => 202));
      expect(settled.filter(({ headers }) => headers.has("idempotent-replayed"))).toHaveLength(found);
      expect(await total(second.url)).toBe(EMAILS);
      console.log(`failed sync: ${found} of ${EMAILS} were there after the end`);
      await mailed(EMAILS);
      const isRecorded = async () =>
        (await call(second.url, world.key, { path: "/api/v1/emails?status=delivered" })).body.meta.total === EMAILS;
      await waitUntil("every delivery is recorded", LIMIT_MS, isRecorded);

      disk.begin();
      const [unanswered] = await Promise.allSettled([post(second.url, EMAILS)]);
      expect(unanswered.status).toBe("rejected");
      await expectEnd(second);
    }
    disk.end();
    {
      await using third = await world.serve({ env: disk.env });
      const settled = await post(third.url, EMAILS);
      expect(settled.status).toBe(202);
      await mailed(EMAILS + 1);
      expect(await total(third.url)).toBe(EMAILS + 1);
      expect(mx.arrivals).toHaveLength(mx.distinct);
      expect(bugsOf(third)).toEqual([]);
    }
  },
);

test.skipIf(!canBuild)("a start or a stop whose sync fails ends as well, whatever it waits for", async () => {
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  const disk = buildFailingSync(world.folder);
  if (disk === null) throw new Error("the compiler is gone");
  const start = () => spawnPombo(["serve", "--config", world.configFile], { env: disk.env });
  // SQLite itself syncs while the database is opened: a failure there is another sentence.
  for (const after of [3, 4, 6]) {
    disk.begin(after);
    await using starting = start();
    // A start that needs fewer syncs is up, and its next sync fails.
    await Promise.race([starting.ended, Bun.sleep(1_500)]);
    if (starting.isAlive) starting.signal("SIGTERM");
    await expectEnd(starting);
  }
  disk.end();
  await using served = await world.serve({ env: disk.env });
  disk.begin();
  served.signal("SIGTERM");
  const { code } = await within(LIMIT_MS, "the end", served.ended);
  // A stop that has nothing more to write ends well.
  expect([0, 1]).toContain(code ?? -1);
});
