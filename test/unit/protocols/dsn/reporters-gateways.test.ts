import { group, mail, report } from "../../../support/dsn/mails.ts";
import { table } from "./judged.ts";

// Like reporters-systems.test.ts: filters in front of mail servers, hosts and carriers.

const REPLY = "550 5.1.1 <maria@example.com>... User unknown";

table("Mimecast", {
  "an address that is incorrect": [
    mimecast("Recipient email address is possibly incorrect", "550 5.1.1 User Unknown"),
    ["invalid_recipient", "suppress"],
  ],
  "a server that is busy": [
    mimecast("Recipient server unavailable or busy", "4.4.4 Temporary server error. Please try again later"),
    ["no_answer", "passing"],
  ],
});

function mimecast(problem: string, further: string): Uint8Array {
  return mail({
    from: '"Mail Delivery System" <mailer-daemon@mx.test>',
    subject: "[Postmaster] Email Delivery Failure",
    text: `This is a delivery failure notification message indicating that\nan email you addressed to email address :\n\n-- maria@example.com\n\ncould not be delivered. The problem appears to be :\n\n-- ${problem}\n\nAdditional information follows :\n\n-- ${further}\n\nThis condition occurred after 1 attempt(s) to deliver over\na period of 0 hour(s).\n\nIf you sent the email to multiple recipients, you will receive one\nof these messages for each one which failed delivery,  otherwise\nthey have been sent.`,
  });
}

table("MessageLabs", {
  "an address that a server refused": [
    messageLabs("192.0.2.9 does not like recipient.\nRemote host said: 550 maria@example.com... No such user"),
    ["invalid_recipient", "suppress"],
  ],
  "an address that is not registered": [
    messageLabs("192.0.2.9 does not like recipient.\nRemote host said: 542 maria@example.com Rejected"),
    ["invalid_recipient", "suppress"],
  ],
  "a filter": [
    messageLabs(
      "192.0.2.9 failed after I sent the message.\nRemote host said: 553-Message filtered. Please see the FAQs",
    ),
    ["policy", "bounce"],
  ],
});

function messageLabs(said: string): Uint8Array {
  return mail({
    from: "MAILER-DAEMON@messagelabs.com",
    subject: "failure notice",
    text: `This is the mail delivery agent at messagelabs.com.\nI was not able to deliver your message to the following addresses.\n\n<maria@example.com>:\n${said}\n\n--- Below this line is a copy of the message.\n\nReturn-Path: <loja@loja.test>`,
  });
}

table("Trend Micro, SurfControl, MailFoundry, MXLogic, mFilter, Amavis", {
  "InterScan, at RCPT": [
    mail({
      from: '"InterScan Messaging Security Suite" <imss@mx.test>',
      subject: "Mail could not be delivered",
      text: `****** Message from InterScan Messaging Security Suite ******\n\nSent <<< RCPT TO:<maria@example.com>\nReceived >>> ${REPLY}\n\nUnable to deliver message to <maria@example.com>.\n\n************************     End of message     **********************`,
    }),
    ["invalid_recipient", "suppress"],
  ],
  "InterScan, after many attempts": [
    mail({
      from: "imss@mx.test",
      subject: "Mail could not be delivered",
      text: "****** Message from InterScan E-Mail VirusWall NT ******\n\nThe following mail could not be delivered.\n\nReason:  Exceeded Maximum Delivery Attempts.  Verify that the recipient address is correct.",
    }),
    ["expired", "passing"],
  ],
  SurfControl: [
    report({
      from: "Email Filter <postmaster@mx.test>",
      subject: "Message Undeliverable",
      text: `Your message could not be sent.\nA transcript of the attempts to send the message follows.\nThe number of attempts made: 1\nAddressed To: maria@example.com\n\nThu 29 Apr 2010 23:34:45 +0900\nFailed to send to identified host,\nmaria@example.com: [192.0.2.9], 550 5.1.1 User unknown`,
      groups: [group("5.1.1", "550 5.1.1 User unknown")],
    }),
    ["invalid_recipient", "suppress"],
  ],
  "SurfControl, a server without service": [
    report({
      from: "Email Filter <postmaster@mx.test>",
      subject: "Message Undeliverable",
      text: "Your message could not be sent.",
      groups: [group("5.0.0", "554 Service currently unavailable")],
    }),
    ["unknown", "bounce"],
  ],
  MailFoundry: [
    mail({
      from: "MAILER-DAEMON <postmaster@mx.test>",
      subject: "Message delivery has failed",
      text: `This is a delivery failure notification from the MailFoundry at mx.test.\n\nUnable to deliver message to: <maria@example.com>\nDelivery failed for the following reason:\nServer mx.example.com[192.0.2.9] failed with: ${REPLY}\n\nThis has been a permanent failure.  No further delivery attempts will be made.`,
    }),
    ["invalid_recipient", "suppress"],
  ],
  MXLogic: [
    mail({
      from: "Mail Delivery System <MAILER-DAEMON@mx.mxlogic.net>",
      subject: "Mail delivery failed: returning message to sender",
      text: `This message was created automatically by mail delivery software.\n\nA message that you have sent could not be delivered to one or more\nrecipients.  This is a permanent error.  The following address failed:\n\n  <maria@example.com>: ${REPLY}\n\nIncluded is a copy of the message header:\n-----------------------------------------`,
    }),
    ["invalid_recipient", "suppress"],
  ],
  mFilter: [
    mail({
      from: "Mail Delivery Subsystem <MAILER-DAEMON@mx.test>",
      subject: "failure notice",
      text: `-------server message\n\n${REPLY}\n\n-------original message\n\nReturn-Path: <loja@loja.test>`,
    }),
    ["invalid_recipient", "suppress"],
  ],
  "Amavis's policy": [
    report({
      from: "MAILER-DAEMON (amavisd) <postmaster@mx.test>",
      subject: "Undeliverable mail, MTA-BLOCKED",
      text: "This message was created automatically by mail delivery software.\n\nA message that you sent could not be delivered.",
      groups: [group("5.7.0", "554 5.7.0 Reject, id=1-1 - SPAM")],
    }),
    ["spam_block", "bounce"],
  ],
});

table("IronPort", {
  "an unknown user": [ironPort("5.1.0 - Unknown address error 550-'User unknown'"), ["invalid_recipient", "suppress"]],
  "a refusal that says nothing": [
    ironPort("5.1.0 - Unknown address error 550-'Message rejected'"),
    ["unknown", "bounce"],
  ],
  "a carrier's words under another code": [
    ironPort("5.3.0 - Other mail system problem 550-'Unknown user maria@example.com'"),
    ["invalid_recipient", "bounce"],
  ],
});

function ironPort(said: string): Uint8Array {
  return report({
    from: "Mail Delivery System <MAILER-DAEMON@mx.test>",
    subject: "Delivery Status Notification (Failure)",
    text: `The following message to <maria@example.com> was undeliverable.\nThe reason for the problem:\n${said}`,
    groups: [group("5.0.0", `${said} (delivery attempts: 0)`)],
  });
}

table("hosts", {
  "1&1, at RCPT": [
    mail({
      from: '"Mail Delivery System" <mailer-daemon@kundenserver.de>',
      subject: "Mail delivery failed: returning message to sender",
      text: "This message was created automatically by mail delivery software.\n\nA message that you sent could not be delivered to one or more of\nits recipients. This is a permanent error. The following address failed:\n\n  <maria@example.com>:\n    SMTP error from remote server for RCPT TO command, host: mx.example.com (192.0.2.9) reason: 550 user unknown\n\n--- The header of the original message is following. ---",
    }),
    ["invalid_recipient", "suppress"],
  ],
  "1&1, after the content": [
    mail({
      from: '"Mail Delivery System" <mailer-daemon@kundenserver.de>',
      subject: "Mail delivery failed: returning message to sender",
      text: "This message was created automatically by mail delivery software.\n\nA message that you sent could not be delivered to one or more of\nits recipients. This is a permanent error. The following address failed:\n\n  <maria@example.com>:\n    SMTP error from remote server for TEXT command, host: mx.example.com (192.0.2.9) reason: 550 user unknown\n\n--- The header of the original message is following. ---",
    }),
    ["invalid_recipient", "bounce"],
  ],
  GMX: [
    mail({
      from: "GMX Mailer Daemon <mailer-daemon@gmx.de>",
      subject: "Mail delivery failed: returning message to sender",
      text: 'This message was created automatically by mail delivery software.\n\nA message that you sent could not be delivered to one or more of\nits recipients. This is a permanent error. The following address\nfailed:\n\n"maria@example.com":\nSMTP error from remote server after RCPT command:\nhost: mx.example.com\n5.1.1 <maria@example.com>... User unknown\n\n--- The header of the original message is following. ---',
    }),
    ["invalid_recipient", "suppress"],
  ],
  "GMX's quota": [
    mail({
      from: "GMX Mailer Daemon <mailer-daemon@gmx.de>",
      subject: "Mail delivery failed: returning message to sender",
      text: 'A message that you sent could not be delivered to one or more of\nits recipients. The following address\nfailed:\n\n"maria@example.com":\nquota exceeded\n\n--- The header of the original message is following. ---',
    }),
    ["mailbox_full", "passing"],
  ],
  Zoho: [zoho("550, ERROR_CODE :5.1.1 <maria@example.com>... User Unknown"), ["invalid_recipient", "suppress"]],
  "Zoho, a full mailbox": [
    zoho("552, ERROR_CODE :5.2.2 <maria@example.com>... Mailbox Full"),
    ["mailbox_full", "bounce"],
  ],
  "Zoho, which does not tell the command": [
    zoho("550, ERROR_CODE :Requested action not taken: mailbox unavailable"),
    ["unknown", "bounce"],
  ],
  "Mail.ru's own": [mailRu("user not found"), ["invalid_recipient", "suppress"]],
  "Mail.ru's own, disabled": [mailRu("account is disabled"), ["inactive_mailbox", "suppress"]],
  "T-Online's quota": [
    mail({
      from: "Mail Delivery System <Mailer-Daemon@t-online.de>",
      subject: "Mail delivery failed: returning message to sender",
      headers: ["X-Failed-Recipients: maria@example.com"],
      text: "|------------------------- Failed addresses follow: ---------------------|\n <maria@example.com>\n   552 5.2.2 <maria@example.com> Quota exceeded (mailbox for user is full)\n\n|------------------------- Message header follows: ----------------------|\nFrom: loja@loja.test",
    }),
    ["mailbox_full", "bounce"],
  ],
  "Kerio, a host that is not there": [
    report({
      from: "Mail Delivery Subsystem <postmaster@mx.test>",
      subject: "Returned email: Pedido",
      text: "This is an informative message sent by mx.test.\n\nThe server was not able to deliver your email message\n\n  Subject: Pedido\n\nto the following addresses:\n\n  <maria@example.com> (mx.test: Host not found)",
      groups: [`${group("5.4.4", null)}\nDiagnostic-Code: DNS; Host not found`],
    }),
    ["bad_domain", "suppress"],
  ],
  hMailServer: [
    mail({
      from: "mailer-daemon@mx.test",
      subject: "Message undeliverable: Pedido",
      text: `Your message did not reach some or all of the intended recipients.\n\n   Sent: Fri, 13 Feb 2009 16:57:55 -0800\n   Subject: Pedido\n\nThe following recipient(s) could not be reached:\n\nmaria@example.com\n   Error Type: SMTP\n   Remote server (192.0.2.9) issued an error.\n   hMailServer sent: RCPT TO:<maria@example.com>\n   Remote server replied: ${REPLY}\n\nhMailServer`,
    }),
    ["invalid_recipient", "suppress"],
  ],
  MDaemon: [
    mail({
      from: "MDaemon@mx.test",
      subject: "Warning: maria@example.com - User unknown!",
      text: "maria@example.com - no such user here.\n\nThere is no user by that name at this server.",
    }),
    ["invalid_recipient", "suppress"],
  ],
  "Yahoo's own of old": [
    mail({
      from: "MAILER-DAEMON@yahoo.com",
      subject: "Delivery failure",
      text: "Message from yahoo.com.\nUnable to deliver message to the following address(es).\n\n<maria@example.com>:\nSorry your message to maria@example.com cannot be delivered. This account has been disabled or discontinued.\n\n--- Original message follows.",
    }),
    ["inactive_mailbox", "suppress"],
  ],
  "Verizon's text messages, which do not tell the command": [
    mail({
      from: "post_master@vtext.com",
      subject: "Undeliverable Message",
      text: "Error: Invalid user address\nError message below:\n550 - Requested action not taken: no such user here\n\nMessage details:\n  Subject: Pedido",
    }),
    ["invalid_recipient", "suppress"],
  ],
  "AOL's user who chooses senders": [
    mail({
      from: '"Mail Delivery Subsystem" <MAILER-DAEMON@AOL.com>',
      subject: "Mail Delivery Problem",
      text: "Your mail to the following recipients could not be delivered because they are not accepting mail from loja@loja.test:\n\nmaria",
    }),
    ["policy", "bounce"],
  ],
});

function zoho(said: string): Uint8Array {
  return mail({
    from: "mailer-daemon@mail.zoho.com",
    subject: "Undelivered Mail Returned to Sender",
    text: `This message was created automatically by mail delivery software.\n A message that you sent could not be delivered to one or more of its recipients. This is a permanent error. \n\nmaria@example.com Invalid Address, ERROR_CODE :${said}\n\nReceived:from mail.zoho.com by mx.test`,
  });
}

function mailRu(why: string): Uint8Array {
  return mail({
    from: "Mail Delivery System <Mailer-Daemon@mx.mail.ru>",
    subject: "=?utf-8?b?0JLQsNGI0LUg0YHQvtC+0LHRidC10L3QuNC1INC90LUg0LTQvtGB0YLQsNCy0LvQtdC90L4=?=. Mail failure.",
    headers: ["Auto-Submitted: auto-replied", "Content-Type: text/plain; charset=utf-8"],
    text: `Это письмо создано автоматически сервером Mail.Ru, отвечать на него не нужно.\n\nК сожалению, Ваше письмо не может быть доставлено одному или нескольким получателям, потому что:\n\nMessage was not accepted -- invalid mailbox.\nLocal mailbox maria@example.com is unavailable: ${why}\n\n------ This is a copy of your message, including all the headers.`,
  });
}

table("fields of a service", {
  "PowerMTA's mailbox": [
    service("5.1.1", "550 #5.1.0 Address rejected", "bad-mailbox"),
    ["invalid_recipient", "suppress"],
  ],
  "PowerMTA's domain": [service("5.1.2", "(Host or domain not found)", "bad-domain"), ["bad_domain", "suppress"]],
  "PowerMTA's spam": [service("5.7.1", "550 5.7.1 Message refused", "spam-related"), ["spam_block", "bounce"]],
  SES: [
    service("5.1.1", "550 5.1.1 <maria@example.com>: Recipient address rejected: User unknown"),
    ["invalid_recipient", "suppress"],
  ],
  "WorkMail's filter under 5.2.1": [
    service("5.2.1", "550 5.2.1 Message rejected by policy of the recipient"),
    ["policy", "bounce"],
  ],
  SendGrid: [
    service("5.1.1", "550 5.1.1 The email account that you tried to reach does not exist."),
    ["invalid_recipient", "suppress"],
  ],
  Tencent: [
    service("5.1.1", "550 Mailbox not found. http://service.mail.qq.com/cgi-bin/help?subtype=1&&id=20022&&no=1000728"),
    ["invalid_recipient", "suppress"],
  ],
  "Cloudflare's routing": [service("5.1.1", "550 5.1.1 Address does not exist."), ["invalid_recipient", "suppress"]],
  "Apple, an address that is gone": [
    service("5.1.6", "550 5.1.6 recipient no longer on server: maria@example.com"),
    ["invalid_recipient", "suppress"],
  ],
  Orange: [
    service("5.1.1", "550 5.1.1 Adresse d au moins un destinataire invalide. Invalid recipient. OFR_416 [416]"),
    ["invalid_recipient", "suppress"],
  ],
  "Orange's refusal": [service("5.2.0", "550 5.2.0 Mail rejete. Mail rejected. ofr_506 [506]"), ["unknown", "bounce"]],
  "GoDaddy's quota": [service("5.2.2", "552 5.2.2 Mailbox full"), ["mailbox_full", "bounce"]],
  "Outlook's mailbox under 5.5.0": [
    service("5.5.0", "550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302)."),
    ["invalid_recipient", "bounce"],
  ],
  "Microsoft 365's domain": [
    service("5.4.310", "550 5.4.310 DNS domain example.com does not exist [Message=InfoDomainNonexistent]"),
    ["bad_domain", "suppress"],
  ],
  "a tenant that is gone": [
    service("5.1.10", "556 Invalid account. Tenant or Domain not found"),
    ["bad_domain", "suppress"],
  ],
  "a disabled account": [service("5.7.13", "525 5.7.13 Disabled recipient address"), ["inactive_mailbox", "suppress"]],
  "a mailbox that nobody uses": [
    service("5.2.1", "550 5.2.1 mailbox has been blocked due to inactivity"),
    ["inactive_mailbox", "suppress"],
  ],
  "a full mailbox under 5.1.1": [
    service("5.1.1", "550 5.1.1 <maria@example.com>: mailbox is full"),
    ["mailbox_full", "bounce"],
  ],
  "members only under 5.1.1": [
    service("5.1.1", "550 5.1.1 <maria@example.com> only accepts mail from list members"),
    ["policy", "bounce"],
  ],
});

function service(status: string, said: string, category: string | null = null): Uint8Array {
  const fields = group(status, said);
  return report({
    from: "MAILER-DAEMON@mx.test",
    subject: "Delivery Status Notification (Failure)",
    text: "An error occurred while trying to deliver the mail to the following recipients:\nmaria@example.com",
    groups: [category === null ? fields : `${fields}\nX-PowerMTA-BounceCategory: ${category}`],
  });
}
