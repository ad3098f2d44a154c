import { expect, setDefaultTimeout, test } from "bun:test";
import type { Answer as Reply, Instance, InstanceOptions, Workspace } from "../../support/fakes/instance.ts";
import { startMx } from "../../support/fakes/mx.ts";
import { errorItems, expectErrors, startHeld, totalOf } from "../../support/api/kit.ts";
import { ask, NOON, timelineOf } from "../../support/api/one-email.ts";

// Through the whole of it: sends, a mail server that does not know some of the recipients, and what
// follows for the next sends. Of the figures alone test/unit/modules/plans/rates.test.ts has more.

setDefaultTimeout(60_000);

const EMAILS = "/api/v1/emails";
const BATCH = "/api/v1/emails/batch";
const DAY_MS = 24 * 60 * 60 * 1000;

/** Recipients whose name begins so get this answer; everybody else's mail is taken. */
const UNUSUAL: Record<string, string> = {
  gone: "550 5.1.1 No such user",
  full: "552 5.2.2 Mailbox full",
  unwanted: "550 5.7.1 Refused by the recipient",
  later: "451 4.3.0 Come back later",
};

const rcpt = (command: string) => {
  const name = /<([a-z]+)/.exec(command)?.[1] ?? "";
  return UNUSUAL[name] ?? "250 2.1.5 Ok";
};

async function startRated(options: Omit<InstanceOptions, "clock"> = {}) {
  const held = await startHeld(NOON, { ...options, mx: { rcpt, ...options.mx } });
  let number = 0;
  const { pombo } = held;
  const batchOf = (kind: string, count: number, from: string) => ({
    emails: Array.from({ length: count }, () => pombo.email({ from, to: `${kind}-${number++}@example.com` })),
  });
  return {
    ...held,
    /** Sends so many to such recipients and waits for their end. */
    async deliver(kind: string, count: number, workspace: Workspace = pombo.workspace, from = "a@loja.test") {
      const answer = await workspace.call("POST", BATCH, { body: batchOf(kind, count, from) });
      expect([kind, count, answer.status]).toEqual([kind, count, 202]);
      await pombo.app.worker.idle();
      return answer;
    },
    batchOf,
  };
}

/** The counters behind the rates, all days together. */
function ratesOf(pombo: Instance, workspace: Workspace = pombo.workspace): Record<string, number> {
  const rows = pombo.app.db.sqlite
    .query<{ name: string; count: number }, [string]>(
      `SELECT usage.name, SUM(count) AS count FROM usage JOIN workspace ON workspace.id = workspace_id
       WHERE uid = ? AND usage.name NOT IN ('emails', 'sms', 'stored_bytes') GROUP BY usage.name`,
    )
    .all(workspace.id);
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
}

/** Sends one email and one batch; both get the same status, and with 403 the same reason. */
async function trySending(pombo: Instance, workspace: Workspace = pombo.workspace, from = "a@loja.test") {
  const email = pombo.email({ from });
  const single = await workspace.call("POST", EMAILS, { body: email });
  const batch = await workspace.call("POST", BATCH, { body: { emails: [email, email] } });
  expect(batch.status).toBe(single.status);
  if (single.status === 202) return null;
  for (const answer of [single, batch]) expectErrors(answer, 403, [{ code: "SENDING_BLOCKED" }]);
  expect(batch.body).toEqual(single.body);
  return errorItems(single)[0]?.message ?? "";
}

const told = (pombo: Instance) =>
  pombo.events.filter(({ name }) => name.startsWith("workspace.sending")).map(({ name }) => name);

test("19 hard bounces of 100 are warned about, the 20th blocks: new email is refused with the figures", async () => {
  await using rated = await startRated();
  const { pombo, deliver } = rated;
  await deliver("maria", 81);
  expect(told(pombo)).toEqual([]);
  await deliver("gone", 19);
  expect([ratesOf(pombo), told(pombo)]).toEqual([{ answered: 100, hard_bounces: 19 }, ["workspace.sending_warning"]]);
  expect(await trySending(pombo)).toBeNull();
  await pombo.app.worker.idle();
  await deliver("gone", 1);
  const reason = "20 of 104 emails answered in the last 7 days bounced hard (19.2 %; the limit is 8 %)";
  expect(await trySending(pombo)).toBe(`Sending is blocked since 2026-11-21: ${reason}`);
  expect(pombo.events.find(({ name }) => name === "workspace.sending_blocked")?.fields).toEqual({
    workspace: pombo.workspace.id,
    reason,
  });
  const { body } = await pombo.operator.call("GET", `/api/v1/operator/workspaces/${pombo.workspace.id}`);
  expect(body.data.blocks).toEqual([{ by: "rate", reason, since: "2026-11-21T12:00:00.000Z", holdsQueue: false }]);
  // It holds over a restart, and the rest of the API goes on.
  await rated.restart();
  expect(await trySending(pombo)).toContain(reason);
  expect(await totalOf(pombo.workspace)).toBe(104);
  expect(pombo.bugs).toEqual([]);
});

test("20 of 251 pass, 20 of 250 are blocked", async () => {
  for (const [fine, isBlocked] of [
    [231, false],
    [230, true],
  ] as const) {
    await using rated = await startRated();
    const { pombo, deliver } = rated;
    await deliver("maria", fine);
    await deliver("gone", 20);
    expect(ratesOf(pombo)).toEqual({ answered: fine + 20, hard_bounces: 20 });
    // Many outcomes in one transaction may go past the warning.
    expect(told(pombo).includes("workspace.sending_blocked")).toBe(isBlocked);
    const refused = await trySending(pombo);
    if (isBlocked) expect(refused).toContain("20 of 250 emails answered in the last 7 days bounced hard (8.0 %");
    else expect(refused).toBeNull();
  }
});

test("bounces of seven days ago do not count, those of six days ago do", async () => {
  await using rated = await startRated();
  const { pombo, deliver, advance } = rated;
  await deliver("gone", 19);
  await advance(7 * DAY_MS);
  await deliver("gone", 19);
  expect(await trySending(pombo)).toBeNull();
  await pombo.app.worker.idle();
  await advance(6 * DAY_MS);
  await deliver("gone", 1);
  expect(await trySending(pombo)).toContain("20 of 23 emails");
});

test("one workspace's block is not another's, though all send to the same server", async () => {
  await using rated = await startRated();
  const { pombo, deliver } = rated;
  const others = [];
  for (const name of ["one", "two", "three"]) {
    const workspace = await pombo.newWorkspace();
    await pombo.addDomain(workspace, `${name}.test`);
    others.push({ workspace, from: `a@${name}.test` });
  }
  await Promise.all([
    deliver("gone", 30),
    ...others.map(({ workspace, from }) => deliver("gone", 19, workspace, from)),
    ...others.map(({ workspace, from }) => deliver("maria", 40, workspace, from)),
  ]);
  expect(await trySending(pombo)).toContain("emails answered in the last 7 days bounced hard");
  for (const { workspace, from } of others) {
    expect(ratesOf(pombo, workspace)).toEqual({ answered: 59, hard_bounces: 19 });
    expect(await trySending(pombo, workspace, from)).toBeNull();
  }
});

test("refusals in masses, which suppress nobody, count all the same", async () => {
  await using rated = await startRated();
  const { pombo, deliver } = rated;
  await deliver("gone", 60);
  const { sqlite } = pombo.app.db;
  const count = (table: string) => sqlite.query<{ n: number }, []>(`SELECT COUNT(*) AS n FROM ${table}`).get()?.n ?? 0;
  expect([count("suppression"), count("suppression_held")]).toEqual([0, 60]);
  expect(ratesOf(pombo)).toEqual({ answered: 60, hard_bounces: 60 });
  expect(await trySending(pombo)).toContain("bounced hard (100.0 %");
});

test("what is accepted goes on while new email is refused, and the lift begins a new window", async () => {
  await using rated = await startRated();
  const { pombo, deliver, batchOf, advance } = rated;
  pombo.mx.script.rcpt = (command) => (command.includes("waiting") ? "451 4.3.0 Come back later" : rcpt(command));
  await deliver("waiting", 5);
  await deliver("gone", 25);
  expect(await trySending(pombo)).not.toBeNull();
  pombo.mx.script.rcpt = rcpt;
  const before = pombo.mx.messages.length;
  await advance(2 * 60_000);
  await pombo.app.worker.idle();
  expect(pombo.mx.messages.length - before).toBe(5);
  expect(ratesOf(pombo)).toEqual({ answered: 30, hard_bounces: 25 });

  const unblock = await pombo.operator.call("POST", `/api/v1/operator/workspaces/${pombo.workspace.id}/unblock`);
  expect([unblock.status, unblock.body.data.blocks]).toEqual([200, []]);
  expect(ratesOf(pombo)).toEqual({});
  await deliver("gone", 19);
  expect([ratesOf(pombo), told(pombo).at(-1)]).toEqual([
    { answered: 19, hard_bounces: 19 },
    "workspace.sending_warning",
  ]);
  const last = await pombo.workspace.call("POST", BATCH, { body: batchOf("gone", 1, "a@loja.test") });
  expect(last.status).toBe(202);
  await pombo.app.worker.idle();
  expect(await trySending(pombo)).toContain("20 of 20 emails");
});

test("the operator's own block, lifted, leaves the window as it is", async () => {
  await using rated = await startRated();
  const { pombo, deliver } = rated;
  await deliver("gone", 15);
  const path = `/api/v1/operator/workspaces/${pombo.workspace.id}`;
  await pombo.operator.call("POST", `${path}/block`, { body: { reason: "a look" } });
  expect(await trySending(pombo)).toContain("a look");
  await pombo.operator.call("POST", `${path}/unblock`);
  await deliver("gone", 5);
  expect(await trySending(pombo)).toContain("20 of 20 emails");
});

test("a block that comes while 200 sends and more are under way: each is accepted whole and sent, or refused and nowhere", async () => {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  await using rated = await startRated({
    mx: {
      rcpt: async (command) => {
        if (!command.includes("gone")) return "250 2.1.5 Ok";
        await gate;
        return "550 5.1.1 No such user";
      },
    },
  });
  const { pombo, batchOf } = rated;
  const { workspace } = pombo;
  const bad = await workspace.call("POST", BATCH, { body: batchOf("gone", 20, "a@loja.test") });
  expect(bad.status).toBe(202);
  const isTold = () => told(pombo).includes("workspace.sending_blocked");
  const sendOne = (n: number) =>
    workspace.call("POST", EMAILS, {
      body: pombo.email({ to: `maria-${n}@example.org` }),
      headers: { "idempotency-key": `send ${n}` },
    });
  pombo.dns.zone["example.org"] = { MX: [[10, "mx.example.com"]] };
  const answers: Reply[] = [];
  // Some before, then the rest while the bounces come in.
  answers.push(...(await Promise.all(Array.from({ length: 20 }, (_, n) => sendOne(n)))));
  open();
  let next = 20;
  // At least so many, and some after the block, however slow the machine is.
  const client = async () => {
    while (next < 200 || !isTold()) answers.push(await sendOne(next++));
    answers.push(await sendOne(next++));
  };
  await Promise.all(Array.from({ length: 8 }, client));
  await pombo.app.worker.idle();
  expect(isTold()).toBe(true);
  const accepted = answers.filter(({ status }) => status === 202);
  for (const answer of answers.filter(({ status }) => status !== 202))
    expectErrors(answer, 403, [{ code: "SENDING_BLOCKED" }]);
  expect([answers.length, accepted.length >= 20, accepted.length < next]).toEqual([next, true, true]);
  expect(await totalOf(workspace)).toBe(20 + accepted.length);
  expect(pombo.mx.messages).toHaveLength(accepted.length);
  const { body } = await workspace.call("GET", "/api/v1/workspace/usage");
  expect(body.data.usage.emailsToday).toBe(20 + accepted.length);
  expect(ratesOf(pombo)).toEqual({ answered: 20 + accepted.length, hard_bounces: 20 });
  // What was refused left nothing behind, and what was accepted is told again.
  const stored = pombo.app.db.sqlite.query<{ n: number }, []>("SELECT COUNT(*) AS n FROM idempotency").get()?.n;
  expect(stored).toBe(accepted.length);
  const again = await sendOne(0);
  expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([202, "true"]);
  expect((await sendOne(next)).status).toBe(403);
  expect(pombo.bugs).toEqual([]);
});

test("only what the recipient's own server said of an email counts", async () => {
  const relay = await startMx({ rcpt });
  await using rated = await startRated({
    configure: (config) =>
      void config.relay.push({
        ...{ host: "127.0.0.1", port: relay.port, tls: "none", verify: false, caFile: null },
        ...{ username: null, password: null, passwordFile: null, domains: ["relayed.test"] },
      }),
  });
  const { pombo, deliver, advance } = rated;
  await pombo.addDomain(pombo.workspace, "relayed.test");
  // A relay speaks of its own rules.
  await deliver("gone", 30, pombo.workspace, "a@relayed.test");
  await deliver("maria", 5, pombo.workspace, "a@relayed.test");
  expect(relay.messages).toHaveLength(5);
  // DNS of the recipient's domain, that nobody answers for.
  pombo.dns.zone["none.test"] = { MX: [[0, "."]] };
  const missing = await pombo.workspace.call("POST", EMAILS, { body: pombo.email({ to: "x@none.test" }) });
  await pombo.app.worker.idle();
  await advance(20 * 60_000);
  await pombo.app.worker.idle();
  expect((await timelineOf(pombo, missing.body.data.id)).at(-1).type).toBe("email.bounced");
  // Put off, canceled, and past its time.
  const { body } = await deliver("later", 2);
  await ask(pombo, body.data[0].id, "cancel");
  await advance(4 * DAY_MS);
  await pombo.app.worker.idle();
  await advance(DAY_MS);
  await pombo.app.worker.idle();
  expect((await timelineOf(pombo, body.data[1].id)).at(-1).type).toBe("email.failed");
  expect(ratesOf(pombo)).toEqual({});
  // A full mailbox and a refusal by policy are answers, but no hard bounces.
  await deliver("full", 30);
  await deliver("unwanted", 30);
  expect(ratesOf(pombo)).toEqual({ answered: 60 });
  await deliver("gone", 1);
  expect([ratesOf(pombo), told(pombo)]).toEqual([{ answered: 61, hard_bounces: 1 }, []]);
  await relay.close();
});

test("an answer that comes after the email was ended otherwise is not counted", async () => {
  let answer: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (answer = resolve));
  await using rated = await startRated({
    mx: {
      dot: async () => {
        await gate;
        return "250 2.0.0 Ok";
      },
    },
  });
  const { pombo } = rated;
  expect((await pombo.workspace.call("POST", EMAILS, { body: pombo.email() })).status).toBe(202);
  await pombo.mx.until(() => pombo.mx.messages.length === 1);
  await pombo.app.committer.commit(() => {
    pombo.app.db.sqlite.run("DELETE FROM email_queue");
    return null;
  });
  answer();
  await pombo.app.worker.idle();
  expect(ratesOf(pombo)).toEqual({});
});

test("what pombo itself refuses, as a server's limit of size, is nobody's answer", async () => {
  await using rated = await startRated({ mx: { capabilities: ["PIPELINING", "SIZE 100"] } });
  const { pombo, deliver } = rated;
  const { body } = await deliver("maria", 1);
  expect((await timelineOf(pombo, body.data[0].id)).at(-1).type).toBe("email.bounced");
  expect(ratesOf(pombo)).toEqual({});
});
