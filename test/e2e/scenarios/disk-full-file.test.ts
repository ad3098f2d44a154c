// A disk that runs full in the middle of a file that comes with an email: the send answers 503 and nothing of it is there;
// with the space the same request is accepted, once, and the file arrives whole.
import { expect, setDefaultTimeout, test } from "bun:test";
import { createHash, randomBytes } from "node:crypto";
import { waitUntil } from "../../support/peers/process.ts";
import { within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { hasSmallDisks, mountSmallDisk } from "./small-disk.ts";
import { readFiles } from "./stored.ts";
import { bugsOf, call, createWorld, emailTo, hasLogged } from "./world.ts";

const MIB = 1024 * 1024;
const DISK_MIB = 48;
/** Room for the first pieces of the file, of 1 MiB each, and their way through the log. */
const LEFT_MIB = 7;
const FILE_BYTES = 10 * MIB;
const LIMIT_MS = 20_000;
const HOUR_MS = 3_600_000;

setDefaultTimeout(90_000);

if (!hasSmallDisks) {
  console.warn(
    "SKIPPED: the full disk needs a mount namespace (root, or unprivileged user namespaces), which this machine does not permit.",
  );
}

function hash(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

test.skipIf(!hasSmallDisks)(
  "a disk that runs full while a file is written: 503, nothing of the email, and all of it with the space",
  async () => {
    const came: string[] = [];
    await using mx = await startCountingMx(undefined, (_, content) => {
      const file = content.split("\r\n--").find((part) => part.includes("filename="));
      came.push(hash(Buffer.from(file?.slice(file.indexOf("\r\n\r\n")) ?? "", "base64")));
    });
    await using world = await createWorld({ mxPort: mx.port });
    await using disk = await mountSmallDisk(world.dataDir, DISK_MIB);
    await using served = await world.serve({ through: disk.enter });
    const content = randomBytes(FILE_BYTES);
    const attachments = [{ filename: "film.bin", content: content.toString("base64") }];
    const post = (subject: string, files: object = { attachments }) =>
      call(served.url, world.key, {
        method: "POST",
        path: "/api/v1/emails",
        body: { ...emailTo("a@one.test", subject), ...files },
        idempotencyKey: subject,
      });
    const countEmails = async () => (await call(served.url, world.key, { path: "/api/v1/emails" })).body.meta.total;

    disk.fill(LEFT_MIB * MIB);
    const refused = await post("with a film");
    expect([refused.status, refused.body.errors?.[0].code]).toEqual([503, "UNAVAILABLE"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    await served.until("the log says it", () => hasLogged(served, "disk.failed"));
    expect(await countEmails()).toBe(0);
    // Also while some of the file's pieces are there.
    disk.fill();
    expect((await post("with a film")).status).toBe(503);
    expect((await post("without", {})).status).toBe(503);
    expect((await call(served.url, world.key, { path: "/ready" })).status).toBe(503);

    disk.clear();
    await waitUntil(
      "it is ready",
      LIMIT_MS,
      async () => (await call(served.url, world.key, { path: "/ready" })).status === 200,
    );
    const accepted = await post("with a film");
    expect(accepted.status).toBe(202);
    expect((await post("with a film")).body).toEqual(accepted.body);
    await within(
      LIMIT_MS,
      "the email",
      mx.until(() => came.length === 1),
    );
    expect(came).toEqual([hash(content)]);
    expect(await countEmails()).toBe(1);
    expect(bugsOf(served)).toEqual([]);
    served.signal("SIGTERM");
    expect(await served.ended).toEqual({ code: 0, signal: null });
    // The first try had begun the file: after an hour it is swept.
    const files = readFiles(disk.directory, Date.now() + 2 * HOUR_MS);
    expect(files).toMatchObject({ kept: [hash(content)], pieces: files.piecesOfKept, countedBytes: files.storedBytes });
    expect(files.removed).toBeGreaterThan(0);
  },
);
