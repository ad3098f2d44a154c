// A power cut leaves what was synced, and nothing else of the database and its log. Everything that was answered with
// 202 is there after it, and is sent. A library in front of libc copies both files at each sync; after a kill -9 the
// copies take their place. Large emails make the log long enough to be checkpointed on the way.
import { expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildPowerCut } from "../../support/peers/failing-sync.ts";
import { within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { bugsOf, call, createWorld, DESTINATIONS, emailTo } from "./world.ts";

const ROUNDS = Math.ceil(Number(process.env["ROUNDS"] ?? 5) / 3);
const SENDERS = 16;
const CONTENT_BYTES = 90_000;
const LIMIT_MS = 120_000;
setDefaultTimeout((ROUNDS + 1) * LIMIT_MS);

const probe = mkdtempSync(join(tmpdir(), "pombo-cc-"));
const canBuild = buildPowerCut(probe, probe) !== null;
rmSync(probe, { recursive: true });
if (!canBuild) console.warn("SKIPPED: the power cut needs a C compiler (cc, gcc or clang), which is not here.");

test.skipIf(!canBuild)("after a power cut everything that was answered 202 is there, and goes out", async () => {
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  const disk = buildPowerCut(world.folder, world.dataDir);
  if (disk === null) throw new Error("the compiler is gone");
  const accepted = new Set<string>();
  let next = 0;
  const post = (url: string, subject: string) => {
    const to = `a@${DESTINATIONS[next % DESTINATIONS.length] ?? ""}`;
    const body = { ...emailTo(to, subject), html: randomBytes(CONTENT_BYTES).toString("base64") };
    return call(url, world.key, { method: "POST", path: "/api/v1/emails", body, idempotencyKey: subject });
  };
  /** Sends until the instance is gone. */
  const send = async (url: string): Promise<void> => {
    for (;;) {
      const subject = `email-${next++}`;
      const reply = await post(url, subject).catch(() => null);
      if (reply === null) return;
      expect(reply.status).toBe(202);
      accepted.add(subject);
    }
  };
  for (let round = 0; round < ROUNDS; round++) {
    disk.begin();
    await using served = await world.serve({ env: disk.env });
    const senders = Array.from({ length: SENDERS }, () => send(served.url));
    const before = accepted.size;
    await within(
      LIMIT_MS,
      "enough emails",
      (async () => {
        while (accepted.size < before + 200 + 37 * round) await Bun.sleep(5);
      })(),
    );
    served.signal("SIGKILL");
    await served.ended;
    await Promise.all(senders);
    disk.cut();
    expect(bugsOf(served)).toEqual([]);
  }
  await using served = await world.serve();
  const { body } = await call(served.url, world.key, { path: "/api/v1/emails" });
  expect(body.meta.total).toBeGreaterThanOrEqual(accepted.size);
  // Each arrival is looked at once.
  const missing = new Set(accepted);
  let seen = 0;
  const areAllThere = () => {
    for (const { subject } of mx.arrivals.slice(seen)) missing.delete(subject);
    seen = mx.arrivals.length;
    return missing.size === 0;
  };
  await within(LIMIT_MS, "the mail", mx.until(areAllThere)).catch((error: unknown) => {
    throw new Error(`${missing.size} never came: ${[...missing].slice(0, 5).join(", ")}`, { cause: error });
  });
  console.log(
    `power cuts: ${ROUNDS}, ${accepted.size} answered 202, ${mx.arrivals.length - mx.distinct} arrived again`,
  );
  expect(bugsOf(served)).toEqual([]);
});
