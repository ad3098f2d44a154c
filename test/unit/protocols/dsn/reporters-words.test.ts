import { table } from "./judged.ts";
import { group, mail, report } from "../../../support/dsn/mails.ts";

// Notices in words alone, or under a code that says nothing: what they may be believed, and what not.

const yahoo = (said: string) =>
  mail({
    from: "MAILER-DAEMON@yahoo.com",
    subject: "Failure Notice",
    text: `Sorry, we were unable to deliver your message to the following address.\n\n<maria@example.com>:\n${said}\n\n--- Below this line is a copy of the message.\n\nFrom: loja@loja.test\nSubject: 550 user unknown\n\nNo such user`,
  });

table("Yahoo, which tells no command", {
  "an answer that names the address": [
    yahoo("550: <maria@example.com>: User unknown"),
    ["invalid_recipient", "suppress"],
  ],
  "the same words without it, as carriers write of what they filter": [
    yahoo("550: : User unknown"),
    ["invalid_recipient", "bounce"],
  ],
  "a domain without MX": [yahoo("No mx record found for domain=example.com"), ["bad_domain", "suppress"]],
  "an answer about us": [yahoo("554: Access from IP address 192.0.2.1 blocked"), ["spam_block", "bounce"]],
  "an answer that says nothing, above a copy that does": [yahoo("554: Rejected"), ["unknown", "bounce"]],
});

const gateway = (said: string, subject = "Pedido") =>
  report({
    subject: "Mail Delivery Failure",
    text: `This is the mail delivery agent at gateway.test.\n\nI was unable to deliver your message to the following addresses:\n\nmaria@example.com\n\nReason: ${said}\n\nThe message subject was: ${subject}`,
    groups: [group("5.0.0", said)],
  });

table("a gateway that tells no command, under 5.0.0", {
  "no such user": [gateway("550 maria@example.com... No such user"), ["invalid_recipient", "suppress"]],
  "a mailbox that is switched off": [gateway("550 Inactive account"), ["inactive_mailbox", "suppress"]],
  "docomo, of what it filters": [gateway("550 Unknown user maria@example.com"), ["invalid_recipient", "bounce"]],
  "a sender that it does not believe": [
    gateway("550 <loja@loja.test> From: Domain is invalid. Please provide a valid From:"),
    ["policy", "bounce"],
  ],
  "a name server of its own that failed": [gateway("550 host name lookup failure"), ["no_answer", "bounce"]],
  "a host that takes no mail (RFC 7504)": [
    gateway("521 5.3.2 <maria@example.com>: System not accepting network messages"),
    ["bad_domain", "suppress"],
  ],
  "a 521 that says nothing of that": [
    gateway("521 5.2.1 AOL will not accept delivery of this message"),
    ["inactive_mailbox", "bounce"],
  ],
  "qmail's list of addresses that are refused": [
    gateway("553 sorry, your envelope recipient is in my badrcptto list (#5.7.1)"),
    ["invalid_recipient", "suppress"],
  ],
  "our own subject, which it repeats": [
    gateway("550 Service unavailable", "550 5.1.1 User unknown"),
    ["unknown", "bounce"],
  ],
});

const postfix = (said: string, status: string) =>
  report({
    text: `<maria@example.com>: ${said}`,
    groups: [
      `Final-Recipient: rfc822; maria@example.com\nAction: failed\nStatus: ${status}\nDiagnostic-Code: X-Postfix; ${said}`,
    ],
  });
const lookup = (name: string, result: string) =>
  `Host or domain name not found. Name service error for name=${name} type=MX: ${result}`;

table("Postfix, of its own name server", {
  "no such domain": [postfix(lookup("example.com", "Host not found"), "5.4.4"), ["bad_domain", "suppress"]],
  "no such host of the domain": [
    postfix(lookup("mx1.example.com", "Host not found"), "5.4.4"),
    ["bad_domain", "suppress"],
  ],
  "no such relay of its own": [
    postfix(lookup("relay.provedor.test", "Host not found"), "5.4.4"),
    ["bad_domain", "bounce"],
  ],
  "its relay under another name": [
    postfix("unable to look up host smtp.provedor.test: Name or service not known", "5.4.4"),
    ["bad_domain", "bounce"],
  ],
  "an answer that it could not read": [
    postfix(lookup("example.com", "Malformed or unexpected name server reply"), "5.0.0"),
    ["no_answer", "bounce"],
  ],
  "the same under a code that says more than it knows": [
    postfix(lookup("example.com", "Malformed or unexpected name server reply"), "5.4.4"),
    ["no_answer", "bounce"],
  ],
  "no answer, and no code of its own": [
    postfix(lookup("example.com", "Host not found, try again"), "5.0.0"),
    ["no_answer", "bounce"],
  ],
});

table("what stands behind the answer", {
  "m-FILTER's command": [
    mail({
      subject: "failure notice",
      text: "maria@example.com\n\n-------server message\n550 unknown user <maria@example.com>\n\n-------SMTP command\nDATA\n\n-------original message",
    }),
    ["invalid_recipient", "bounce"],
  ],
  "the same where the answer begins with the address": [
    mail({
      subject: "failure notice",
      text: "maria@example.com\n\n-------server message\n550 maria@example.com... No such user\n\n-------SMTP command\nDATA",
    }),
    ["invalid_recipient", "bounce"],
  ],
  "DragonFly's refusal for a reason that nobody knows": [
    mail({
      text: "There was an error delivering your mail to <maria@example.com>.\n\nmx.example.com [192.0.2.9] did not like our RCPT TO:\n550 5.0.0 <maria@example.com>: Recipient address rejected: On hold.",
    }),
    ["unknown", "bounce"],
  ],
  "Sendmail's null MX, under the sender's code": [
    report({
      text: "   ----- The following addresses had permanent fatal errors -----\n<maria@example.com>\n    (reason: 550 Host does not accept mail)\n\n   ----- Transcript of session follows -----\n554 5.0.0 Service unavailable",
      groups: [group("5.7.27", "550 Host does not accept mail")],
    }),
    ["bad_domain", "suppress"],
  ],
});

table("reports that only suppose", {
  "that the user is unknown or the mailbox full": [
    gateway("550 <maria@example.com>: Destinatario desconocido o mailbox lleno"),
    ["mailbox_full", "bounce"],
  ],
  "what the reason may be": [
    mail({
      text: "Your message to maria@example.com could not be delivered.\n\nThe address may be misspelled, or the user does not exist if the account was closed.",
    }),
    ["unknown", "bounce"],
  ],
  "what it is": [
    mail({ text: "Your message to maria@example.com could not be delivered.\n\nThe user does not exist." }),
    ["invalid_recipient", "suppress"],
  ],
});

const exim = (said: string) =>
  mail({
    from: "Mail Delivery System <Mailer-Daemon@mx.test>",
    subject: "Mail delivery failed: returning message to sender",
    headers: ["X-Failed-Recipients: maria@example.com"],
    text: `A message that you sent could not be delivered to one or more of its\nrecipients. The following address(es) failed:\n\n  maria@example.com:\n    ${said}\n`,
  });

table("words that a reporter gives without a code", {
  "Exim 3, of a domain without a host": [exim('unrouteable mail domain "example.com"'), ["bad_domain", "suppress"]],
  "Exim, of a name server that did not answer": [exim("host lookup did not complete"), ["no_answer", "passing"]],
  // "Mailbox not found, no access, or command rejected for policy reasons" (RFC 5321 §4.2.2): of these nobody tells which.
  "RFC 5321's own words for 550, with the code behind them": [
    mail({
      subject: "Returned Mail - Error During Delivery",
      text: "------ Failed Recipients ------\n<maria@example.com>: Requested action not taken: mailbox unavailable. [SMTP Error Code 550]\n",
    }),
    ["unknown", "bounce"],
  ],
});

table("a full mailbox, in words alone", {
  "qmail's storage": [
    mail({
      text: "Hi. This is the qmail-send program at mx.test.\n\n<maria@example.com>:\nMessage rejected. Not enough storage space in user's mailbox to accept message.\n",
    }),
    ["mailbox_full", "passing"],
  ],
  "a reason in the middle of a sentence": [
    mail({ text: 'Delivery of email to this address\n\n"maria@example.com"\n\nhas failed due to a full mailbox.\n' }),
    ["mailbox_full", "passing"],
  ],
});

table("a report that has lost its delimiters", {
  "Sendmail's mail.local": [lost("mail.local: unknown user: maria"), ["invalid_recipient", "suppress"]],
  "a reason that stands in the copy alone": [lost("mail.local: cannot open file"), ["unknown", "bounce"]],
});

function lost(said: string): Uint8Array {
  return mail({
    from: "Mail Delivery Subsystem <MAILER-DAEMON@mx.test>",
    subject: "Returned mail: Service unavailable",
    headers: ['Content-Type: multipart/report; report-type=delivery-status; boundary="=_lost"'],
    text: [
      "   ----- The following addresses had permanent fatal errors -----\n<maria@example.com>\n",
      `   ----- Transcript of session follows -----\n${said}\n554 <maria@example.com>... Service unavailable\n`,
      "Reporting-MTA: dns; mx.test\n",
      "Final-Recipient: RFC822; <maria@example.com>\nAction: failed\nStatus: 5.5.0\n",
      "Subject: Pedido\nFrom: loja@loja.test\n\nunknown user: maria",
    ].join("\n"),
  });
}
