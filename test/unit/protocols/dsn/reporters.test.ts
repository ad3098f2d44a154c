import { group, mail, report } from "../../../support/dsn/mails.ts";
import { table } from "./judged.ts";

// Bounces as the mail systems write them, each with what it means. The texts are ours, in the form that
// each system is known for; the corpus beside the project has real ones (corpus.test.ts).

const COPY_LINES =
  "Return-Path: <loja@loja.test>\nFrom: loja@loja.test\nTo: maria@example.com\nSubject: Your mailbox is full of spam\n\nuser unknown";

const qmail = (said: string) =>
  mail({
    from: "MAILER-DAEMON@mx.test",
    subject: "failure notice",
    text: `Hi. This is the qmail-send program at mx.test.\nI'm afraid I wasn't able to deliver your message to the following addresses.\nThis is a permanent error; I've given up. Sorry it didn't work out.\n\n<maria@example.com>:\n${said}\n\n--- Below this line is a copy of the message.\n\n${COPY_LINES}`,
  });

table("qmail", {
  "an unknown mailbox of its own": [
    qmail("Sorry, no mailbox here by that name. (#5.1.1)"),
    ["invalid_recipient", "suppress"],
  ],
  "a refusal at RCPT": [
    qmail(
      "192.0.2.9 does not like recipient.\nRemote host said: 550 sorry, no such user here\nGiving up on 192.0.2.9.",
    ),
    ["invalid_recipient", "suppress"],
  ],
  "the same words after DATA": [
    qmail(
      "192.0.2.9 failed after I sent the message.\nRemote host said: 550 sorry, no such user here\nGiving up on 192.0.2.9.",
    ),
    ["invalid_recipient", "bounce"],
  ],
  "a refusal of the sender": [
    qmail("192.0.2.9 does not like sender.\nRemote host said: 550 5.1.1 user unknown\nGiving up on 192.0.2.9."),
    ["invalid_recipient", "bounce"],
  ],
  "a missing host": [qmail("Sorry, I couldn't find any host named exampel.test. (#5.1.2)"), ["bad_domain", "suppress"]],
  "DNS that did not answer": [
    qmail(
      "CNAME lookup failed temporarily. (#4.4.3)\nI'm not going to try again; this message has been in the queue too long.",
    ),
    ["expired", "passing"],
  ],
  "no connection": [
    qmail(
      "Sorry, I wasn't able to establish an SMTP connection. (#4.4.1)\nI'm not going to try again; this message has been in the queue too long.",
    ),
    ["expired", "passing"],
  ],
  "vpopmail's quota": [qmail("vdelivermail: user is over quota"), ["mailbox_full", "passing"]],
});

const exim = (
  said: string,
  headers: string[] = ["X-Failed-Recipients: maria@example.com", "Auto-Submitted: auto-replied"],
) =>
  mail({
    from: "Mail Delivery System <Mailer-Daemon@mx.test>",
    subject: "Mail delivery failed: returning message to sender",
    headers,
    text: `This message was created automatically by mail delivery software.\n\nA message that you sent could not be delivered to one or more of its\nrecipients. This is a permanent error. The following address(es) failed:\n\n  maria@example.com\n${said}\n\n------ This is a copy of the message, including all the headers. ------\n\n${COPY_LINES}`,
  });

table("Exim", {
  "a refusal at RCPT": [
    exim(
      "    host mx.example.com [192.0.2.9]\n    SMTP error from remote mail server after RCPT TO:<maria@example.com>:\n    550 No such user here",
    ),
    ["invalid_recipient", "suppress"],
  ],
  "a refusal at RCPT without the enhanced code, in Portuguese": [
    exim(
      "    host mx.example.com [192.0.2.9]\n    SMTP error from remote mail server after RCPT TO:<maria@example.com>:\n    550 Usuário desconhecido",
    ),
    ["invalid_recipient", "suppress"],
  ],
  "a refusal after the content": [
    exim(
      "    SMTP error from remote mail server after end of data:\n    host mx.example.com [192.0.2.9]: 550 User unknown",
    ),
    ["invalid_recipient", "bounce"],
  ],
  "spam after the content": [
    exim(
      "    SMTP error from remote mail server after end of data:\n    host mx.example.com [192.0.2.9]: 554 5.7.1 Message rejected as spam",
    ),
    ["spam_content", "bounce"],
  ],
  "an address without a route": [exim("    Unrouteable address"), ["invalid_recipient", "suppress"]],
  "MX records that lead nowhere": [
    exim("    all relevant MX records point to non-existent hosts"),
    ["bad_domain", "suppress"],
  ],
  "a null MX": [exim("    an MX or SRV record indicated no SMTP service"), ["bad_domain", "suppress"]],
  "a retry timeout": [exim("    retry timeout exceeded"), ["expired", "passing"]],
  "a full mailbox at last": [
    exim(
      "    host mx.example.com [192.0.2.9]\n    SMTP error from remote mail server after RCPT TO:<maria@example.com>:\n    452 4.2.2 Mailbox full: retry timeout exceeded",
    ),
    ["mailbox_full", "passing"],
  ],
  "a warning": [
    mail({
      from: "Mail Delivery System <Mailer-Daemon@mx.test>",
      subject: "Warning: message 1abc-000-XY delayed 24 hours",
      headers: ["Auto-Submitted: auto-replied"],
      text: "This message was created automatically by mail delivery software.\nA message that you sent has not yet been delivered to one or more of its\nrecipients after more than 24 hours on the queue on mx.test.\n\n  maria@example.com\n    Delay reason: SMTP error from remote mail server after RCPT TO:<maria@example.com>:\n    450 4.1.1 User unknown",
    }),
    ["unknown", "delayed"],
  ],
});

const postfix = (status: string, said: string, command = "") =>
  report({
    text: `This is the mail system at host mx.test.\n\nI'm sorry to have to inform you that your message could not\nbe delivered to one or more recipients. It's attached below.\n\n                   The mail system\n\n<maria@example.com>: host mx.example.com[192.0.2.9] said: ${said}${command}`,
    groups: [group(status, said)],
    headers: ["Auto-Submitted: auto-replied"],
  });
const RCPT = " (in reply to RCPT TO command)";
const DATA = " (in reply to end of DATA command)";

table("Postfix and what it repeats", {
  "an unknown user": [
    postfix(
      "5.1.1",
      "550 5.1.1 <maria@example.com>: Recipient address rejected: User unknown in virtual mailbox table",
      RCPT,
    ),
    ["invalid_recipient", "suppress"],
  ],
  "an unknown user without an enhanced code": [
    postfix("5.0.0", "550 No such user", RCPT),
    ["invalid_recipient", "suppress"],
  ],
  "Yandex, which says 5.7.1 of it": [
    postfix("5.7.1", "550 5.7.1 No such user!", RCPT),
    ["invalid_recipient", "suppress"],
  ],
  "the same after DATA": [postfix("5.7.1", "550 5.7.1 No such user!", DATA), ["invalid_recipient", "bounce"]],
  Gmail: [
    postfix(
      "5.1.1",
      "550-5.1.1 The email account that you tried to reach does not exist. Please try double-checking the recipient's email address. https://support.google.com/mail/?p=NoSuchUser a1-2 - gsmtp",
      RCPT,
    ),
    ["invalid_recipient", "suppress"],
  ],
  "Gmail's full mailbox": [
    postfix(
      "5.2.2",
      "552-5.2.2 The recipient's inbox is out of storage space and inactive. Please direct the recipient to https://support.google.com/mail/?p=OverQuotaPerm - gsmtp",
      RCPT,
    ),
    ["mailbox_full", "bounce"],
  ],
  "Gmail's disabled account": [
    postfix(
      "5.2.1",
      "550-5.2.1 The email account that you tried to reach is inactive. https://support.google.com/mail/?p=DisabledUser - gsmtp",
      RCPT,
    ),
    ["inactive_mailbox", "suppress"],
  ],
  "Gmail's rate of one mailbox": [
    postfix(
      "4.2.1",
      "450-4.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered. - gsmtp",
      RCPT,
    ),
    ["rate_limited", "passing"],
  ],
  Outlook: [
    postfix("5.5.0", "550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).", RCPT),
    ["invalid_recipient", "suppress"],
  ],
  "Microsoft 365's closed directory": [
    postfix("5.4.1", "550 5.4.1 Recipient address rejected: Access denied. AS(201806281) [x.prod.outlook.com]", RCPT),
    ["invalid_recipient", "suppress"],
  ],
  "Microsoft's block of our address": [
    postfix("5.7.606", "550 5.7.606 Access denied, banned sending IP [192.0.2.1]", RCPT),
    ["spam_block", "bounce"],
  ],
  "Yahoo at the end of DATA": [
    postfix(
      "5.0.0",
      "554 delivery error: dd This user doesn't have a yahoo.com account (maria@yahoo.com) [0] - mta1.mail.yahoo.com",
      DATA,
    ),
    ["invalid_recipient", "suppress"],
  ],
  "Yahoo's deferral": [
    postfix(
      "4.7.0",
      "421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints",
      DATA,
    ),
    ["rate_limited", "passing"],
  ],
  "Facebook's privacy settings under 5.1.1": [
    postfix("5.1.1", "550 5.1.1 RCP-P2 http://postmaster.facebook.com/response_codes?ip=192.0.2.1#rcp", RCPT),
    ["policy", "bounce"],
  ],
  "Facebook's unknown address": [
    postfix("5.1.1", "550 5.1.1 RCP-P1 http://postmaster.facebook.com/response_codes?ip=192.0.2.1#rcp", RCPT),
    ["invalid_recipient", "suppress"],
  ],
  "a blocklist that lists us": [
    postfix("5.7.1", "554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org", RCPT),
    ["spam_block", "bounce"],
  ],
  DMARC: [
    postfix(
      "5.7.26",
      "550-5.7.26 Unauthenticated email from loja.test is not accepted due to domain's DMARC policy.",
      DATA,
    ),
    ["auth_failed", "bounce"],
  ],
  relaying: [postfix("5.7.1", "554 5.7.1 <maria@example.com>: Relay access denied", RCPT), ["policy", "bounce"]],
  "greylisting given up": [
    postfix("4.2.0", "450 4.2.0 <maria@example.com>: Recipient address rejected: Greylisted", RCPT),
    ["policy", "passing"],
  ],
  "a sender that is not allowed": [
    postfix(
      "5.1.8",
      "501 5.1.8 <b+x@bounce.loja.test>: Sender address rejected: Domain not found",
      " (in reply to MAIL FROM command)",
    ),
    ["policy", "bounce"],
  ],
  "a size": [postfix("5.3.4", "552 5.3.4 Message size exceeds fixed maximum message size", DATA), ["policy", "bounce"]],
  "a host that does not exist": [
    report({
      text: "<maria@exampel.test>: Host or domain name not found. Name service error for\n    name=exampel.test type=A: Host not found",
      groups: [
        "Final-Recipient: rfc822; maria@exampel.test\nAction: failed\nStatus: 5.4.4\nDiagnostic-Code: X-Postfix; Host or domain name not found. Name service error for\n    name=exampel.test type=A: Host not found",
      ],
    }),
    ["bad_domain", "suppress"],
  ],
  "a connection that timed out": [
    report({
      groups: [
        "Final-Recipient: rfc822; maria@example.com\nAction: failed\nStatus: 4.4.1\nDiagnostic-Code: X-Postfix; connect to mx.example.com[192.0.2.9]:25: Connection timed out",
      ],
    }),
    ["no_answer", "passing"],
  ],
  "a user that a local program does not know": [
    report({
      groups: [
        "Final-Recipient: rfc822; maria@example.com\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: x-unix; procmail: No such user",
      ],
    }),
    ["unknown", "bounce"],
  ],
});

const sendmail = (transcript: string, groups: string[]) =>
  report({
    from: "Mail Delivery Subsystem <MAILER-DAEMON@mx.test>",
    subject: "Returned mail: see transcript for details",
    text: `The original message was received at Thu, 29 Apr 2021 23:34:45 +0900\nfrom localhost [127.0.0.1]\n\n   ----- The following addresses had permanent fatal errors -----\n<maria@example.com>\n\n   ----- Transcript of session follows -----\n${transcript}`,
    groups,
  });

table("Sendmail", {
  "a refusal at RCPT": [
    sendmail(
      "... while talking to mx.example.com.:\n>>> RCPT To:<maria@example.com>\n<<< 550 no such user\n550 5.1.1 <maria@example.com>... User unknown",
      [group("5.1.1", "550 no such user")],
    ),
    ["invalid_recipient", "suppress"],
  ],
  "a refusal at DATA that speaks of the user": [
    sendmail(
      "... while talking to mx.example.com.:\n>>> DATA\n<<< 550 Unknown user maria@example.com\n554 5.0.0 Service unavailable",
      [group("5.0.0", "550 Unknown user maria@example.com")],
    ),
    ["invalid_recipient", "bounce"],
  ],
  "a refusal at RCPT that stands below the DATA sent together with it": [
    sendmail(
      "... while talking to mx.example.com.:\n>>> DATA\n<<< 553 5.3.0 <maria@example.com>... Unknown E-Mail Address\n550 5.1.1 <maria@example.com>... User unknown\n<<< 503 5.0.0 Need RCPT (recipient)",
      [group("5.3.0", "553 5.3.0 <maria@example.com>... Unknown E-Mail Address")],
    ),
    ["invalid_recipient", "suppress"],
  ],
  "a host that is unknown": [
    sendmail("550 5.1.2 <maria@example.com>... Host unknown (Name server: exampel.test: host not found)", [
      group("5.1.2", null),
    ]),
    ["bad_domain", "suppress"],
  ],
  "five days without an answer": [
    sendmail(
      "<maria@example.com>... Deferred: Connection timed out with mx.example.com.\nMessage could not be delivered for 5 days\nMessage will be deleted from queue",
      [group("4.4.7", null)],
    ),
    ["expired", "passing"],
  ],
  "a loop": [
    sendmail("554 5.4.6 Too many hops 26 (25 max)", [group("5.4.6", "554 5.4.6 Too many hops")]),
    ["protocol", "bounce"],
  ],
  "a warning": [
    report({
      subject: "Warning: could not send message for past 4 hours",
      text: "    **      THIS IS A WARNING MESSAGE ONLY      **",
      groups: [group("4.4.1", null, "delayed")],
    }),
    ["unknown", "delayed"],
  ],
});
