// Clients find the machine that works through HAProxy, as docs/two-machines.md configures it. S3 is moto, or MinIO.
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RELAY_CERTIFICATE } from "../../support/fakes/certificates.ts";
import { ensureTools, pathOf } from "../../support/peers/packages.ts";
import { freePort, startProcess, waitForListener, waitUntil } from "../../support/peers/process.ts";
import { within } from "./child.ts";
import { findDaemon } from "./replicated.ts";
import { createNodes, endDaemon, isShort, type Node, startS3 } from "./standby-nodes.ts";
import { emailTo } from "./world.ts";

const LIMIT_MS = 60_000;
setDefaultTimeout(3 * LIMIT_MS);
const DOCS = join(import.meta.dir, "../../../docs/two-machines.md");
/** Of one request; a client tries again. */
const REQUEST_MS = 10_000;

const isMissing = isShort || startS3 === null || !(await findDaemon());
const trouble = isMissing ? null : await ensureTools([{ program: "haproxy", package: "haproxy" }]);
if (trouble !== null) console.warn(`SKIPPED: ${trouble}`);

/** The configuration of the docs with this world's addresses. */
function writeConfig(folder: string, port: number, nodes: readonly Node[]): string {
  const block = /^ {2}```\n(( {2}frontend https[\s\S]*?))^ {2}```/m.exec(readFileSync(DOCS, "utf8"))?.[1] ?? "";
  const pem = join(folder, "mail.pem");
  writeFileSync(pem, RELAY_CERTIFICATE.cert + RELAY_CERTIFICATE.key);
  const servers = nodes.map(({ url }) => new URL(url).host);
  const own = block
    .replace(":443 ssl crt /etc/haproxy/mail.pem", `127.0.0.1:${port} ssl crt ${pem}`)
    .replace("10.0.0.1:8080", servers[0] ?? "")
    .replace("10.0.0.2:8080", servers[1] ?? "");
  expect(own).not.toContain("10.0.0.");
  const file = join(folder, "haproxy.cfg");
  writeFileSync(file, `defaults\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n${own}`);
  return file;
}

test.skipIf(isMissing || trouble !== null)(
  "clients of HAProxy find the machine that works, and after its loss the other",
  async () => {
    await using of = await createNodes();
    const [a, b] = of.nodes as [Node, Node];
    const port = await freePort();
    const config = writeConfig(of.world.folder, port, of.nodes);
    const haproxy = startProcess({
      command: [pathOf("haproxy"), "-db", "-f", config],
      logFile: join(of.world.folder, "haproxy"),
    });
    try {
      await waitForListener(port);
      const post = async (subject: string): Promise<number | null> => {
        const answer = await fetch(`https://127.0.0.1:${port}/api/v1/emails`, {
          method: "POST",
          headers: { "x-api-key": of.world.key, "content-type": "application/json", "idempotency-key": subject },
          body: JSON.stringify(emailTo("a@one.test", subject)),
          tls: { rejectUnauthorized: false },
          signal: AbortSignal.timeout(REQUEST_MS),
        }).catch(() => null);
        return answer?.status ?? null;
      };
      const accept = (subject: string) =>
        waitUntil(`${subject} is accepted`, LIMIT_MS, async () => (await post(subject)) === 202);
      of.start(a);
      await accept("by the first");
      of.start(b);
      await waitUntil("the other stands by", LIMIT_MS, async () => (await of.ask(b.url))?.status === 503);
      // HAProxy looks each second, twice.
      await Bun.sleep(3_000);
      expect(await post("still by the first")).toBe(202);
      a.child?.signal("SIGKILL");
      await a.child?.ended;
      endDaemon(a.dataDir);
      const lostAt = performance.now();
      await accept("by the second");
      console.log(`HAProxy: accepted again after ${((performance.now() - lostAt) / 1_000).toFixed(1)} s`);
      const subjects = ["by the first", "still by the first", "by the second"];
      const isThere = (subject: string) => of.mx.arrivals.some((each) => each.subject === subject);
      await within(
        LIMIT_MS,
        "all mail",
        of.mx.until(() => subjects.every(isThere)),
      );
    } finally {
      await haproxy.stop();
    }
  },
);
