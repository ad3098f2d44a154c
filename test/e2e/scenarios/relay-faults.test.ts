// Everything that can be wrong between pombo and its relay.
import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { EXPIRED_CERTIFICATE, OTHER_CERTIFICATE, RELAY_CERTIFICATE } from "../../support/fakes/certificates.ts";
import { drop, type MxScript, startMx } from "../../support/fakes/mx.ts";
import { attemptsOf, deliver, HOUR_MS, pass, record, send, suppressedAddresses } from "./mail.ts";
import {
  ACCOUNTS,
  PASSWORD,
  RETRY_MS,
  type Relayed,
  type RelayedOptions,
  startRelayed,
  USERNAME,
  USUAL,
} from "./relay-world.ts";

setDefaultTimeout(30_000);

/** What /ready says of the relay. */
async function listIssues(pombo: Relayed["pombo"]): Promise<string[]> {
  const { body } = await pombo.operator.call("GET", "/ready", { key: null });
  return body.issues.map(({ component, reason }: Record<string, string>) => `${component}: ${reason}`);
}

for (const [what, script, words] of [
  ["wrong credentials", { tls: "good", accounts: { [USERNAME]: "another" } }, "535 5.7.8"],
  [
    "an answer that repeats them",
    { tls: "good", accounts: ACCOUNTS, auth: (command: string) => `535 5.7.8 ${USERNAME} ${PASSWORD} ${command}` },
    "535 5.7.8",
  ],
  ["a relay without AUTH", { tls: "good" }, "neither AUTH PLAIN nor AUTH LOGIN"],
  ["a relay that wants more than AUTH", { ...USUAL, mail: "530 5.7.0 Authentication required" }, "530 5.7.0"],
  [
    "a relay that does not relay",
    { ...USUAL, rcpt: "554 5.7.1 <maria@example.com>: Relay access denied" },
    "554 5.7.1",
  ],
] as [string, MxScript, string][]) {
  test(`${what}: the email waits, the operator is told what to check, nobody is suppressed, no credentials are written anywhere`, async () => {
    await using world = await startRelayed({ script });
    const { pombo, relay, name } = world;
    const email = await deliver(pombo, "maria@example.com");
    expect(email).toMatchObject({ status: "delivery_delayed", bounce: null });
    expect(email.lastReply).toContain(words);
    expect(email.lastReply).toEndWith(
      `(relay ${name}); check username and password of this relay under [[relay]] in the configuration`,
    );
    expect(attemptsOf(pombo, email.id)).toMatchObject([
      { outcome: "deferred", category: "auth_failed", host: "relay.test" },
    ]);
    expect(suppressedAddresses(pombo)).toEqual([]);
    // Its words may name the recipient, and /ready needs no key.
    const reason = email.lastReply.replace("maria@example.com", "m***@example.com");
    expect(await listIssues(pombo)).toEqual([
      `relay: Emails do not leave by a relay: ${reason}. They wait, and are tried again.`,
    ]);
    expect(relay.messages).toEqual([]);
    expect(JSON.stringify([pombo.events, email])).not.toMatch(new RegExp(`${PASSWORD}|${USERNAME}`));
    const files = readdirSync(pombo.directory).filter((each) => statSync(join(pombo.directory, each)).isFile());
    for (const file of files) {
      const bytes = readFileSync(join(pombo.directory, file)).toString("latin1");
      expect([file, bytes.includes(PASSWORD), bytes.includes(USERNAME)]).toEqual([file, false, false]);
    }

    relay.script = USUAL;
    await pass(pombo, HOUR_MS);
    expect(await record(pombo, email.id)).toMatchObject({ status: "sent", attempts: 2 });
    expect(await listIssues(pombo)).toEqual([]);
    expect(pombo.mx.connections).toEqual([]);
    expect(pombo.bugs).toEqual([]);
  });
}

test("a relay that is not there: the email waits and says so, and goes once it is", async () => {
  await using world = await startRelayed();
  const { pombo, relay, name } = world;
  await relay.close();
  const email = await deliver(pombo, "maria@example.com");
  expect(email).toMatchObject({ status: "delivery_delayed", sentAt: null });
  expect(email.lastReply).toStartWith(`the relay ${name} could not be reached: `);
  expect(attemptsOf(pombo, email.id)).toMatchObject([
    { stage: "connect", category: "no_answer", outcome: "deferred", host: "relay.test" },
  ]);
  const again = await startMx(USUAL, { port: relay.port, certificate: RELAY_CERTIFICATE });
  try {
    await pass(pombo, HOUR_MS);
    expect(await record(pombo, email.id)).toMatchObject({ status: "sent" });
    expect(pombo.mx.connections).toEqual([]);
  } finally {
    await again.close();
  }
});

test("a relay whose name is not in DNS says nothing of the recipient, however long it lasts (R1)", async () => {
  await using world = await startRelayed();
  const { pombo, name } = world;
  delete pombo.dns.zone["relay.test"];
  const email = await deliver(pombo, "maria@example.com");
  expect(email.lastReply).toBe(`the relay ${name} could not be reached: relay.test has no address`);
  for (let hours = 0; hours < 71; hours += 1) await pass(pombo, HOUR_MS);
  expect(await record(pombo, email.id)).toMatchObject({ status: "delivery_delayed" });
  for (let hours = 0; hours < 2; hours += 1) await pass(pombo, HOUR_MS);
  expect(await record(pombo, email.id)).toMatchObject({ status: "failed", bounce: { category: "expired" } });
  expect(suppressedAddresses(pombo)).toEqual([]);
});

for (const [stage, reply, category] of [
  ["mail", "553 5.7.1 Sender address rejected: not owned by user", "policy"],
  ["rcpt", "550 5.1.1 No such user", "invalid_recipient"],
  ["dot", "554 5.7.1 This message looks like spam", "spam_content"],
] as const) {
  test(`a relay's 5xx at ${stage} bounces, and does not suppress (R38)`, async () => {
    await using world = await startRelayed({ script: { ...USUAL, [stage]: reply } });
    const { pombo } = world;
    const email = await deliver(pombo, "maria@example.com");
    const [code, enhancedCode] = reply.split(" ");
    expect(email).toMatchObject({
      status: "bounced",
      deliveredAt: null,
      failedReason: `${reply} (relay.test)`,
      bounce: { category, smtpCode: Number(code), enhancedCode, mx: "relay.test" },
    });
    expect(email.sentAt).not.toBeNull();
    expect(suppressedAddresses(pombo)).toEqual([]);
    await send(pombo, "maria@example.com");
    await pombo.app.worker.idle();
  });
}

test("a relay's 4xx is a delay like any other", async () => {
  await using world = await startRelayed({ script: { ...USUAL, rcpt: "450 4.2.0 Greylisted, come back" } });
  const { pombo, relay } = world;
  const email = await deliver(pombo, "maria@example.com");
  expect(email).toMatchObject({
    status: "delivery_delayed",
    lastReply: "450 4.2.0 Greylisted, come back (relay.test)",
  });
  expect(await listIssues(pombo)).toEqual([]);
  relay.script = USUAL;
  await pass(pombo, HOUR_MS);
  expect(await record(pombo, email.id)).toMatchObject({ status: "sent" });
});

for (const [what, options, words] of [
  ["of another name", { certificate: OTHER_CERTIFICATE }, "its certificate is not valid: "],
  ["that has expired", { certificate: EXPIRED_CERTIFICATE }, "its certificate is not valid: "],
  ["of an authority that nobody knows", { table: { caFile: null } }, "its certificate is not valid: "],
  [
    "at all, as STARTTLS is not offered",
    { script: { tls: "none", accounts: ACCOUNTS } },
    "TLS is required and the server does not offer it",
  ],
  ["to see, as the handshake fails", { script: { tls: "garbage", accounts: ACCOUNTS } }, ""],
] as [string, RelayedOptions, string][]) {
  test(`no certificate that counts (${what}): the email waits, and neither the password nor it goes anywhere`, async () => {
    await using world = await startRelayed(options);
    const { pombo, relay, name } = world;
    const email = await deliver(pombo, "maria@example.com");
    expect(email).toMatchObject({ status: "delivery_delayed", sentAt: null });
    expect(email.lastReply).toStartWith(words);
    expect(email.lastReply).toEndWith(`(relay ${name})`);
    expect(attemptsOf(pombo, email.id)).toMatchObject([{ stage: "starttls", category: "bad_connection", tls: null }]);
    expect(await listIssues(pombo)).toEqual([
      `relay: Emails do not leave by a relay: ${email.lastReply}. They wait, and are tried again.`,
    ]);
    await pass(pombo, HOUR_MS);
    const said = relay.connections.flatMap(({ commands }) => commands);
    expect(said.filter((line) => !/^(EHLO|STARTTLS)/.test(line))).toEqual([]);
    expect(pombo.mx.connections).toEqual([]);
    expect(suppressedAddresses(pombo)).toEqual([]);
  });
}

test("a relay that drops the connection after the dot: sent again after the normal delay, the same and marked (R28, R35)", async () => {
  await using world = await startRelayed({ script: { ...USUAL, dot: drop() } });
  const { pombo, relay } = world;
  const email = await deliver(pombo, "maria@example.com");
  expect(email).toMatchObject({ status: "delivery_delayed", possibleDuplicate: true });
  expect(attemptsOf(pombo, email.id)).toMatchObject([{ outcome: "unknown", stage: "dot" }]);
  relay.script = USUAL;
  await pass(pombo, RETRY_MS / 2);
  expect(relay.messages).toHaveLength(1);
  await pass(pombo, RETRY_MS);
  expect(await record(pombo, email.id)).toMatchObject({ status: "sent", possibleDuplicate: true, attempts: 2 });
  const [first, second] = relay.messages;
  expect(second?.from).toBe(first?.from ?? "");
  const messageId = (content: Buffer | undefined) => /^Message-ID: .*$/im.exec(content?.toString() ?? "")?.[0];
  expect(messageId(second?.content)).toBe(messageId(first?.content) ?? "none");
});
