// The listener in a whole pombo: the return paths of its own emails, its disk, its metrics, its stop.
import { expect, setDefaultTimeout, test } from "bun:test";
import { connect } from "node:net";
import type { InboundMessage } from "../../../src/modules/inbound-mail/inbound-message.ts";
import { group, report } from "../../support/dsn/mails.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { HOSTNAME, type Instance, startInstance } from "../../support/fakes/instance.ts";
import { readMetrics } from "../../support/metrics/reader.ts";
import { openTalk, type Talk, until } from "../../support/inbound/kit.ts";

setDefaultTimeout(30_000);

const BOUNCE_HOST = "bounce.pombo.test";
const DAY_MS = 86_400_000;

function talkTo(pombo: Instance): Promise<Talk> {
  return openTalk(Number(pombo.app.inbound?.split(":")[1]));
}

/** Sends an email; its id, and the envelope sender that the recipient's server saw. */
async function deliver(pombo: Instance, from?: string): Promise<{ id: string; returnPath: string }> {
  const before = pombo.mx.messages.length;
  const body = pombo.email(from === undefined ? {} : { from });
  const { body: answer } = await pombo.workspace.call("POST", "/api/v1/emails", { body });
  await until("the delivery", () => pombo.mx.messages.length > before);
  return { id: answer.data.id, returnPath: pombo.mx.messages.at(-1)?.from ?? "" };
}

async function judge(pombo: Instance, recipient: string): Promise<string> {
  using talk = await talkTo(pombo);
  await talk.say("EHLO mx.example.com");
  await talk.say("MAIL FROM:<>");
  return (await talk.say(`RCPT TO:<${recipient}>`)).slice(0, 3);
}

test("a bounce comes in on the path that the email went out with, under the customer's domain or the operator's host", async () => {
  const messages: InboundMessage[] = [];
  await using pombo = await startInstance({
    receive: async (message) => void messages.push(message),
    configure: (config) => void (config.email.bounceHost = BOUNCE_HOST),
  });
  // With an address the bounce host can be a customer's.
  pombo.dns.zone[BOUNCE_HOST] = { A: ["127.0.0.1"] };
  const { body } = await pombo.workspace.call("GET", "/api/v1/domains");
  await pombo.workspace.call("POST", `/api/v1/domains/${body.data[0].id}/verification-checks`);
  const own = await deliver(pombo);
  expect(own.returnPath).toEndWith("@bounce.loja.test");
  // Only the keys are published: bounces then come to the operator's host.
  const created = await pombo.workspace.call("POST", "/api/v1/domains", { body: { domain: "pobre.test" } });
  for (const { name, value } of created.body.data.dns.dkim) pombo.dns.zone[name] = { TXT: [value] };
  await pombo.workspace.call("POST", `/api/v1/domains/${created.body.data.id}/verification-checks`);
  const shared = await deliver(pombo, "x@pobre.test");
  expect(shared.returnPath).toEndWith(`@${BOUNCE_HOST}`);

  for (const { returnPath } of [own, shared]) {
    using talk = await talkTo(pombo);
    await talk.message(returnPath);
    expect(await talk.say("Subject: Undelivered\r\n\r\nx\r\n.")).toStartWith("250");
    const [local = "", host = ""] = returnPath.split("@");
    for (const other of ["bounce.loja.test", HOSTNAME]) {
      if (other !== host) expect(await judge(pombo, `${local}@${other}`)).toBe("550");
    }
  }
  expect(messages.map(({ destinations }) => destinations)).toEqual([
    [{ kind: "bounce", emailUid: own.id }],
    [{ kind: "bounce", emailUid: shared.id }],
  ]);
  for (const known of ["postmaster", `abuse@${HOSTNAME}`, `postmaster@${BOUNCE_HOST}`, `fbl@${BOUNCE_HOST}`])
    expect([known, await judge(pombo, known)]).toEqual([known, "250"]);
  for (const nobody of [`fbl@${HOSTNAME}`, "abuse@bounce.loja.test", "postmaster@loja.test", "maria@example.com"])
    expect([nobody, await judge(pombo, nobody)]).toEqual([nobody, "550"]);
  expect(pombo.bugs).toEqual([]);
});

test("a path is good over a start and for 30 days, and what came to it makes no mail", async () => {
  const clock = fakeClock();
  await using pombo = await startInstance({ clock, receive: () => Promise.resolve() });
  const { returnPath } = await deliver(pombo);
  await pombo.restart();
  expect(await judge(pombo, returnPath)).toBe("250");
  clock.advance(29 * DAY_MS);
  expect(await judge(pombo, returnPath)).toBe("250");
  using talk = await talkTo(pombo);
  await talk.message(returnPath, "postmaster");
  expect(await talk.say("From: someone@example.com\r\n\r\nDo answer me\r\n.")).toStartWith("250");
  clock.advance(DAY_MS);
  expect(await judge(pombo, returnPath)).toBe("550");
  expect(pombo.mx.messages).toHaveLength(1);
});

test("what cannot be kept is not taken, and its sender keeps it", async () => {
  await using pombo = await startInstance({ receive: () => Promise.reject(new Error("no room")) });
  using talk = await talkTo(pombo);
  await talk.message("postmaster");
  expect(await talk.say("x\r\n.")).toStartWith("451 4.3.0 ");
});

test("what is answered 250 is kept: mail to people in the inbox, a bounce on its email", async () => {
  await using pombo = await startInstance();
  const { id, returnPath } = await deliver(pombo);
  using talk = await talkTo(pombo);
  await talk.message("postmaster", returnPath);
  talk.write(report({ groups: [group("5.1.1", "550 5.1.1 No such user")] }));
  expect(await talk.say(".")).toStartWith("250 ");
  const { body } = await pombo.workspace.call("GET", `/api/v1/emails/${id}`);
  expect(body.data).toMatchObject({ status: "bounced", bounce: { category: "invalid_recipient" } });
  const mails = pombo.app.db.sqlite.query("SELECT mailbox FROM inbound_mail").all();
  expect([mails, pombo.bugs]).toEqual([[{ mailbox: "postmaster" }], []]);
});

test("while the disk is low nothing is taken", async () => {
  let freeBytes = 1e12;
  const clock = fakeClock();
  await using pombo = await startInstance({
    clock,
    receive: () => Promise.resolve(),
    readFree: () => ({ freeBytes, freeInodesPercent: 100 }),
    configure: (config) => void (config.disk.minFreeBytes = 1024),
  });
  freeBytes = 1;
  clock.advance(5_000);
  using talk = await talkTo(pombo);
  await talk.say("EHLO mx.example.com");
  expect(await talk.say("MAIL FROM:<>")).toStartWith("451 4.3.0 ");
});

test("metrics count what came in and what was refused", async () => {
  await using pombo = await startInstance({
    receive: () => Promise.resolve(),
    configure: (config) => void (config.metrics.listen = { address: "127.0.0.1", port: 0 }),
  });
  const scrape = async () => readMetrics(await (await fetch(pombo.app.metricsUrl ?? "")).text());
  const first = await scrape();
  expect(first.value("pombo_inbound_messages_total", { kind: "bounce" })).toBe(0);
  expect(first.value("pombo_inbound_recipients_refused_total", { reason: "foreign" })).toBe(0);
  const { returnPath } = await deliver(pombo);
  using talk = await talkTo(pombo);
  await talk.message(returnPath);
  await talk.say("x\r\n.");
  await talk.message("postmaster");
  await talk.say("x\ny\r\n.");
  await talk.say("MAIL FROM:<>");
  await talk.say("RCPT TO:<maria@example.com>");
  const read = await scrape();
  expect(read.value("pombo_inbound_messages_total", { kind: "bounce" })).toBe(1);
  expect(read.value("pombo_inbound_recipients_refused_total", { reason: "foreign" })).toBe(1);
  expect(read.value("pombo_inbound_messages_refused_total", { reason: "bare_line_end" })).toBe(1);
  expect(read.value("pombo_inbound_connections_refused_total", { reason: "network" })).toBe(0);
  expect(read.value("pombo_inbound_connections")).toBe(1);
});

test('with [inbound] listen = "" there is no listener', async () => {
  await using pombo = await startInstance({ configure: (config) => void (config.inbound.listen = null) });
  expect(pombo.app.inbound).toBeNull();
});

test("a stop ends the listener with the rest, and its port is free for the next start", async () => {
  await using pombo = await startInstance({ receive: () => Promise.resolve() });
  const port = Number(pombo.app.inbound?.split(":")[1]);
  using talk = await talkTo(pombo);
  await pombo.app.stop(2_000);
  expect(await talk.rest()).toBe("421 4.3.2 This server is closing down\r\n");
  const socket = connect(port, "127.0.0.1");
  const refused = await new Promise<unknown>((resolve) => socket.once("error", resolve).once("connect", resolve));
  expect(refused).toMatchObject({ code: "ECONNREFUSED" });
  pombo.config.inbound.listen = { address: "127.0.0.1", port };
  await pombo.restart();
  expect(pombo.app.inbound).toBe(`127.0.0.1:${port}`);
});

test("who took mail of ours, or brought a report about it, finds a place in a flood of strangers", async () => {
  await using pombo = await startInstance();
  const port = Number(pombo.app.inbound?.split(":")[1]);
  const greetingOf = async (localAddress: string) => {
    using talk = await openTalk(port, { localAddress, hears: false });
    return (await talk.reply()).slice(0, 3);
  };
  const first = await deliver(pombo);
  using bringer = await openTalk(port, { localAddress: "127.40.0.1" });
  await bringer.message(first.returnPath);
  const bounce = Buffer.from(report({ groups: [group("5.1.1", "550 5.1.1 No such user")] })).toString("latin1");
  expect(await bringer.say(`${bounce}\r\n.`)).toStartWith("250");
  await pombo.app.worker.idle();
  const flood = await Promise.all(
    Array.from({ length: 70 }, (_, n) => openTalk(port, { localAddress: `127.${50 + n}.0.1`, hears: false })),
  );
  const greetings = await Promise.all(flood.map((talk) => talk.reply()));
  // The bringer has come as a stranger, and has its place.
  expect(greetings.filter((greeting) => greeting.startsWith("220"))).toHaveLength(55);
  const asked = ["127.190.0.1", "127.0.0.1", "127.40.0.2", "127.41.0.1"];
  expect(await Promise.all(asked.map(greetingOf))).toEqual(["421", "220", "220", "421"]);
  for (const talk of flood) talk.socket.destroy();
});
