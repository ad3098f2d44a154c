import { group, mail, report } from "../../../support/dsn/mails.ts";
import { table } from "./judged.ts";

// The commonest reports of further mail systems, in the form that each is known for: refused for good,
// full or blocked, and expired. The texts are ours.

table("OpenSMTPD", {
  "an unknown recipient": [openSmtpd("550 Invalid recipient: <maria@example.com>"), ["invalid_recipient", "suppress"]],
  "an unknown recipient, with its code": [
    openSmtpd("550 5.1.1 <maria@example.com>: Recipient address rejected: User unknown"),
    ["invalid_recipient", "suppress"],
  ],
  "no MX": [openSmtpd("No MX found for domain"), ["bad_domain", "suppress"]],
  "no MX of a destination": [openSmtpd("No MX found for destination"), ["bad_domain", "suppress"]],
  "a domain name that is none": [openSmtpd("Invalid domain name"), ["bad_domain", "suppress"]],
  "a network error": [openSmtpd("Network error on destination MXs"), ["no_answer", "passing"]],
  "an envelope that expired": [openSmtpd("Envelope expired"), ["expired", "passing"]],
});

function openSmtpd(said: string): Uint8Array {
  return mail({
    from: "Mailer Daemon <MAILER-DAEMON@mx.test>",
    subject: "Delivery status notification: error",
    text: `Hi!\n\nThis is the MAILER-DAEMON, please DO NOT REPLY to this email.\n\nAn error has occurred while attempting to deliver a message for\nthe following list of recipients:\n\nmaria@example.com: ${said}\n\nBelow is a copy of the original message:\n\nFrom: loja@loja.test`,
  });
}

table("DragonFly", {
  "a refusal at RCPT": [
    dragonFly("mx.example.com [192.0.2.9] did not like our RCPT TO:\n550 5.1.1 <maria@example.com>: User unknown"),
    ["invalid_recipient", "suppress"],
  ],
  "a refusal at RCPT without a code of it": [
    dragonFly("mx.example.com [192.0.2.9] did not like our RCPT TO:\n550 No such user here"),
    ["invalid_recipient", "suppress"],
  ],
  "a refusal of the sender": [
    dragonFly("mx.example.com [192.0.2.9] did not like our MAIL FROM:\n550 5.7.1 Sender address rejected"),
    ["policy", "bounce"],
  ],
  "a host that is not there": [dragonFly("DNS lookup failure: host example.com not found"), ["bad_domain", "suppress"]],
  "days without success": [
    dragonFly("Could not deliver for the last 432000 seconds. Giving up."),
    ["expired", "passing"],
  ],
});

function dragonFly(said: string): Uint8Array {
  return mail({
    from: "MAILER-DAEMON <>",
    subject: "Mail delivery failed",
    headers: ["X-Original-To: <b+x@bounce.loja.test>"],
    text: `This is the DragonFly Mail Agent v0.13 at df.test.\n\nThere was an error delivering your mail to <maria@example.com>.\n\n${said}\n\nMessage headers follow.\n\nFrom: loja@loja.test`,
  });
}

table("Courier", {
  "a refusal at RCPT": [
    courier(
      "5.1.1",
      "550 User unknown.",
      "<maria@example.com>:\n     mx.example.com [192.0.2.9]:\n>>> RCPT TO:<maria@example.com>\n<<< 550 User unknown.",
    ),
    ["invalid_recipient", "suppress"],
  ],
  "a refusal at RCPT that says 5.0.0": [
    courier(
      "5.0.0",
      "550 No such recipient",
      "<maria@example.com>:\n     mx.example.com [192.0.2.9]:\n>>> RCPT TO:<maria@example.com>\n<<< 550 No such recipient",
    ),
    ["invalid_recipient", "suppress"],
  ],
  "a relay that we are not allowed": [
    courier(
      "5.0.0",
      "550 Relaying denied.",
      "<maria@example.com>:\n     mx.example.com [192.0.2.9]:\n>>> RCPT TO:<maria@example.com>\n<<< 550 Relaying denied.",
    ),
    ["policy", "bounce"],
  ],
  "a name server that did not answer": [
    courier("4.0.0", null, "<maria@example.com>:\n     DNS lookup failure: example.com. Try again later."),
    ["no_answer", "passing"],
  ],
});

function courier(status: string, said: string | null, text: string): Uint8Array {
  return report({
    from: '"Courier mail server at mx.test" <@>',
    subject: "NOTICE: mail delivery status.",
    text: `This is a delivery status notification from mx.test,\nrunning the Courier mail server, version 0.65.\n\nThe original message was received on Thu, 29 Apr 2010 12:34:45 +0900\nfrom localhost\n\n---------------------------------------------------------------------------\n\n                           UNDELIVERABLE MAIL\n\nYour message to the following recipients cannot be delivered:\n\n${text}\n\n---------------------------------------------------------------------------\n\nIf your message was also sent to additional recipients, their delivery\nstatus is not included in this report.`,
    groups: [group(status, said)],
  });
}

table("Exim's own words", {
  "no MX that leads anywhere": [
    exim("missing MX, or all MXs point to missing A records, or (invalidly) to IP addresses"),
    ["bad_domain", "suppress"],
  ],
  "an MX that is an address": [
    exim(
      "It appears that the DNS operator for example.com\n    has installed an invalid MX record with an IP address\n    instead of a domain name on the right hand side.",
    ),
    ["bad_domain", "suppress"],
  ],
  "an unknown user": [exim("unknown user"), ["invalid_recipient", "suppress"]],
  "an unknown local part": [exim("Unknown local part maria in <maria@example.com>"), ["invalid_recipient", "suppress"]],
  "a callout that found nobody": [
    exim(
      "SMTP error from remote mail server after RCPT TO:<maria@example.com>:\n    550-Verification failed for <maria@example.com>\n    550-No Such User Here\n    550 Recipient verify failed",
    ),
    ["invalid_recipient", "suppress"],
  ],
  "a callout to the sender": [
    exim(
      "SMTP error from remote mail server after RCPT TO:<maria@example.com>:\n    550-Verification failed for <b+x@bounce.loja.test>\n    550-No Such User Here\n    550 Sender verify failed",
    ),
    ["policy", "bounce"],
  ],
  "a full mailbox": [
    exim("mailbox is full (MTA-imposed quota exceeded while writing to file /var/mail/maria)"),
    ["mailbox_full", "passing"],
  ],
  "hosts that fail": [
    exim("all hosts for 'example.com' have been failing for a long time (and retry time not reached)"),
    ["expired", "passing"],
  ],
});

function exim(said: string): Uint8Array {
  return mail({
    from: "Mail Delivery System <Mailer-Daemon@mx.test>",
    subject: "Mail delivery failed: returning message to sender",
    headers: ["X-Failed-Recipients: maria@example.com", "Auto-Submitted: auto-replied"],
    text: `This message was created automatically by mail delivery software.\n\nA message that you sent could not be delivered to one or more of its\nrecipients. This is a permanent error. The following address(es) failed:\n\n  maria@example.com\n    ${said}\n\n------ This is a copy of the message, including all the headers. ------\n\nFrom: loja@loja.test`,
  });
}

table("Sendmail's own words", {
  "a user who moved": [
    sendmail(
      "5.1.6",
      "551 5.1.6 <maria@example.com>... User has moved; please try <maria@novo.example.com>",
      "551 5.1.6 <maria@example.com>... User has moved; please try <maria@novo.example.com>",
    ),
    ["invalid_recipient", "suppress"],
  ],
  "a null MX": [
    sendmail(
      "5.1.10",
      "556 Host does not accept mail: MX 0 .",
      "556 <maria@example.com>... Host does not accept mail: MX 0 .",
    ),
    ["bad_domain", "suppress"],
  ],
  "a host name that is none": [
    sendmail("5.1.2", null, "553 5.1.2 <maria@example..com>... Invalid host name"),
    ["bad_domain", "suppress"],
  ],
  "a loop": [
    sendmail(
      "5.3.5",
      null,
      "553 5.3.5 mx.example.com. config error: mail loops back to me (MX problem?)\n554 5.3.5 Local configuration error",
    ),
    ["protocol", "bounce"],
  ],
  "its own guess from a refusal that says nothing": [
    sendmail(
      "5.1.1",
      "550 Message rejected",
      ">>> RCPT To:<maria@example.com>\n<<< 550 Message rejected\n550 5.1.1 <maria@example.com>... User unknown",
    ),
    ["unknown", "bounce"],
  ],
  "the same without the field": [
    sendmail(
      "5.1.1",
      null,
      ">>> RCPT To:<maria@example.com>\n<<< 550 5.7.1 Message rejected\n550 5.1.1 <maria@example.com>... User unknown",
    ),
    ["policy", "bounce"],
  ],
  "the old one's user": [
    mail({
      from: "Mail Delivery Subsystem <MAILER-DAEMON@mx.test>",
      subject: "Returned mail: User unknown",
      text: "   ----- Transcript of session follows -----\nWhile talking to mx.example.com:\n>>> RCPT To:<maria@example.com>\n<<< 550 maria@example.com... User unknown\n550 maria@example.com... User unknown\n\n   ----- Unsent message follows -----\nReceived: from loja.test",
    }),
    ["invalid_recipient", "suppress"],
  ],
});

function sendmail(status: string, said: string | null, transcript: string): Uint8Array {
  return report({
    from: "Mail Delivery Subsystem <MAILER-DAEMON@mx.test>",
    subject: "Returned mail: see transcript for details",
    headers: ["Auto-Submitted: auto-generated (failure)"],
    text: `The original message was received at Thu, 29 Apr 2010 23:34:45 +0900\nfrom localhost [127.0.0.1]\n\n   ----- The following addresses had permanent fatal errors -----\n<maria@example.com>\n\n   ----- Transcript of session follows -----\n${transcript}`,
    groups: [group(status, said)],
  });
}

table("Postfix's own words", {
  "an unknown user": [postfix("5.1.1", 'unknown user: "maria"'), ["invalid_recipient", "suppress"]],
  "a domain without mail": [
    postfix("5.1.0", "Domain example.com does not accept mail (nullMX)"),
    ["bad_domain", "suppress"],
  ],
  "a domain that is not there": [
    postfix("5.4.4", "Host or domain name not found. Name service error for name=example.com type=A: Host not found"),
    ["bad_domain", "suppress"],
  ],
  "a name server that did not answer": [
    postfix(
      "4.4.3",
      "Host or domain name not found. Name service error for name=example.com type=MX: Host not found, try again",
    ),
    ["no_answer", "passing"],
  ],
  "a loop": [postfix("5.4.6", "mail for example.com loops back to myself"), ["protocol", "bounce"]],
  "too many hops": [postfix("5.4.0", "too many hops"), ["protocol", "bounce"]],
  "an address that its own probe found dead": [
    postfix(
      "5.1.1",
      "undeliverable address: host mx.example.com[192.0.2.9] said: 550 5.1.1 User unknown (in reply to RCPT TO command)",
    ),
    ["invalid_recipient", "suppress"],
  ],
});

function postfix(status: string, said: string): Uint8Array {
  return report({
    text: `This is the mail system at host mx.test.\n\nI'm sorry to have to inform you that your message could not\nbe delivered to one or more recipients. It's attached below.\n\n                   The mail system\n\n<maria@example.com>: ${said}`,
    groups: [group(status, said).replace("smtp;", "X-Postfix;")],
    headers: ["Auto-Submitted: auto-replied"],
  });
}

table("Sun and Oracle's MessagingServer", {
  "an address of its own": [
    messagingServer("5.1.1", "Illegal host/domain name found", "unknown or illegal alias: maria@example.com"),
    ["bad_domain", "suppress"],
  ],
  "a refusal at RCPT": [
    messagingServer(
      "5.1.1",
      "Remote SMTP server has rejected address",
      "TCP active open: Failed connect()",
      "550 5.1.1 unknown user",
    ),
    ["invalid_recipient", "suppress"],
  ],
  "a refusal after the content": [
    messagingServer("5.0.0", "SMTP transmission failure has occurred", "", "550 : User unknown"),
    ["invalid_recipient", "bounce"],
  ],
  "a quota": [messagingServer("5.2.2", "Over quota", ""), ["mailbox_full", "bounce"]],
});

function messagingServer(status: string, reason: string, diagnostic: string, reply: string | null = null): Uint8Array {
  return report({
    from: "Internet Mail Delivery <postmaster@mx.test>",
    subject: "Delivery Notification: Delivery has failed",
    text: `This report relates to a message you sent with the following header fields:\n\n  Message-id: <1@loja.test>\n  Subject: Pedido\n\nYour message cannot be delivered to the following recipients:\n\n  Recipient address: maria@example.com\n  Reason: ${reason}\n  Diagnostic code: ${diagnostic === "" ? "none" : diagnostic}`,
    groups: [group(`${status} (${reason})`, reply)],
  });
}

table("Domino", {
  "a person who is not listed": [
    domino("User maria (maria@example.com) not listed in Domino Directory", "5.1.1"),
    ["invalid_recipient", "suppress"],
  ],
  "the same without fields": [
    mail({
      from: "Postmaster@mx.test",
      subject: "DELIVERY FAILURE: User maria (maria@example.com) not listed in public Name & Address Book",
      text: "Your message\n\n  Subject: Pedido\n\nwas not delivered to:\n\n  maria@example.com\n\nbecause:\n\n  User maria (maria@example.com) not listed in public Name & Address Book\n",
    }),
    ["invalid_recipient", "suppress"],
  ],
  "in French": [
    domino("L'utilisateur maria (maria@example.com) non répertorié dans l'annuaire Domino", "5.0.0"),
    ["invalid_recipient", "suppress"],
  ],
  "several of one name": [
    domino("Recipient user name info maria not unique.  Several matches found in Domino Directory.", "5.0.0"),
    ["unknown", "bounce"],
  ],
});

function domino(said: string, status: string): Uint8Array {
  return report({
    from: "Postmaster@mx.test",
    subject: `DELIVERY FAILURE: ${said}`.normalize("NFD").replace(/[^ -~]/g, ""),
    text: `Your message\n\n  Subject: Pedido\n\nwas not delivered to:\n\n  maria@example.com\n\nbecause:\n\n  ${said}`,
    groups: [`${group(status, null)}\nDiagnostic-Code: X-Notes; ${said}`],
  });
}

table("IMail", {
  "an unknown user": [iMail("Unknown user: maria@example.com"), ["invalid_recipient", "suppress"]],
  "an unknown user of another server": [
    iMail(
      "Unknown user: maria@example.com\n\nRCPT TO generated following response:\n550 sorry, no mailbox here by that name (#5.1.1)",
    ),
    ["invalid_recipient", "suppress"],
  ],
  "an unknown user of another server, under its own code": [
    iMail(
      "Unknown user: maria@example.com\n\nRCPT TO generated following response:\n553 5.3.0 <maria@example.com>... Addressee unknown",
    ),
    ["invalid_recipient", "suppress"],
  ],
  "a user id that is none": [
    iMail("Invalid final delivery userid: maria@example.com"),
    ["invalid_recipient", "suppress"],
  ],
  "an unknown host": [iMail("Unknown host: maria@example.com"), ["bad_domain", "suppress"]],
  "a full mailbox": [iMail("User mailbox exceeds allowed size: maria@example.com"), ["mailbox_full", "passing"]],
  "many attempts": [iMail("Delivery failed 20 attempts: maria@example.com"), ["expired", "passing"]],
  "nothing said": [iMail("undeliverable to maria@example.com"), ["unknown", "bounce"]],
});

function iMail(said: string): Uint8Array {
  return mail({
    from: '"Postmaster" <postmaster@mx.test>',
    subject: "Undeliverable Mail",
    text: `${said}\n\nOriginal message follows.\n\nReceived: from loja.test`,
  });
}
