import { describe, expect, test } from "bun:test";
import { classifyReply } from "../../../../../src/protocols/smtp/replies/classify.ts";
import type { Category } from "../../../../../src/protocols/smtp/replies/rules.ts";
import { readWhole } from "../../../../../src/protocols/smtp/replies/remove-echo.ts";
import { makeReply } from "../../../../../src/protocols/smtp/replies/reply.ts";

// Answers to RCPT in the words of many servers, beside those of classify.test.ts.

const judge = (line: string) => classifyReply(readWhole(makeReply(Number(line.slice(0, 3)), [line.slice(4)])), "rcpt");

const DEAD: Partial<Record<Category, string[]>> = {
  invalid_recipient: [
    "550 local: Sorry, can't find user's mailbox. (#5.1.1)",
    "550 user path no exist",
    "550 Mailbox ( maria@example.com ) not found or inactivated",
    "550 <maria@example.com> recipient rejected",
    "550 Command RCPT User <maria@example.com> not OK",
    "550 User not a member of domain: <maria@example.com>",
    '550-"The recipient cannot be verified.  Please check all recipients of this',
    "550 ADDRESS_NOT_FOUND",
    "550 No one with that email address here",
    "550 No such mail drop defined",
    "550 server doesn't handle mail for that user",
    "550 Unable to find alias user",
    "550 I cannot deliver mail for maria@example.com",
    "553 sorry, no mail-box here by that name",
    "550 No such ID",
    "550 recipient unrecognized",
    "550 5.0.1 Recipient rejected",
    "550 5.4.1 All recipient addresses rejected : Access denied [AM5EUR02FT019.eop-EUR02.prod.protection.outlook.com]",
    "550 that user isn't here",
    "550 Nobody here by that name",
    "550 Sorry, I don't know this user",
    "550 receiver unknown",
    "550 The email address you entered couldn't be found",
    "550 recipient verification failed",
    "550 user is not registered",
    "550 Address not present in directory",
    "550 maria is no longer an employee",
    "550 Benutzer unbekannt",
    "550 Empfaenger unbekannt",
    "550 Utilisateur inconnu",
    "550 destin. Sconosciuto",
    "550 La cuenta de correo no existe",
    "550 Nie ma takiego konta",
    "550 Gebruiker onbekend",
  ],
  inactive_mailbox: [
    "550 This address no longer accepts mail.",
    "550 <maria> is now disabled with MTA service.",
    "550 <maria@example.com>... User account not activated",
    "550 mail receiving disabled",
    "550 mailbox has been blocked due to inactivity",
    "550 account has been deleted",
    "550 mailbox deleted",
  ],
  bad_domain: [
    "550 5.4.310 DNS domain example.com does not exist [Message=InfoDomainNonexistent]",
    "550 The domain example.com does not exist",
  ],
};

describe("what servers say of an address that is dead", () => {
  for (const [category, replies] of Object.entries(DEAD))
    test.each(replies)(`${category}: %s`, (line) => {
      expect(judge(line)).toMatchObject({ category, isHard: true });
    });
});

// About us, the message or today, in words that are close to those above.
test.each([
  "554 The user does not accept email in non-Western (non-Latin) character sets.",
  "552 Account(s) <maria@example.com> does not have enough space",
  "550 <maria@example.com>: Destinatario desconocido o mailbox lleno",
  "550 Destinatario inexistente ou caixa de correio cheia",
  "550 Utente sconosciuto o casella piena",
  "550 Unknown user or mailbox full",
  "550 5.1.1 RCP-P2 http://postmaster.facebook.com/response_codes?ip=192.0.2.1#rcp",
  "550 5.1.1 <maria@example.com>: only accepts mail from list members",
  "550 maria@example.com: user rejects your mail",
  "550 This mailbox is closed to senders outside the organization",
  "550 Sender address <b+x@bounce.loja.test> does not exist",
  "550 <b+x@bounce.loja.test> rejected",
  "550 Your host name does not exist",
  "550 mailbox is temporarily locked",
  "550 5.0.0 <maria@example.com>: Recipient address rejected: On hold",
  "550 5.1.0 <maria@example.com>: Recipient address rejected: Try another day",
  "550 Access from IP address 192.0.2.1 blocked",
  "550 The message has an invalid recipient list header",
  "553 VS10-RT Possible forgery or deactivated due to abuse (#5.1.1) 192.0.2.1",
  "550 permanent failure for one or more recipients (maria@example.com:blocked)",
])("nobody is suppressed for %s", (line) => {
  expect(judge(line).isHard).toBe(false);
});
