import { expect, test } from "bun:test";
import { composeMessage } from "../../../../src/protocols/mime/compose.ts";
import { type BounceReport, parseReport } from "../../../../src/protocols/dsn/parse-report.ts";
import { readReturnPath, returnPath } from "../../../../src/protocols/dsn/return-path.ts";
import { isGenuine } from "../../../../src/protocols/dsn/signed-token.ts";
import { mailbox } from "../../../support/mime/mailbox.ts";
import { bytes, group, mail, report } from "../../../support/dsn/mails.ts";

// RFC 3464; R38 to R41, R46.

const UNKNOWN_USER = "550 5.1.1 <maria@example.com>: User unknown";

test("a failed report tells the codes, the words, the recipient and the server", () => {
  const read = parseReport(report({ groups: [`${group("5.1.1", UNKNOWN_USER)}\nRemote-MTA: dns; mx.example.com`] }));
  expect(read).toEqual({
    kind: "bounce",
    isPermanent: true,
    isHard: true,
    category: "invalid_recipient",
    type: "permanent",
    status: "5.1.1",
    smtpCode: 550,
    diagnostic: UNKNOWN_USER,
    finalRecipient: "maria@example.com",
    remoteMta: "mx.example.com",
    recipients: [
      {
        isPermanent: true,
        isHard: true,
        category: "invalid_recipient",
        type: "permanent",
        status: "5.1.1",
        smtpCode: 550,
        diagnostic: UNKNOWN_USER,
        finalRecipient: "maria@example.com",
        remoteMta: "mx.example.com",
      },
    ],
    returnPaths: [],
  });
});

test("delayed is no bounce, whatever its codes say (R40)", () => {
  const read = parseReport(report({ groups: [group("5.1.1", UNKNOWN_USER, "delayed")] }));
  expect(read).toMatchObject({ kind: "delayed", status: "5.1.1", diagnostic: UNKNOWN_USER });
});

test("delivered, relayed and expanded are no bounces (R40)", () => {
  for (const action of ["delivered", "relayed", "expanded"])
    expect([action, parseReport(report({ groups: [group("2.0.0", "250 ok", action)] })).kind]).toEqual([
      action,
      "unknown",
    ]);
});

test("an action that RFC 3464 does not know is a failure", () => {
  expect(parseReport(report({ groups: [group("4.4.7", "timed out", "expired")] }))).toMatchObject({
    kind: "bounce",
    isPermanent: false,
  });
});

test("without an action the status decides", () => {
  const lacking = (status: string) => group(status, null).replace("Action: failed\n", "");
  expect(parseReport(report({ groups: [lacking("5.1.1")] }))).toMatchObject({
    kind: "bounce",
    isHard: true,
  });
  expect(parseReport(report({ groups: [lacking("2.0.0")] })).kind).toBe("unknown");
  expect(
    parseReport(
      report({ groups: [lacking("4.4.1")], text: "This is a warning message only. Your message will be retried." }),
    ).kind,
  ).toBe("delayed");
});

test("given up after temporary failures is a bounce that passes, and never suppresses", () => {
  const read = parseReport(report({ groups: [group("4.1.1", "450 4.1.1 User unknown")] }));
  expect(read).toMatchObject({
    kind: "bounce",
    isPermanent: false,
    isHard: false,
    type: "transient",
    category: "invalid_recipient",
  });
});

test("the server's enhanced code goes before the report's status, which goes before the basic code", () => {
  const isPermanent = (status: string, diagnostic: string) =>
    parseReport(report({ groups: [group(status, diagnostic)] }));
  expect(isPermanent("4.5.0", "550 5.5.0 no")).toMatchObject({ isPermanent: true, status: "5.5.0" });
  expect(isPermanent("4.0.0", "554 no")).toMatchObject({ isPermanent: false });
  expect(isPermanent("5.0.0", "421 later")).toMatchObject({ isPermanent: true });
});

test("a code with a detail is told rather than x.0.0", () => {
  expect(
    parseReport(report({ groups: [group("5.0.0", "5.1.0 - Unknown address error 550-'5.7.1 Access denied'")] })),
  ).toMatchObject({ status: "5.7.1" });
});

test("policy, content and reputation never suppress, whatever the words about the user say (R38)", () => {
  const innocent = [
    group("5.7.26", "550 5.7.26 no such user (in reply to RCPT TO command)"),
    group("5.2.2", "552 5.2.2 user unknown"),
    group("5.1.8", "550 5.1.8 user unknown"),
    group("5.1.1", "550 5.1.1 user unknown: rejected as spam"),
    group("5.1.1", "550 5.1.1 mailbox full, user unknown"),
  ];
  for (const each of innocent)
    expect([each, parseReport(report({ groups: [each] }))]).toMatchObject([each, { isHard: false }]);
});

test("a text that also tells of a full mailbox suppresses nobody", () => {
  const read = parseReport(
    report({
      text: "Your message was automatically rejected: Not enough disk space",
      groups: [group("5.1.1", UNKNOWN_USER)],
    }),
  );
  expect(read).toMatchObject({ kind: "bounce", category: "mailbox_full", isHard: false });
});

test("an answer of unknown stage without an address code suppresses where its words are plain alone (R39)", () => {
  const isHard = (status: string, said: string) =>
    (parseReport(report({ groups: [group(status, said)] })) as BounceReport).isHard;
  for (const status of ["5.0.0", "5.5.0", "5.7.1"]) {
    expect(isHard(status, "550 User unknown")).toBe(true);
    expect(isHard(status, "554 Rejected: not listed in our directory")).toBe(false);
    expect(isHard(status, "550 <maria@example.com>: rejected")).toBe(false);
    expect(isHard(status, "550 Mailbox unavailable")).toBe(false);
    // As carriers write of what they filter.
    expect(isHard(status, "550 : User unknown")).toBe(false);
    expect(isHard(status, "550 Unknown user maria@example.com")).toBe(false);
    expect(isHard(status, "550 User unknown; quota exceeded")).toBe(false);
  }
  const UNAVAILABLE = "550 Requested action not taken: mailbox unavailable (S2017062302)";
  for (const [status, expected] of [
    ["5.0.0", true],
    ["5.5.0", true],
    ["5.7.1", false],
  ] as const)
    expect(isHard(status, UNAVAILABLE)).toBe(expected);
  for (const status of ["5.2.0", "5.3.4", "5.6.0", "5.7.26"]) expect(isHard(status, "550 User unknown")).toBe(false);
});

test("words without fields are believed of a mail system only", () => {
  const text = "Your message could not be delivered.\n\n550 5.1.1 <maria@example.com>: user unknown";
  expect(parseReport(mail({ text }))).toMatchObject({ kind: "bounce", isHard: true });
  expect(parseReport(mail({ text, from: "Shop <shop@example.com>" }))).toMatchObject({ kind: "bounce", isHard: false });
});

test("the version of a program is no code", () => {
  const text =
    "Your message about release 2.0.12 did not reach the following recipient(s):\n\nmaria@example.com\n    The recipient name is not recognized";
  expect(parseReport(mail({ text }))).toMatchObject({ isPermanent: true, isHard: true, status: null });
});

test("a refusal for now suppresses nobody, though its reporter has given up (R38)", () => {
  const said = "450 <maria@example.com>: user unknown (in reply to RCPT TO command)";
  expect(parseReport(report({ groups: [group("5.0.0", said)] }))).toMatchObject({ isPermanent: true, isHard: false });
});

test("an empty return path is the mark of a mail system", () => {
  const text = "Your message could not be delivered.\n\n550 5.1.1 <maria@example.com>: user unknown";
  const from = "Filter <filter@mx.test>";
  expect(parseReport(mail({ text, from, headers: ["Return-Path: <>"] }))).toMatchObject({ isHard: true });
  expect(parseReport(mail({ text, from, headers: ["Return-Path: <a@b.test>"] }))).toMatchObject({ isHard: false });
});

test("a mail about nothing of this is unknown", () => {
  for (const text of ["", "Hello", "Obrigada pela encomenda! Quando chega?"])
    expect(parseReport(mail({ from: "Maria <maria@example.com>", subject: "Re: Pedido", text })).kind).toBe("unknown");
  expect(parseReport(new Uint8Array())).toMatchObject({ kind: "unknown" });
});

test("a bounce of one sentence, or of html alone, is read", () => {
  const text = "Your message could not be delivered to maria@example.com: the mailbox does not exist.";
  expect(parseReport(mail({ text }))).toMatchObject({ category: "invalid_recipient", isHard: true });
  const html = `<html><STYLE>p { content: "mailbox full" }</STYLE><p>Your message could not be delivered.</p><p>550 5.1.1 &lt;maria@example.com&gt;: no such user</p></html>`;
  const read = parseReport(mail({ text: html, headers: ["Content-Type: text/html"] }));
  expect(read).toMatchObject({ category: "invalid_recipient", status: "5.1.1", isHard: true });
});

test("the copy of the message says nothing about the bounce", () => {
  const spam = "Subject: x\n\n550 5.1.1 user unknown";
  const read = parseReport(
    mail({
      text: `Your message could not be delivered:\n\n552 5.2.2 Mailbox full\n\n--- Below this line is a copy of the message.\n\n${spam}`,
    }),
  );
  expect(read).toMatchObject({ category: "mailbox_full", status: "5.2.2" });
});

const MARIA = group("5.1.1", UNKNOWN_USER);
const JOAO = group("5.2.2", "552 5.2.2 <joao@example.com>: Mailbox full", "failed", "joao@example.com");

test("of several recipients ours decides where it is named, else the mildest", () => {
  const both = report({ groups: [MARIA, JOAO] });
  expect(parseReport(both, "Maria@Example.com")).toMatchObject({ isHard: true, finalRecipient: "maria@example.com" });
  expect(parseReport(both, "joao@example.com")).toMatchObject({ isHard: false, category: "mailbox_full" });
  expect(parseReport(both, "lista@loja.test")).toMatchObject({
    isHard: false,
    recipients: [{ isHard: true }, { isHard: false }],
  });
  expect(parseReport(both)).toMatchObject({ isHard: false });
});

test("a list of which one address fails is no dead address", () => {
  const delivered = group("2.0.0", null, "delivered", "joao@example.com");
  expect(parseReport(report({ groups: [MARIA, delivered] }))).toMatchObject({ kind: "bounce", isHard: false });
  expect(parseReport(report({ groups: [MARIA, delivered] }), "maria@example.com")).toMatchObject({ isHard: true });
});

test("groups whose empty lines are lost are told apart by their Final-Recipient", () => {
  const read = parseReport(report({ groups: [`${MARIA}\n${JOAO}`] }));
  expect(read).toMatchObject({ recipients: [{ category: "invalid_recipient" }, { category: "mailbox_full" }] });
});

test("what is told to people is cleaned and bounded", () => {
  const read = parseReport(
    report({ groups: [group("5.1.1", `550 5.1.1 \u001b[31mno\u0007 such \u202euser ${"x".repeat(2_000)}`)] }),
  );
  if (read.kind !== "bounce") throw new Error(read.kind);
  expect(read.diagnostic).toMatch(/^550 5\.1\.1 no such user x+$/);
  expect(read.diagnostic?.length).toBe(512);
});

test("a report in base64 or quoted-printable is read as well", () => {
  const status = `Reporting-MTA: dns; mx.test\n\n${MARIA}\n`;
  const encoded = bytes(
    `From: MAILER-DAEMON@mx.test\nSubject: Undeliverable\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b\nContent-Type: text/plain\n\nx\n--b\nContent-Type: message/delivery-status\nContent-Transfer-Encoding: base64\n\n${Buffer.from(status).toString("base64")}\n--b--`,
  );
  expect(parseReport(encoded)).toMatchObject({ kind: "bounce", isHard: true });
  const text = "N=C3=A3o foi poss=C3=ADvel entregar a mensagem.=\n\n\nDestinat=C3=A1rio inexistente.";
  expect(
    parseReport(
      mail({
        text,
        headers: ["Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: quoted-printable"],
      }),
    ),
  ).toMatchObject({ isHard: true });
});

const KEY = new Uint8Array(32).fill(9);
const ID = "019aa5f0-1234-7abc-8def-0123456789ab";
const PATH = returnPath({ id: ID, recipient: "maria@example.com" }, "bounce.loja.test", KEY);
const TOKEN = PATH.slice(2, PATH.indexOf("@"));

/** A message as src/modules/emails/content/compose.ts has it composed. */
function sent(): string {
  const message = composeMessage({
    id: ID,
    messageId: `${ID}@loja.test`,
    createdAt: 1_800_000_000_000,
    from: mailbox("loja@loja.test"),
    to: [mailbox("maria@example.com")],
    cc: [],
    replyTo: [],
    subject: "Pedido",
    text: "Olá",
    html: null,
    headers: [
      ["Feedback-ID", "transactional:w1:loja.test:pombo"],
      ["X-Pombo-Trace", TOKEN],
    ],
    attachments: [],
  });
  return Buffer.from(message).toString("latin1").replaceAll("\r\n", "\n");
}

function idsIn(message: Uint8Array): (string | null)[] {
  const read = parseReport(message);
  if (read.kind === "auto_reply") throw new Error("an auto reply has no return path");
  return read.returnPaths.map((localPart) => {
    const token = readReturnPath(localPart);
    return token.kind === "token" && isGenuine(token, "maria@example.com", KEY) ? token.id : null;
  });
}

test("our email is found by the trace header of the copy", () => {
  const message = report({ groups: [MARIA], copy: sent() });
  expect(idsIn(message)).toEqual([ID]);
});

test("our email is found wherever a server wrote the return path, in any case and once", () => {
  const places = [
    `Return-Path: <${PATH}>`,
    `  Return-path: <${PATH.toUpperCase()}>`,
    `X-Original-From: ${PATH.replace("+", "=2B")}`,
  ];
  for (const place of places)
    expect([place, idsIn(mail({ text: `Could not be delivered\n\n${place}` }))]).toEqual([place, [ID]]);
  expect(idsIn(mail({ text: `${places.join("\n")}\nX-Pombo-Trace: ${TOKEN}` }))).toEqual([ID]);
});

test("our email is found in a copy that is part of the text too", () => {
  const text = `Hi. This is the qmail-send program at mx.test.\n\n--- Below this line is a copy of the message.\n\n${sent()}`;
  expect(parseReport(mail({ text }))).toMatchObject({ returnPaths: [`b+${TOKEN}`] });
});
