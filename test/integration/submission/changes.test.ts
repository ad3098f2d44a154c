// What changes while clients are connected: keys, workspaces, certificates, and pombo itself, which stops.

import { expect, setDefaultTimeout, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { totalOf } from "../../support/api/kit.ts";
import { OTHER_CERTIFICATE, RELAY_CERTIFICATE } from "../../support/fakes/certificates.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { openTalk, type Talk, until } from "../../support/inbound/kit.ts";
import { readMetrics } from "../../support/metrics/reader.ts";
import { KEY, startSubmissionDesk, type SubmissionDesk } from "../../support/submission/desk.ts";
import { openClient, openSecure, passUntil, portOf, startSubmitting } from "../../support/submission/kit.ts";
import { accepted, beginData, message, passwordOf } from "../../support/submission/wire.ts";

setDefaultTimeout(60_000);

const GONE = "535 5.7.8 The API key is not valid any more\r\n";
const CLOSING = "421 4.3.2 This server is closing down, come back in a moment\r\n";

async function open(desk: SubmissionDesk): Promise<Talk> {
  const talk = await openSecure(desk.port);
  expect(await talk.say(`AUTH PLAIN ${passwordOf(KEY)}`)).toStartWith("235 ");
  return talk;
}

test("a key that is deleted in the middle of DATA sends nothing, and its session ends; so it does at the next MAIL", async () => {
  await using pombo = await startSubmitting();
  const made = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "lost" } });
  const { id, key } = made.body.data;
  using sends = await openClient(pombo, { key });
  using idle = await openClient(pombo, { key, mode: "implicit" });
  await beginData(sends);
  sends.write(message().slice(0, 80));
  expect((await pombo.workspace.call("DELETE", `/api/v1/auth/keys/${id}`)).status).toBe(200);
  sends.write(`${message().slice(80)}.\r\n`);
  expect(await sends.rest()).toBe(GONE);
  idle.write("MAIL FROM:<>\r\nRCPT TO:<maria@example.com>\r\nDATA\r\n");
  expect(await idle.rest()).toBe(GONE);
  expect(await totalOf(pombo.workspace)).toBe(0);
  expect(pombo.bugs).toEqual([]);
});

test("a workspace that is deleted in the middle of DATA sends nothing", async () => {
  await using pombo = await startSubmitting();
  const other = await pombo.newWorkspace();
  await pombo.addDomain(other, "other.test");
  using talk = await openClient(pombo, { key: other.key });
  await beginData(talk);
  talk.write(message({ From: "x@other.test" }).slice(0, 80));
  expect((await pombo.operator.call("DELETE", `/api/v1/operator/workspaces/${other.id}`)).status).toBe(200);
  talk.write(`${message({ From: "x@other.test" }).slice(80)}.\r\n`);
  expect(await talk.rest()).toStartWith("535 5.7.8 ");
  await pombo.app.worker.idle();
  expect([pombo.mx.messages, pombo.bugs]).toEqual([[], []]);
});

test("a domain that is deleted in the middle of DATA sends nothing, and the session goes on", async () => {
  await using pombo = await startSubmitting();
  const domainId = await pombo.addDomain(pombo.workspace, "outra.test");
  using talk = await openClient(pombo);
  await beginData(talk);
  await pombo.workspace.call("DELETE", `/api/v1/domains/${domainId}`);
  talk.write(`${message({ From: "x@outra.test" })}.\r\n`);
  expect(await talk.reply()).toStartWith("550 5.7.1 Domain not verified");
  await accepted(talk, message());
});

test("a stop in the middle of DATA: what is under way gets its 250 and is kept, the others are told to go", async () => {
  await using pombo = await startSubmitting();
  using sends = await openClient(pombo);
  using idle = await openClient(pombo, { mode: "implicit" });
  const port = portOf(pombo);
  await beginData(sends);
  sends.write(message().slice(0, 80));
  await new Promise<void>((resolve) => setImmediate(resolve));
  const stopped = pombo.app.stop(10_000);
  expect(await idle.rest()).toBe(CLOSING);
  sends.write(`${message().slice(80)}.\r\n`);
  expect(await sends.rest()).toMatch(/^250 2\.0\.0 Accepted: \S+\r\n421 4\.3\.2 This server is closing down/);
  await stopped;
  await expect(openTalk(port)).rejects.toThrow();
  await pombo.restart();
  await pombo.mx.until(() => pombo.mx.messages.length > 0);
  expect(pombo.mx.messages).toHaveLength(1);
  expect(await totalOf(pombo.workspace)).toBe(1);
  expect(pombo.bugs).toEqual([]);
});

test("when the grace is over a message that is under way is dropped without an answer", async () => {
  const clock = fakeClock();
  await using desk = await startSubmissionDesk({ clock });
  using talk = await open(desk);
  await beginData(talk);
  talk.write("half a message");
  let isStopped = false;
  void desk.server.stop(5_000).then(() => (isStopped = true));
  clock.advance(4_999);
  for (let n = 0; n < 50; n += 1) await new Promise<void>((resolve) => setImmediate(resolve));
  expect([isStopped, talk.isClosed]).toEqual([false, false]);
  await passUntil(clock, "the stop", () => isStopped);
  expect(await talk.rest()).toBe("");
  await until("its going", () => desk.server.clientCount === 0);
  await desk.server.stop(0);
});

test("a certificate that changes is shown to those who come, and changes nothing for those who are connected", async () => {
  await using desk = await startSubmissionDesk();
  const shown = ({ socket }: Talk) => new X509Certificate((socket as TLSSocket).getPeerCertificate().raw).subject;
  using before = await open(desk);
  using implicit = await openSecure(desk.tlsPort, "implicit");
  using plain = await openTalk(desk.port);
  await plain.say("EHLO client.test");
  await beginData(before);
  before.write(message().slice(0, 80));
  desk.certificate.replace(RELAY_CERTIFICATE, false);
  before.write(`${message().slice(80)}.\r\n`);
  expect(await before.reply()).toStartWith("250 2.0.0 Accepted: ");
  expect(await implicit.say("NOOP")).toStartWith("250 ");
  expect([shown(before), shown(implicit)]).toEqual(["CN=mail.pombo.test", "CN=mail.pombo.test"]);
  // Connected before, TLS after.
  expect(await plain.say("STARTTLS")).toStartWith("220 ");
  await plain.secure();
  using after = await openSecure(desk.port);
  using afterImplicit = await openSecure(desk.tlsPort, "implicit");
  expect([plain, after, afterImplicit].map(shown)).toEqual(["CN=relay.test", "CN=relay.test", "CN=relay.test"]);
  for (let n = 0; n < 20; n += 1) desk.certificate.replace(n % 2 === 0 ? OTHER_CERTIFICATE : RELAY_CERTIFICATE, false);
  using last = await openSecure(desk.port);
  expect(shown(last)).toBe("CN=relay.test");
});

test("a client that goes before the answer to its dot has its message accepted all the same, once", async () => {
  await using pombo = await startSubmitting();
  const talk = await openClient(pombo);
  await beginData(talk);
  talk.write(`${message()}.\r\n`);
  talk.socket.end();
  await talk.rest();
  await pombo.mx.until(() => pombo.mx.messages.length > 0);
  using again = await openClient(pombo);
  await accepted(again, message());
  await pombo.app.worker.idle();
  expect(pombo.mx.messages).toHaveLength(1);
});

test("metrics count what was accepted, what was refused and wrong passwords", async () => {
  await using pombo = await startSubmitting({
    configure: (config) => void (config.metrics.listen = { address: "127.0.0.1", port: 0 }),
  });
  const scrape = async () => readMetrics(await (await fetch(pombo.app.metricsUrl ?? "")).text());
  const first = await scrape();
  expect(first.value("pombo_submission_messages_total")).toBe(0);
  expect(first.value("pombo_submission_refused_total", { code: "553" })).toBe(0);
  using talk = await openSecure(portOf(pombo));
  await talk.say(`AUTH PLAIN ${passwordOf(`svc_${"x".repeat(43)}`)}`);
  await talk.say(`AUTH PLAIN ${passwordOf(pombo.workspace.key)}`);
  await accepted(talk, message(), "maria@example.com", "joao@example.com");
  await talk.say("MAIL FROM:<>");
  await talk.say("RCPT TO:<gone@[127.0.0.1]>");
  const read = await scrape();
  expect(read.value("pombo_submission_messages_total")).toBe(1);
  expect(read.value("pombo_submission_refused_total", { code: "535" })).toBe(1);
  expect(read.value("pombo_submission_refused_total", { code: "553" })).toBe(1);
  expect(read.value("pombo_submission_auth_failures_total")).toBe(1);
  expect(read.value("pombo_submission_connections")).toBe(1);
});

test("a port that cannot be had ends the start with what to do, and those that were opened are closed again", async () => {
  await using desk = await startSubmissionDesk();
  const taken = { address: "127.0.0.1", port: desk.port };
  const start = startSubmitting({ configure: ({ submission }) => void (submission.listenTls = [taken]) });
  await expect(start).rejects.toThrow(
    new RegExp(`Port ${desk.port} on 127\\.0\\.0\\.1, where programs hand in mail,.+\\[submission\\] listen_tls`),
  );
});

test("in the sandbox a password goes without TLS, which is not offered: no library trusts its certificate", async () => {
  await using desk = await startSubmissionDesk({ mayAuthenticateInClear: true });
  using talk = await openTalk(desk.port);
  const offered = await talk.say("EHLO client.test");
  expect(offered).toContain("AUTH PLAIN LOGIN");
  expect(offered).not.toContain("STARTTLS");
  expect(await talk.say(`AUTH PLAIN ${passwordOf(KEY)}`)).toStartWith("235 ");
  await beginData(talk);
  talk.write(`${message()}.\r\n`);
  expect(await talk.reply()).toStartWith("250 ");
  expect(await talk.say("STARTTLS")).toStartWith("220 ");
  await talk.secure();
  await talk.say("EHLO client.test");
  // RFC 3207 §4.2: what was said before is forgotten.
  expect(await talk.say("MAIL FROM:<>")).toStartWith("530 5.7.0 Authenticate first");
});
