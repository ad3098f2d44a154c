// A mail server that refuses, drops or stalls, at every stage of the dialogue: what becomes of the
// email, and of its recipient.
import { expect, setDefaultTimeout, test } from "bun:test";
import { drop, type MxScript, stall, type Step } from "../../support/fakes/mx.ts";
import { within } from "./child.ts";
import {
  attemptsOf,
  deliver,
  HOUR_MS,
  MINUTE_MS,
  pass,
  record,
  send,
  startStill,
  suppressedAddresses,
} from "./mail.ts";

setDefaultTimeout(30_000);

const LIMIT_MS = 10_000;
/** Longer than any test lets pass. */
const NEVER = [500 * HOUR_MS];
/** src/protocols/smtp/session-pool.ts keeps a session idle this long: past it, the next message makes a new connection. */
const PAST_IDLE_MS = 6_000;

type Stage = keyof Pick<MxScript, "greeting" | "ehlo" | "helo" | "mail" | "rcpt" | "data" | "dot">;

interface Refusal {
  stage: Stage;
  reply: string;
  status: "delivery_delayed" | "bounced";
  category: string;
  isSuppressed?: true;
}

const REFUSALS: Refusal[] = [
  { stage: "greeting", reply: "421 4.3.2 Not now", status: "delivery_delayed", category: "unknown" },
  // R14: a refusal on sight is about our address or the server's day.
  { stage: "greeting", reply: "554 5.7.1 Go away", status: "delivery_delayed", category: "policy" },
  { stage: "ehlo", reply: "451 4.3.0 Not now", status: "delivery_delayed", category: "unknown" },
  { stage: "mail", reply: "451 4.3.0 Not now", status: "delivery_delayed", category: "unknown" },
  { stage: "mail", reply: "550 5.7.1 Sender refused", status: "bounced", category: "policy" },
  // R26: what is said to MAIL is said of the sender.
  { stage: "mail", reply: "550 5.1.2 Unknown domain", status: "bounced", category: "policy" },
  { stage: "rcpt", reply: "450 4.2.0 Greylisted, come back", status: "delivery_delayed", category: "policy" },
  { stage: "rcpt", reply: "452 4.2.2 Mailbox full", status: "delivery_delayed", category: "mailbox_full" },
  { stage: "rcpt", reply: "421 4.7.0 Too many connections", status: "delivery_delayed", category: "rate_limited" },
  { stage: "rcpt", reply: "552 5.2.2 Mailbox full", status: "bounced", category: "mailbox_full" },
  { stage: "rcpt", reply: "550 5.7.1 Refused by our policy", status: "bounced", category: "policy" },
  { stage: "rcpt", reply: "554 5.7.1 Your address is on a blocklist", status: "bounced", category: "spam_block" },
  {
    stage: "rcpt",
    reply: "550 5.1.1 No such user",
    status: "bounced",
    category: "invalid_recipient",
    isSuppressed: true,
  },
  {
    stage: "rcpt",
    reply: "550 5.2.1 This account is disabled",
    status: "bounced",
    category: "inactive_mailbox",
    isSuppressed: true,
  },
  { stage: "rcpt", reply: "550 5.1.2 Domain not found", status: "bounced", category: "bad_domain", isSuppressed: true },
  { stage: "data", reply: "451 4.3.0 Not now", status: "delivery_delayed", category: "unknown" },
  { stage: "data", reply: "554 5.7.1 Refused by our policy", status: "bounced", category: "policy" },
  { stage: "dot", reply: "451 4.7.1 Not now", status: "delivery_delayed", category: "policy" },
  { stage: "dot", reply: "554 5.7.1 This message looks like spam", status: "bounced", category: "spam_content" },
  // R39: after DATA nothing more is said of the recipient, whatever the code.
  { stage: "dot", reply: "550 5.1.1 No such user", status: "bounced", category: "unknown" },
];

test("a refusal at any stage puts off or bounces as its code and words say, and suppresses only for a hard one at RCPT", async () => {
  await using pombo = await startStill({ retryMs: NEVER });
  const suppressed: string[] = [];
  for (const [index, { stage, reply, status, category, isSuppressed }] of REFUSALS.entries()) {
    const to = `user${index}@example.com`;
    pombo.mx.script = { [stage]: reply };
    const email = await deliver(pombo, to);
    const isReached = !["greeting", "ehlo"].includes(stage);
    const code = Number(reply.slice(0, 3));
    const what = `${stage} ${reply}`;
    expect({ what, status: email.status, attempts: email.attempts, isSent: email.sentAt !== null }).toEqual({
      what,
      status,
      attempts: 1,
      isSent: isReached,
    });
    expect({ what, attempts: attemptsOf(pombo, email.id) }).toMatchObject({
      what,
      attempts: [{ category, code, stage, host: "mx.example.com" }],
    });
    if (status === "bounced") {
      expect(email).toMatchObject({
        failedReason: `${reply} (mx.example.com)`,
        nextAttemptAt: null,
        bounce: { category, smtpCode: code, mx: "mx.example.com" },
      });
    } else {
      expect(email).toMatchObject({
        failedReason: null,
        lastReply: `${reply} (mx.example.com)`,
        bounce: null,
        possibleDuplicate: false,
      });
      expect(email.nextAttemptAt).not.toBeNull();
    }
    if (isSuppressed) suppressed.push(to);
    await pass(pombo, PAST_IDLE_MS);
  }
  expect(suppressedAddresses(pombo)).toEqual(suppressed.sort());
  expect(pombo.bugs).toEqual([]);
});

const DROPS: { where: string; script: MxScript; stage: string; category: string; isReached: boolean }[] = [
  {
    where: "before the greeting",
    script: { greeting: drop() },
    stage: "greeting",
    category: "no_answer",
    isReached: false,
  },
  { where: "at EHLO", script: { ehlo: drop() }, stage: "ehlo", category: "bad_connection", isReached: false },
  { where: "at MAIL", script: { mail: drop() }, stage: "mail", category: "bad_connection", isReached: false },
  { where: "at RCPT", script: { rcpt: drop() }, stage: "rcpt", category: "bad_connection", isReached: true },
  { where: "at DATA", script: { data: drop() }, stage: "data", category: "bad_connection", isReached: true },
  {
    where: "in the content",
    script: { dropInContentAfter: 1 },
    stage: "dot",
    category: "bad_connection",
    isReached: true,
  },
];

test("a connection dropped at any stage puts the email off, and the next attempt delivers it", async () => {
  for (const { where, script, stage, category, isReached } of DROPS) {
    await using pombo = await startStill({ mx: script });
    const email = await deliver(pombo, "maria@example.com");
    expect({ where, status: email.status, isSent: email.sentAt !== null }).toEqual({
      where,
      status: "delivery_delayed",
      isSent: isReached,
    });
    expect({ where, attempts: attemptsOf(pombo, email.id) }).toMatchObject({
      where,
      attempts: [{ category, stage, code: null }],
    });
    pombo.mx.script = {};
    await pass(pombo, 2 * MINUTE_MS);
    // In one write with its dot, the content may have gone whole: nobody knows what the server took.
    expect(await record(pombo, email.id)).toMatchObject({
      status: "delivered",
      attempts: 2,
      possibleDuplicate: stage === "dot",
    });
    expect(pombo.mx.messages).toHaveLength(1);
    expect(suppressedAddresses(pombo)).toEqual([]);
    expect(pombo.bugs).toEqual([]);
  }
});

test("a connection lost after the dot is tried again with the same Message-ID and envelope, and told as a possible duplicate", async () => {
  await using pombo = await startStill({ mx: { dot: drop() } });
  const email = await deliver(pombo, "maria@example.com");
  expect(email).toMatchObject({ status: "delivery_delayed", possibleDuplicate: true, attempts: 1 });
  expect(attemptsOf(pombo, email.id)).toMatchObject([{ outcome: "unknown", stage: "dot" }]);
  // R28: not at once.
  await pass(pombo, 50_000);
  expect(pombo.mx.connections).toHaveLength(1);
  pombo.mx.script = {};
  await pass(pombo, 20_000);

  expect(await record(pombo, email.id)).toMatchObject({ status: "delivered", possibleDuplicate: true, attempts: 2 });
  const [first, second, ...others] = pombo.mx.messages;
  expect(others).toEqual([]);
  expect(second?.from).toBe(first?.from ?? "");
  expect(first?.from).toMatch(/^b\+[a-z2-7]+@/);
  const idOf = (content: Buffer | undefined) => /^Message-ID: *(\S+)/im.exec(content?.toString() ?? "")?.[1];
  expect(idOf(first?.content)).toBe(`<${email.id}@loja.test>`);
  expect(idOf(second?.content)).toBe(`<${email.id}@loja.test>`);
  for (const connection of pombo.mx.connections) {
    expect(connection.commands.filter((line) => line.startsWith("MAIL"))).toHaveLength(1);
  }
});

const STALLS: { where: string; script: MxScript; limitMs: number; stage: string; isUnknown?: true }[] = [
  // R13: as long as RFC 5321 asks where there is no other host.
  { where: "greeting", script: { greeting: stall() }, limitMs: 5 * MINUTE_MS, stage: "greeting" },
  { where: "EHLO", script: { ehlo: stall() }, limitMs: 5 * MINUTE_MS, stage: "ehlo" },
  { where: "MAIL", script: { mail: stall() }, limitMs: 5 * MINUTE_MS, stage: "mail" },
  { where: "RCPT", script: { rcpt: stall() }, limitMs: 5 * MINUTE_MS, stage: "rcpt" },
  { where: "DATA", script: { data: stall() }, limitMs: 2 * MINUTE_MS, stage: "data" },
  { where: "dot", script: { dot: stall() }, limitMs: 10 * MINUTE_MS, stage: "dot", isUnknown: true },
];

test("a server that stalls is waited for as long as R13 says at that stage, and no longer", async () => {
  for (const { where, script, limitMs, stage, isUnknown } of STALLS) {
    let reached = 0;
    const told = Object.fromEntries(
      Object.entries(script).map(([name, step]) => [name, () => ((reached += 1), step as Exclude<Step, Function>)]),
    );
    await using pombo = await startStill({ mx: told, retryMs: NEVER });
    const id = await send(pombo, "maria@example.com");
    await within(
      LIMIT_MS,
      where,
      pombo.mx.until(() => reached > 0),
    );
    // Both ends live in this process: the answers before the stall are read in the turns that requests take.
    for (let turn = 0; turn < 3; turn += 1) expect((await record(pombo, id)).status).toBe("sending");
    pombo.clock.advance(limitMs - 1);
    expect({ where, ...(await record(pombo, id)) }).toMatchObject({ where, status: "sending" });
    await pass(pombo, 1);
    expect({ where, ...(await record(pombo, id)) }).toMatchObject({
      where,
      status: "delivery_delayed",
      possibleDuplicate: isUnknown === true,
    });
    expect(attemptsOf(pombo, id)).toMatchObject([
      { stage, code: null, outcome: isUnknown === true ? "unknown" : "deferred" },
    ]);
  }
});

test("a large message that its server takes too slowly is put off after two minutes, and goes with the next attempt", async () => {
  await using pombo = await startStill({ mx: { isContentUnread: true }, retryMs: NEVER });
  // More than the sockets between them hold.
  const content = Buffer.alloc(12 * 1024 * 1024, 1).toString("base64");
  const id = await send(pombo, "ana@example.com", { attachments: [{ filename: "film.bin", content }] });
  const startedAt = pombo.clock.now();
  await within(
    LIMIT_MS,
    "its content",
    pombo.mx.until(() => pombo.mx.connections.some(({ commands }) => commands.includes("DATA"))),
  );
  const isOver = async () => (await record(pombo, id)).status === "delivery_delayed";
  while (!(await isOver())) {
    expect(pombo.clock.now() - startedAt).toBeLessThan(3 * MINUTE_MS);
    pombo.clock.advance(1_000);
    await Bun.sleep(5);
  }
  expect(pombo.clock.now() - startedAt).toBeGreaterThan(119_000);
  expect(await record(pombo, id)).toMatchObject({
    attempts: 1,
    possibleDuplicate: false,
    lastReply: expect.stringContaining("it took less than 16 KiB a second for 120 s"),
  });
  delete pombo.mx.script.isContentUnread;
  expect((await pombo.workspace.call("POST", `/api/v1/emails/${id}/retry`)).status).toBe(202);
  await pombo.app.worker.idle();
  expect((await record(pombo, id)).status).toBe("delivered");
});
