import { expect, test } from "bun:test";
import { networkInterfaces } from "node:os";
import type { SessionOptions, Submission } from "../../../../../src/protocols/smtp/session/greeting.ts";
import { fakeClock } from "../../../../support/fakes/clock.ts";
import { drop, raw, sayThenDrop, stall, startMx, type MxScript } from "../../../../support/fakes/mx.ts";
import { CONTENT, ENVELOPE, open, runOut, withMx, withSession } from "../../../../support/smtp/helpers.ts";

const PASSWORD = "geheim 🔑 Wort";
const ACCOUNTS = { "loja@relay.test": PASSWORD };

function signingIn(password = PASSWORD, username = "loja@relay.test"): Partial<SessionOptions> {
  const submission: Submission = { isImplicitTls: false, ca: null, credentials: { username, password } };
  return { submission, tls: "required" };
}

/** The answers of a server that says something else than usual to AUTH. */
function answering(auth: NonNullable<MxScript["auth"]>): MxScript {
  return { tls: "good", accounts: ACCOUNTS, auth };
}

test("credentials go by PLAIN where it is offered, in one line and under TLS (RFC 4954 §4, RFC 4616 §2)", async () => {
  const script: MxScript = { tls: "good", accounts: ACCOUNTS, authOffer: "AUTH CRAM-MD5 LOGIN PLAIN" };
  await withSession(
    script,
    async (session, mx) => {
      const [connection] = mx.connections;
      expect(connection).toMatchObject({ isTls: true, user: "loja@relay.test" });
      expect(connection!.clearBytes.toString()).not.toContain("AUTH");
      expect(connection!.commands.filter((line) => line.startsWith("AUTH"))).toEqual([
        `AUTH PLAIN ${Buffer.from(`\0loja@relay.test\0${PASSWORD}`).toString("base64")}`,
      ]);
      expect(await session.send(ENVELOPE, CONTENT, async () => {})).toMatchObject({ kind: "accepted" });
    },
    signingIn(),
  );
});

for (const authOffer of ["AUTH LOGIN", "AUTH=LOGIN", "auth=login cram-md5", "AUTH CRAM-MD5"]) {
  test(`they go by LOGIN where it is all that is offered: ${authOffer}`, async () => {
    // Old servers tell in two lines, one for old clients.
    const capabilities = authOffer === "AUTH CRAM-MD5" ? ["AUTH=LOGIN CRAM-MD5"] : [];
    await withSession(
      { tls: "good", accounts: ACCOUNTS, authOffer, capabilities },
      async (_, mx) => {
        expect(mx.connections[0]).toMatchObject({ isTls: true, user: "loja@relay.test" });
        expect(mx.connections[0]!.commands).toContain("AUTH LOGIN");
      },
      signingIn(),
    );
  });
}

test("a response too long for a command line comes after the question (RFC 4954 §4)", async () => {
  const password = "token".repeat(300);
  await withSession(
    { tls: "good", accounts: { "loja@relay.test": password } },
    async (_, mx) => {
      expect(mx.connections[0]!.user).toBe("loja@relay.test");
      expect(mx.connections[0]!.commands).toContain("AUTH PLAIN");
    },
    signingIn(password),
  );
});

test("a server that asks for the response all the same gets it again", async () => {
  await withSession(
    answering((command) => (command.startsWith("AUTH") ? "334 " : "235 2.7.0 Welcome")),
    async (_, mx) => {
      const [command, response] = mx.connections[0]!.commands.slice(-2);
      expect(command).toBe(`AUTH PLAIN ${response}`);
    },
    signingIn(),
  );
});

test("wrong credentials are a refusal at AUTH, and nothing is sent", async () => {
  for (const authOffer of ["AUTH PLAIN", "AUTH LOGIN"]) {
    await withMx({ tls: "good", accounts: ACCOUNTS, authOffer }, async (mx) => {
      expect(await open(mx, signingIn("wrong password"))).toMatchObject({
        kind: "refused",
        stage: "auth",
        reply: { code: 535, enhanced: "5.7.8", text: "5.7.8 Error: authentication failed" },
      });
      await mx.until(() => mx.connections[0]!.isClosed);
    });
  }
});

test("a server without PLAIN and LOGIN is not asked, and does not see the password", async () => {
  for (const authOffer of ["AUTH CRAM-MD5 XOAUTH2", "AUTH", "AUTHENTICATE PLAIN"]) {
    await withMx({ tls: "good", accounts: ACCOUNTS, authOffer }, async (mx) => {
      expect(await open(mx, signingIn())).toMatchObject({
        kind: "unfit",
        stage: "auth",
        enhanced: "5.5.4",
        reason: "the server offers neither AUTH PLAIN nor AUTH LOGIN",
      });
      expect(mx.connections[0]!.commands.filter((line) => line.startsWith("AUTH"))).toEqual([]);
    });
  }
});

test("what is offered before TLS does not count: only the second EHLO says how to sign in (R15)", async () => {
  const ehlo: MxScript["ehlo"] = (_, { isTls }) =>
    isTls ? "250 mx.example" : "250-mx.example\n250-STARTTLS\n250 AUTH PLAIN";
  await withMx({ tls: "good", ehlo }, async (mx) => {
    expect(await open(mx, signingIn())).toMatchObject({ kind: "unfit", stage: "auth" });
  });
});

/** A machine without another interface than loopback cannot have this tested. */
const elsewhere = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === "IPv4" && !each.internal)?.address;

test.skipIf(elsewhere === undefined)("a password goes without TLS to this machine alone", async () => {
  for (const address of ["127.0.0.1", elsewhere!]) {
    const mx = await startMx({ accounts: ACCOUNTS }, { address });
    const opened = await open(mx, { ...signingIn(), tls: "never", address });
    if (address === "127.0.0.1") expect(opened.kind).toBe("open");
    else
      expect(opened).toMatchObject({ kind: "broken", stage: "auth", reason: "a password is never sent without TLS" });
    expect(mx.connections[0]!.user).toBe(address === "127.0.0.1" ? "loja@relay.test" : null);
    if (opened.kind === "open") opened.session.destroy();
    await mx.close();
  }
});

test("a server that repeats what it was sent does not get the credentials into a record", async () => {
  const secret = "correct-horse-battery";
  const response = Buffer.from(`\0loja@relay.test\0${secret}`).toString("base64");
  const echoes: ((command: string) => string)[] = [
    (command) => `500 5.5.1 Unknown command: ${command}`,
    (command) => `500-5.5.1 Unknown command\n500 5.5.1 ${command.toUpperCase()}`,
    () => `535 5.7.8 No: ${response} (loja@relay.test/${secret}) ${secret.toUpperCase()}`,
    () => `535 5.7.8 ${"x".repeat(480)} ${response}`,
    () => `535 5.7.8 ${Buffer.from(secret).toString("base64")}`,
    () => `no reply at all ${secret}`,
    () => `250 2.0.0 Fine\n454 4.7.0 ${secret}`,
  ];
  for (const echo of echoes) {
    await withMx(
      answering((command) => raw(`${echo(command).replaceAll("\n", "\r\n")}\r\n`)),
      async (mx) => {
        const told = JSON.stringify(await open(mx, signingIn(secret))).toLowerCase();
        for (const hidden of [secret, response.slice(0, 12).toLowerCase(), "loja@relay"])
          expect(told).not.toContain(hidden);
      },
    );
  }
});

test("a password that is a beginning of common words does not blot out the answer", async () => {
  await withMx({ tls: "good", accounts: { a: "b" } }, async (mx) => {
    expect(await open(mx, signingIn("c", "a"))).toMatchObject({
      reply: { text: "5.7.8 Error: authentication failed" },
    });
  });
});

const REFUSALS: [reply: string, code: number][] = [
  ["454 4.7.0 Temporary authentication failure", 454],
  ["421 4.7.0 Too many failures", 421],
  ["530 5.7.0 Must issue STARTTLS first", 530],
  ["534 5.7.9 Authentication mechanism is too weak", 534],
  ["538 5.7.11 Encryption required", 538],
];

for (const [reply, code] of REFUSALS) {
  test(`a ${code} to AUTH is a refusal at that stage`, async () => {
    await withMx(answering(reply), async (mx) => {
      expect(await open(mx, signingIn())).toMatchObject({ kind: "refused", stage: "auth", reply: { code } });
    });
  });
}

test("an answer that does not belong to AUTH, a dropped connection and a silence are breaks there (R13, R27)", async () => {
  const table: [NonNullable<MxScript["auth"]>, string][] = [
    ["334 more", "AUTH answered with 334"],
    ["354 Go on", "AUTH answered with 354"],
    [drop(), "the connection was lost"],
    [stall(), "no answer to AUTH within 300 s"],
  ];
  for (const [auth, reason] of table) {
    await withMx(answering(auth), async (mx) => {
      const clock = fakeClock();
      const opened = await runOut(clock, open(mx, { ...signingIn(), clock }));
      expect(opened).toMatchObject({ kind: "broken", stage: "auth", isTlsFailure: false });
      if (opened.kind === "broken" && auth !== table[2]![0]) expect(opened.reason).toBe(reason);
    });
  }
  await withMx(answering(sayThenDrop("535 5.7.8 Go away")), async (mx) => {
    expect(await open(mx, signingIn())).toMatchObject({ kind: "refused", stage: "auth", reply: { code: 535 } });
  });
});

test("what is kept of the dialogue holds no credentials, whatever the server repeats", async () => {
  const echo = (command: string) => `535 5.7.8 wrong: ${command} ${PASSWORD}`;
  for (const authOffer of ["AUTH PLAIN", "AUTH LOGIN"]) {
    await withMx({ tls: "good", accounts: ACCOUNTS, authOffer, auth: echo }, async (mx) => {
      const refused = await open(mx, signingIn());
      if (refused.kind === "open") throw new Error("let in");
      expect(refused.dialogue?.text()).toMatch(new RegExp(`\\d+ > ${authOffer}\\n\\d+ < 535 …$`));
    });
    await withSession(
      { tls: "good", accounts: ACCOUNTS, authOffer, rcpt: "550 5.1.1 No" },
      async (session) => {
        await session.send(ENVELOPE, CONTENT, async () => {});
        const dialogue = session.dialogue.text();
        expect(dialogue).toContain(`> ${authOffer}\n`);
        expect(dialogue).toContain("> MAIL FROM:<");
        expect(dialogue).toContain("< 550 5.1.1 No");
        const forms = ["geheim", "loja@relay.test"].flatMap((each) => [each, Buffer.from(each).toString("base64")]);
        for (const form of [...forms, Buffer.from(`\0loja@relay.test\0${PASSWORD}`).toString("base64")])
          expect(dialogue).not.toContain(form.replace(/=+$/, "").slice(0, 8));
      },
      signingIn(),
    );
  }
});
