// A disk whose sync fails when an email is to be durable. The log may hold it all the same: after a kill it is there
// and is sent. So the answer does not promise that nothing was accepted, and the same Idempotency-Key settles it.
import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildFailingSync } from "../../support/peers/failing-sync.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { runPombo, within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { bugsOf, call, createWorld, emailTo, hasLogged, type Reply } from "./world.ts";

setDefaultTimeout(60_000);

const LIMIT_MS = 20_000;
const EMAILS = 15;

const probe = mkdtempSync(join(tmpdir(), "pombo-cc-"));
const canBuild = buildFailingSync(probe) !== null;
rmSync(probe, { recursive: true });
if (!canBuild) console.warn("SKIPPED: the failing sync needs a C compiler (cc, gcc or clang), which is not here.");

test.skipIf(!canBuild)(
  "after a failed sync no answer says that nothing was accepted; a kill, a start and the same key settle it, each email goes out once",
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
    const postAll = (url: string) =>
      Promise.all(Array.from({ length: EMAILS }, async (_, number): Promise<Reply> => await post(url, number)));
    const total = async (url: string): Promise<number> =>
      (await call(url, world.key, { path: "/api/v1/emails" })).body.meta.total;
    {
      await using first = await world.serve({ env: disk.env });
      disk.begin();
      const unknown = await postAll(first.url);
      // Before the guard's own write takes its place in the log.
      first.signal("SIGKILL");
      await first.ended;
      expect(new Set(unknown.map(({ status }) => status))).toEqual(new Set([503]));
      const words = unknown.map(({ body }) => body.errors[0]);
      expect(words[0]).toMatchObject({
        code: "UNAVAILABLE",
        message: "The disk failed while this was stored; it may or may not have been accepted",
        hint: expect.stringContaining("same Idempotency-Key"),
      });
      expect(words.filter(({ message }) => message.includes("nothing was accepted"))).toEqual([]);
    }
    // The disk does not sync yet: what the log shows may not be on it, and nothing is built on that.
    const refused = await runPombo(["serve", "--config", world.configFile], { env: disk.env });
    expect(refused.code).toBe(1);
    expect(refused.stdout).not.toContain("pombo.started");

    disk.end();
    {
      await using second = await world.serve({ env: disk.env });
      const found = await total(second.url);
      expect(found).toBeGreaterThan(0);
      const settled = await postAll(second.url);
      expect(settled.map(({ status }) => status)).toEqual(settled.map(() => 202));
      expect(settled.filter(({ headers }) => headers.has("idempotent-replayed"))).toHaveLength(found);
      expect(await total(second.url)).toBe(EMAILS);
      console.log(`failed sync: ${found} of ${EMAILS} were there after the kill`);

      // One that goes on after the failure has not accepted it, and takes it under the same key.
      disk.begin();
      expect((await post(second.url, EMAILS)).status).toBe(503);
      await waitUntil("it is told", LIMIT_MS, () => hasLogged(second, "disk.failed"));
      disk.end();
      await waitUntil(
        "it is ready",
        LIMIT_MS,
        async () => (await call(second.url, world.key, { path: "/ready" })).status === 200,
      );
      expect(await total(second.url)).toBe(EMAILS);
      const again = await post(second.url, EMAILS);
      expect(again.status).toBe(202);
      expect(again.headers.has("idempotent-replayed")).toBe(false);
      await within(
        LIMIT_MS,
        "the mail",
        mx.until(() => mx.distinct === EMAILS + 1),
      );
      expect(mx.arrivals).toHaveLength(mx.distinct);
      expect(bugsOf(second)).toEqual([]);
    }
  },
);
