// Every answer that a program which hands in mail can get: its code, its enhanced code, and words that help.

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { NO_RATE_LIMITS } from "../../../src/config/config.ts";
import { type HeldInstance } from "../../support/api/kit.ts";
import { MINUTE } from "../../support/api/one-email.ts";
import type { Instance, Workspace } from "../../support/fakes/instance.ts";
import { openTalk } from "../../support/inbound/kit.ts";
import { openClient, openSecure, portOf, startHeldSubmitting, startSubmitting } from "../../support/submission/kit.ts";
import { accepted, beginData, handIn, message, passwordOf, toBase64 } from "../../support/submission/wire.ts";

setDefaultTimeout(60_000);

const WRONG = `svc_${"x".repeat(43)}`;

async function suppress(pombo: Instance, address: string): Promise<void> {
  const { status } = await pombo.workspace.call("POST", "/api/v1/suppressions", { body: { address } });
  expect(status).toBe(201);
}

describe("before a password", () => {
  test("without TLS nothing is taken, and a password is neither asked for nor looked at", async () => {
    await using pombo = await startSubmitting();
    using talk = await openTalk(portOf(pombo));
    const offered = (await talk.say("EHLO client.test")).split("\r\n").map((line) => line.slice(4));
    expect(offered).toEqual(["mail.pombo.test", "PIPELINING", "8BITMIME", "SMTPUTF8", "STARTTLS", "SIZE 20971520", ""]);
    const first = "530 5.7.0 Encryption is off: turn on STARTTLS (often called TLS) in the program\r\n";
    expect(await talk.say("MAIL FROM:<app@client.test>")).toBe(first);
    expect(await talk.say(`AUTH PLAIN ${passwordOf(pombo.workspace.key)}`)).toBe(first);
    expect(await talk.say("AUTH LOGIN")).toBe(first);
    expect(await talk.say("MAIL FROM:<app@client.test>")).toBe(first);
  });

  test.each(["starttls", "implicit"] as const)(
    "over TLS (%s) AUTH is offered, and needed for all else",
    async (mode) => {
      await using pombo = await startSubmitting();
      using talk = await openSecure(portOf(pombo, mode), mode);
      const offered = (await talk.say("EHLO client.test")).split("\r\n").map((line) => line.slice(4));
      expect(offered).toEqual([
        "mail.pombo.test",
        "PIPELINING",
        "8BITMIME",
        "SMTPUTF8",
        "AUTH PLAIN LOGIN",
        "SIZE 20971520",
        "",
      ]);
      const first = "530 5.7.0 Authenticate first: AUTH PLAIN or AUTH LOGIN, with an API key as the password\r\n";
      for (const line of ["MAIL FROM:<app@client.test>", "RCPT TO:<maria@example.com>", "DATA"])
        expect([line, await talk.say(line)]).toEqual([line, first]);
      expect(await talk.say(`AUTH PLAIN ${passwordOf(pombo.workspace.key)}`)).toStartWith("235 ");
      await accepted(talk, message());
    },
  );

  test("a wrong password is 535, whatever is wrong with it, and the operator's key is no password", async () => {
    await using pombo = await startSubmitting();
    using talk = await openSecure(portOf(pombo));
    const wrong =
      "535 5.7.8 The password is not a valid API key. Give a key of the workspace (svc_...), copied whole; the user name may be anything\r\n";
    for (const key of [WRONG, "", "secret", pombo.operator.key, `${pombo.workspace.key}x`]) {
      const reply = await talk.say(`AUTH PLAIN ${passwordOf(key)}`);
      expect([key, Buffer.from(reply, "latin1").toString()]).toEqual([key, wrong]);
    }
  });

  test("too many wrong passwords are counted with the API's by address, and a valid key always passes", async () => {
    await using held = await startHeldSubmitting({
      configure: (config) => void (config.rateLimits = { ...NO_RATE_LIMITS, failedAuthPerMinute: 3 }),
    });
    const { pombo } = held;
    expect((await pombo.workspace.call("GET", "/api/v1/emails", { key: WRONG })).status).toBe(401);
    using talk = await openSecure(portOf(pombo));
    const wrong = `AUTH PLAIN ${passwordOf(WRONG)}`;
    expect([await talk.say(wrong), await talk.say(wrong)].map((reply) => reply.slice(0, 9))).toEqual([
      "535 5.7.8",
      "535 5.7.8",
    ]);
    expect(await talk.say(wrong)).toBe("421 4.7.0 Wait 20 s: too many wrong passwords came from this address\r\n");
    expect(await talk.rest()).toBe("");
    expect((await pombo.workspace.call("GET", "/api/v1/emails", { key: WRONG })).status).toBe(429);
    using other = await openClient(pombo);
    await accepted(other, message());
    held.clock.advance(MINUTE);
    using again = await openSecure(portOf(pombo));
    expect(await again.say(wrong)).toStartWith("535 5.7.8");
  });

  test("AUTH PLAIN in two steps, AUTH LOGIN, any user name, and white space around the key are understood", async () => {
    await using pombo = await startSubmitting();
    const { key } = pombo.workspace;
    const dialogues = [
      ["AUTH PLAIN", passwordOf(key)],
      ["AUTH LOGIN", toBase64("anything"), toBase64(key)],
      [`AUTH LOGIN ${toBase64("anything")}`, toBase64(` ${key}\n`)],
      [`auth plain ${passwordOf(key, "maria@loja.test")}`],
    ];
    for (const lines of dialogues) {
      using talk = await openSecure(portOf(pombo));
      const replies: string[] = [];
      for (const line of lines) replies.push((await talk.say(line)).slice(0, 3));
      expect(replies).toEqual([...lines.slice(1).map(() => "334"), "235"]);
    }
  });
});

describe("at MAIL", () => {
  test("over the rate limit, which is the API's, it is 451 with the seconds", async () => {
    await using held = await startHeldSubmitting({
      configure: (config) => void (config.rateLimits = { ...NO_RATE_LIMITS, sendsPerSecond: 1, sendsBurst: 2 }),
    });
    const { pombo } = held;
    using talk = await openClient(pombo);
    expect((await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() })).status).toBe(202);
    await accepted(talk, message());
    expect(await talk.say("MAIL FROM:<app@client.test>")).toBe(
      "451 4.7.1 Too many messages of this workspace at once: come back in 1 s\r\n",
    );
    expect((await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() })).status).toBe(429);
    held.clock.advance(1_000);
    await accepted(talk, message({ "Message-ID": "<two@loja.test>" }));
  });

  test("of a workspace that is blocked it is 550 5.7.1 with the operator's reason", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    await beginData(talk);
    const path = `/api/v1/operator/workspaces/${pombo.workspace.id}/block`;
    expect((await pombo.operator.call("POST", path, { body: { reason: "spam" } })).status).toBe(200);
    // Also when it was blocked while its message came.
    talk.write(`${message()}.\r\n`);
    const words = /^550 5\.7\.1 The operator has blocked sending since \d{4}-\d\d-\d\d: spam: Only the operator can/;
    expect(await talk.reply()).toMatch(words);
    expect(await talk.say("MAIL FROM:<app@client.test>")).toMatch(words);
  });

  test("with a SIZE that is too large it is 552 5.3.4, before a byte has come", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    const most = pombo.config.submission.maxMessageBytes;
    expect(await talk.say(`MAIL FROM:<app@client.test> SIZE=${most + 1}`)).toBe(
      "552 5.3.4 The message is too large: at most 20,971,520 octets are taken\r\n",
    );
    expect(await talk.say(`MAIL FROM:<app@client.test> SIZE=${most}`)).toStartWith("250 ");
  });
});

describe("at RCPT", () => {
  test("a suppressed recipient is 550 5.1.1 with the reason and how to lift it; the others go", async () => {
    await using pombo = await startSubmitting();
    await suppress(pombo, "gone@example.com");
    using talk = await openClient(pombo);
    await talk.say("MAIL FROM:<app@client.test>");
    const reply = await talk.say("RCPT TO:<Gone@Example.com>");
    expect(reply).toStartWith("550 5.1.1 The recipient is suppressed (manual): ");
    const path = /DELETE (\S+) lifts that/.exec(reply)?.[1] ?? "";
    expect(await talk.say("RCPT TO:<maria@example.com>")).toStartWith("250 ");
    expect((await pombo.workspace.call("DELETE", path)).status).toBe(200);
    expect(await talk.say("RCPT TO:<gone@example.com>")).toStartWith("250 ");
  });

  test("what is no usable address is 553 5.1.3, and the next one may be", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    await talk.say("MAIL FROM:<app@client.test>");
    const unusable = [
      ...["maria", "maria@", "@example.com", "maria@localhost", "maria@[127.0.0.1]", "maria@example..com"],
      ...[".maria@example.com", "maria@exam_ple.com", "", "a b@example.com", `${"m".repeat(65)}@example.com`],
    ];
    for (const address of unusable)
      expect([address, await talk.say(`RCPT TO:<${address}>`)]).toEqual([
        address,
        expect.stringMatching(/^553 5\.1\.3 /),
      ]);
    expect(await talk.say("RCPT TO:<maria@example.com>")).toStartWith("250 ");
  });

  test("recipients over the limit are 452 4.5.3, however many, and those before get it", async () => {
    await using pombo = await startSubmitting({ configure: ({ submission }) => void (submission.maxRecipients = 2) });
    using talk = await openClient(pombo);
    await talk.say("MAIL FROM:<app@client.test>");
    talk.write(Array.from({ length: 10_000 }, (_, n) => `RCPT TO:<r${n}@example.com>\r\n`).join(""));
    for (let n = 0; n < 2; n += 1) expect(await talk.reply()).toStartWith("250 ");
    const refused = "452 4.5.3 A message may have 2 recipients: send it again to the others\r\n";
    for (let n = 2; n < 10_000; n += 1) expect([n, await talk.reply()]).toEqual([n, refused]);
    expect(await talk.say("DATA")).toStartWith("354 ");
    expect(await talk.say(`${message()}.`)).toEndWith(" (2 recipients)\r\n");
  });

  test("a hundred errors without a message end the session", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    await talk.say("MAIL FROM:<app@client.test>");
    talk.write("RCPT TO:<none>\r\n".repeat(200));
    const said = (await talk.rest()).trimEnd().split("\r\n");
    expect([said.length, said.at(-1)]).toEqual([101, "421 4.7.0 Too many errors"]);
  });
});

describe("at the dot", () => {
  test("a From whose domain is not verified is 550 5.7.1 with the API's hint", async () => {
    await using pombo = await startSubmitting();
    using talk = await openClient(pombo);
    expect(await handIn(talk, message({ From: "x@other.test" }))).toBe(
      "550 5.7.1 Domain not verified: Register other.test with POST /api/v1/domains, publish its records and call the verification check.\r\n",
    );
    const { body } = await pombo.workspace.call("POST", "/api/v1/domains", { body: { domain: "pending.test" } });
    expect(await handIn(talk, message({ From: "x@pending.test" }))).toBe(
      `550 5.7.1 Domain not verified: Publish the records of pending.test and call POST /api/v1/domains/${body.data.id}/verification-checks.\r\n`,
    );
  });

  test("a key of one domain sends from that domain, and 550 5.7.1 says so of another", async () => {
    await using pombo = await startSubmitting();
    const domainId = await pombo.addDomain(pombo.workspace, "outra.test");
    const made = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "one", domainId } });
    using talk = await openClient(pombo, { key: made.body.data.key });
    expect(await handIn(talk, message())).toBe(
      "550 5.7.1 This key may not send from loja.test: Send from the domain that the key is restricted to, or use another key.\r\n",
    );
    await accepted(talk, message({ From: "x@outra.test" }));
  });

  test.each([
    ["day", { emailsPerDay: 1, emailsPerMonth: 1_000 }, "2026-11-22 00:00 UTC"],
    ["month", { emailsPerDay: 1_000, emailsPerMonth: 1 }, "2026-12-01 00:00 UTC"],
  ])("over the quota of the %s it is 452 4.7.1 with the time of the next", async (_, limits, next) => {
    await using held: HeldInstance = await startHeldSubmitting({
      configure: (config) => void Object.assign(config.plans["launch"] ?? {}, limits),
    });
    const { pombo } = held;
    const workspace: Workspace = await pombo.newWorkspace("launch");
    await pombo.addDomain(workspace, "small.test");
    using talk = await openClient(pombo, { key: workspace.key });
    await accepted(talk, message({ From: "x@small.test" }));
    const second = message({ From: "x@small.test", "Message-ID": "<two@small.test>" });
    expect(await handIn(talk, second)).toMatch(
      new RegExp(`^452 4\\.7\\.1 .+\\. The next period begins at ${next}\r\n$`),
    );
  });

  test("where the plan's room for contents is full it is 452 with what to do", async () => {
    await using pombo = await startSubmitting({
      configure: (config) => void Object.assign(config.plans["launch"] ?? {}, { storage: 4_096 }),
    });
    const workspace = await pombo.newWorkspace("launch");
    await pombo.addDomain(workspace, "small.test");
    using talk = await openClient(pombo, { key: workspace.key });
    const large = Buffer.from(crypto.getRandomValues(new Uint8Array(8_192))).toString("base64");
    const body = large.replaceAll(/.{76}/g, "$&\r\n");
    expect(await handIn(talk, message({ From: "x@small.test" }, `${body}\r\n`))).toMatch(
      /^452 4\.2\.2 The plan's .+ MiB/,
    );
  });

  test("a message that is too large is 552 5.3.4 at its end, and the session goes on", async () => {
    await using pombo = await startSubmitting({
      configure: ({ submission }) => void (submission.maxMessageBytes = 128 * 1024),
    });
    using talk = await openClient(pombo);
    const head = message();
    const fill = (bytes: number) => {
      const lines = "y"
        .repeat(76)
        .concat("\r\n")
        .repeat(Math.ceil(bytes / 78));
      return `${head}${lines.slice(0, bytes - head.length - 2)}\r\n`;
    };
    expect(await handIn(talk, fill(128 * 1024 + 1))).toBe(
      "552 5.3.4 The message is too large: at most 131,072 octets are taken\r\n",
    );
    await accepted(talk, fill(128 * 1024));
    await beginData(talk, undefined, " SIZE=1000");
    talk.write(`${fill(100 * 1024)}.\r\n`);
    expect(await talk.reply()).toBe("552 5.3.4 The message is larger than its SIZE said\r\n");
    await beginData(talk, undefined, " SIZE=1000");
    talk.write(`${fill(2_000).replace("Recibo", "Outro")}.\r\n`);
    expect(await talk.reply()).toStartWith("250 2.0.0 Accepted: ");
  });

  test("one that never ends is told so in the middle, once twice the largest has come", async () => {
    await using pombo = await startSubmitting({
      configure: ({ submission }) => void (submission.maxMessageBytes = 64 * 1024),
    });
    using talk = await openClient(pombo);
    await beginData(talk);
    talk.write(`${"y".repeat(76)}\r\n`.repeat(2_000));
    expect(await talk.rest()).toBe("552 5.3.4 The message is too large: at most 65,536 octets are taken\r\n");
  });
});

describe("while nothing can be stored", () => {
  test("with the disk full it is 452 4.3.1 at MAIL and at the dot, and taken once there is room", async () => {
    let freeBytes = 1e12;
    await using held = await startHeldSubmitting({
      readFree: () => ({ freeBytes, freeInodesPercent: 100 }),
      configure: (config) => void (config.disk.minFreeBytes = 1_024),
    });
    const { pombo, clock } = held;
    using talk = await openClient(pombo);
    await beginData(talk);
    freeBytes = 1;
    clock.advance(5_000);
    talk.write(`${message()}.\r\n`);
    expect(await talk.reply()).toBe("452 4.3.1 Nothing can be accepted now. Come back in 5 s\r\n");
    expect(await talk.say("MAIL FROM:<app@client.test>")).toBe(
      "452 4.3.1 Nothing can be accepted now, come back in a moment\r\n",
    );
    freeBytes = 1e12;
    for (let n = 0; n < 20; n += 1) clock.advance(5_000);
    await accepted(talk, message());
    expect(pombo.bugs).toEqual([]);
  });
});
