// `pombo doctor --send-test`: a real message, what is said over it, and the reply to it.

import { expect, setDefaultTimeout, test } from "bun:test";
import { runHere } from "../../support/cli/kit.ts";
import { HOSTNAME, SENDING_DOMAIN, startInstance } from "../../support/fakes/instance.ts";

setDefaultTimeout(60_000);

const PATH = "/api/v1/operator/doctor/test-mail";
const TO = "maria@example.com";

test("it goes from the only domain over the way of all mail, and its dialogue and what to look at are shown", async () => {
  await using pombo = await startInstance({ configure: (config) => void (config.inbound.listen = null) });
  const { code, out, err } = await runHere(["doctor", "--send-test", TO, "--data-dir", pombo.directory], {
    width: 200,
  });
  expect([code, err]).toEqual([0, ""]);
  expect(out).toContain(`A message from pombo@${SENDING_DOMAIN} to ${TO}`);
  expect(out).toMatch(/ S: 220 /);
  expect(out).toMatch(/ C: RCPT TO:<maria@example\.com>/);
  expect(out).toContain("Show original");
  const [message] = pombo.mx.messages;
  expect(message?.from).toEndWith(`@bounce.${SENDING_DOMAIN}`);
  const text = message?.stuffed.toString() ?? "";
  expect(text).toContain(`d=${SENDING_DOMAIN};`);
  expect(text).not.toContain("\r\nReply-To:");
  expect(pombo.bugs).toEqual([]);
});

test("a reply from the address is found, and what it quotes is explained", async () => {
  await using pombo = await startInstance();
  const sent = await pombo.operator.call("POST", PATH, { body: { to: TO } });
  expect([sent.status, sent.body.data]).toMatchObject([
    202,
    { from: `pombo@${SENDING_DOMAIN}`, to: TO, replyTo: `postmaster@${HOSTNAME}`, reply: null },
  ]);
  await pombo.app.worker.idle();
  const before = await pombo.operator.call("GET", PATH);
  expect(before.body.data).toMatchObject({ id: sent.body.data.id, status: "delivered", reply: null });
  expect(before.body.data.lines.at(-1).text).toBe("It was accepted.");
  const receive = (envelopeFrom: string, text: string) =>
    pombo.app.receive({
      destinations: [{ kind: "person", mailbox: "postmaster" }],
      envelopeFrom,
      clientAddress: "127.0.0.1",
      helo: "mx.example.com",
      isTls: false,
      receivedAt: Date.now() + 1_000,
      bytes: Buffer.from(text),
    });
  await receive("stranger@example.com", "Subject: hello\r\n\r\nhello\r\n");
  expect((await pombo.operator.call("GET", PATH)).body.data.reply).toBeNull();
  const quoted = "> Authentication-Results: mx.example.com;\r\n>  dkim=pass header.d=x;\r\n>  spf=softfail\r\n";
  await receive(TO, `Subject: Re: Test\r\nAuthentication-Results: spf=fail\r\n\r\n${quoted}`);
  const { reply } = (await pombo.operator.call("GET", PATH)).body.data;
  expect(reply.results).toEqual([
    { method: "spf", result: "softfail", words: expect.stringContaining("pombo doctor --only spf") },
    { method: "dkim", result: "pass", words: "DKIM passed." },
  ]);
  expect(pombo.bugs).toEqual([]);
});

test("an address of this server, a suppressed one and a stranger's domain are refused with what to do", async () => {
  await using pombo = await startInstance();
  const refused = async (to: string, domain?: string) => {
    const { status, body } = await pombo.operator.call("POST", PATH, { body: { to, domain } });
    return [status, body.errors[0].message];
  };
  expect(await refused(`me@${HOSTNAME}`)).toEqual([422, expect.stringContaining("address of this server")]);
  pombo.dns.zone["own.example"] = { MX: [[10, HOSTNAME]] };
  expect(await refused("me@own.example")).toEqual([422, expect.stringContaining("address of this server")]);
  expect(await refused("not an address")).toEqual([422, expect.any(String)]);
  expect(await refused(TO, "nobody.example")).toEqual([404, expect.stringContaining("No workspace sends")]);
  await pombo.workspace.call("POST", "/api/v1/suppressions", { body: { address: TO, channel: "email" } });
  expect(await refused(TO, SENDING_DOMAIN)).toEqual([422, expect.stringContaining("must not be suppressed")]);
  expect((await pombo.operator.call("GET", PATH)).status).toBe(404);
  for (const method of ["GET", "POST"])
    expect((await pombo.workspace.call(method, PATH, method === "GET" ? {} : { body: { to: TO } })).status).toBe(403);
  expect(pombo.mx.messages).toEqual([]);
});

test("a message that is refused is told with the server's words", async () => {
  await using pombo = await startInstance({ configure: (config) => void (config.inbound.listen = null) });
  pombo.mx.script.rcpt = () => "550 5.1.1 nobody here";
  const { code, out } = await runHere(["doctor", "--send-test", TO, "--data-dir", pombo.directory], { width: 200 });
  expect(code).toBe(1);
  expect(out).toContain("550 5.1.1 nobody here");
  expect(out).toContain("It was not delivered");
});
