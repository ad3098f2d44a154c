// A machine that works without the lease because a person says so: while the bucket is away, and what follows when it is
// back. What it accepted meanwhile is never set aside without a person. S3 is moto.
import { expect, setDefaultTimeout, test } from "bun:test";
import { readNodeState } from "../../../src/backup/standby/node-file.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { runPombo, within } from "./child.ts";
import { findDaemon } from "./replicated.ts";
import { createNodes, endDaemon, isShort, type Node, S3_CREDENTIALS, startS3 } from "./standby-nodes.ts";
import { call, emailTo, hasLogged } from "./world.ts";

const LIMIT_MS = 60_000;
setDefaultTimeout(4 * LIMIT_MS);

const isMissing = startS3 === null || !(await findDaemon());
const command = (node: Node, ...args: string[]) =>
  runPombo(["standby", "alone", ...args, "--config", node.config], { env: S3_CREDENTIALS });

/** Ends a machine as a lost one ends. */
async function kill(node: Node): Promise<void> {
  node.child?.signal("SIGKILL");
  await node.child?.ended;
  endDaemon(node.dataDir);
}

async function scene() {
  const of = await createNodes();
  const [a, b] = of.nodes as [Node, Node];
  const post = async (node: Node, subject: string) => {
    const body = emailTo("a@one.test", subject);
    return (await call(node.url, of.world.key, { method: "POST", path: "/api/v1/emails", body })).status;
  };
  const arrived = (subject: string) =>
    within(
      LIMIT_MS,
      subject,
      of.mx.until(() => of.mx.arrivals.some((each) => each.subject === subject)),
    );
  const subjects = async (node: Node): Promise<string[]> => {
    const { body } = await call(node.url, of.world.key, { path: "/api/v1/emails" });
    return body.data.map((email: { subject: string }) => email.subject).toSorted();
  };
  const start = async (node: Node) => {
    of.start(node);
    await of.awaitWorking([node]);
  };
  return { of, a, b, post, arrived, subjects, start };
}

// Requests that a mute bucket never answers are waited for at every step: a minute and a half in all.
test.skipIf(isMissing || isShort)(
  "while the bucket is away one machine works alone, and all of it is there afterwards",
  async () => {
    const { of, a, b, post, arrived, subjects, start } = await scene();
    await using _all = of;
    await start(a);
    expect(await post(a, "before")).toBe(202);
    of.service.signal("SIGSTOP");
    expect((await within(LIMIT_MS, "its end", (a.child as NonNullable<Node["child"]>).ended)).code).toBe(1);
    endDaemon(a.dataDir);

    const shown = await command(a);
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringMatching(/changed last at 20.*\n.*cannot be read/)]);
    // Which database is the newest nobody can see without the bucket.
    expect((await command(a, "--yes")).code).toBe(0);
    of.start(a);
    expect(await within(LIMIT_MS, "its refusal", (a.child as NonNullable<Node["child"]>).ended)).toMatchObject({
      code: 1,
    });
    expect(a.child?.stderr()).toContain("--this-database-is-newest");

    expect((await command(a, "--yes", "--this-database-is-newest")).code).toBe(0);
    await start(a);
    expect((await of.ask(a.url))?.text).toContain("This machine works alone");
    expect(await post(a, "alone")).toBe(202);
    await arrived("alone");
    // It goes on so after a crash.
    await kill(a);
    await start(a);
    expect(await post(a, "alone again")).toBe(202);
    await arrived("alone again");

    of.service.signal("SIGCONT");
    expect((await command(a, "--end")).code).toBe(0);
    await kill(a);
    await start(a);
    expect(hasLogged(a.child as NonNullable<Node["child"]>, "standby.took_over")).toBe(true);
    expect(await subjects(a)).toEqual(["alone", "alone again", "before"]);
    // The lease comes to lead to all of it by itself, and the other has it when it takes over.
    await waitUntil("the end of going alone", LIMIT_MS, () => readNodeState(a.dataDir)?.alone === null);
    of.start(b);
    await waitUntil("the other stands by", LIMIT_MS, async () => (await of.ask(b.url))?.status === 503);
    await kill(a);
    await of.awaitWorking([b]);
    expect(await subjects(b)).toEqual(["alone", "alone again", "before"]);
  },
);

test.skipIf(isMissing)(
  "alone it begins with what the replica has, and after a split nothing is set aside",
  async () => {
    const { of, a, b, post, arrived, subjects, start } = await scene();
    await using _all = of;
    await start(a);
    expect(await post(a, "one")).toBe(202);
    await kill(a);
    // The other never worked: its database is the replica's.
    expect((await command(b, "--yes")).code).toBe(0);
    await start(b);
    expect(await subjects(b)).toEqual(["one"]);
    expect(await post(b, "alone")).toBe(202);
    // Nothing waits for a person.
    await arrived("alone");

    // The person was wrong: the first one comes back, and takes the lease.
    await start(a);
    expect(await post(a, "meanwhile")).toBe(202);
    await kill(b);
    expect((await command(b, "--end")).code).toBe(0);
    of.start(b);
    expect((await within(LIMIT_MS, "its refusal", (b.child as NonNullable<Node["child"]>).ended)).code).toBe(1);
    expect(b.child?.stderr()).toContain(
      "each of the two may have accepted and sent messages that the other does not know",
    );
    expect(await subjects(a)).toEqual(["meanwhile", "one"]);
  },
);
