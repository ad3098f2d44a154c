import { group, mail, report } from "../../../support/dsn/mails.ts";
import { table } from "./judged.ts";

// More of reporters.test.ts: the large providers, smaller programs, other languages.

const exchange = (text: string, status: string, said: string | null) =>
  report({
    from: "Microsoft Outlook <postmaster@outlook.com>",
    subject: "Undeliverable: Pedido",
    headers: ["Auto-Submitted: auto-replied"],
    text,
    groups: [group(status, said)],
  });

table("Exchange and Microsoft 365", {
  "an address that is not found": [
    exchange(
      "Your message to maria@example.com couldn't be delivered.\nmaria wasn't found at example.com.",
      "5.1.10",
      "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient maria@example.com not found by SMTP address lookup",
    ),
    ["invalid_recipient", "suppress"],
  ],
  "the same in Portuguese": [
    exchange(
      "Não foi possível entregar a sua mensagem para maria@example.com.\nmaria não foi encontrado em example.com.",
      "5.1.10",
      "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup",
    ),
    ["invalid_recipient", "suppress"],
  ],
  "a group for members": [
    exchange(
      "Delivery to this address is restricted.",
      "5.7.1",
      "550 5.7.1 RESOLVER.RST.AuthRequired; authentication required",
    ),
    ["policy", "bounce"],
  ],
  "a full mailbox": [
    exchange(
      "The recipient's mailbox is full.",
      "5.2.2",
      "554 5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException",
    ),
    ["mailbox_full", "bounce"],
  ],
  "an expired message": [
    exchange(
      "",
      "5.4.300",
      "550 5.4.300 Message expired -> 451 4.4.0 Primary target IP address responded with: 421 4.4.1 Connection timed out",
    ),
    ["expired", "bounce"],
  ],
  "an old one's text": [
    mail({
      from: "System Administrator <postmaster@example.com>",
      subject: "Undeliverable: Pedido",
      text: "Your message\n\n  To:      maria@example.com\n  Subject: Pedido\n\ndid not reach the following recipient(s):\n\nmaria@example.com on Thu, 9 May 2005 23:34:45 +0900\n    The recipient name is not recognized\n\tThe MTS-ID of the original message is: c=jp;a= ;p=example\n    MSEXCH:IMS:NEKO:CAT:X 0 (000C05A6) Unknown Recipient",
    }),
    ["invalid_recipient", "suppress"],
  ],
  "a text with the code of 2007": [
    mail({
      from: "postmaster@example.com",
      subject: "Undeliverable: Pedido",
      text: "Delivery has failed to these recipients or groups:\n\nmaria@example.com\nThe e-mail address you entered couldn't be found.\n\nDiagnostic information for administrators:\n\nGenerating server: mx.example.com\n\nmaria@example.com\n#550 5.1.1 RESOLVER.ADR.RecipNotFound; not found ##\n\nOriginal message headers:\n\nReceived: from a by b",
    }),
    ["invalid_recipient", "suppress"],
  ],
});

const google = (text: string, status: string, said: string | null) =>
  report({
    from: "Mail Delivery Subsystem <mailer-daemon@googlemail.com>",
    subject: "Delivery Status Notification (Failure)",
    headers: ["Auto-Submitted: auto-replied", "X-Failed-Recipients: maria@example.com"],
    text,
    groups: [group(status, said)],
  });

table("Google", {
  "an address that is not found, without an answer": [
    google(
      "** Address not found **\n\nYour message wasn't delivered to maria@example.com because the address couldn't be found.",
      "5.0.0",
      null,
    ),
    ["invalid_recipient", "suppress"],
  ],
  "the same in Portuguese": [
    google(
      "** Endereço não encontrado **\n\nSua mensagem não foi entregue a maria@example.com porque o endereço não foi encontrado.",
      "5.0.0",
      null,
    ),
    ["invalid_recipient", "suppress"],
  ],
  "the same in Spanish": [
    google(
      "** No se ha encontrado la dirección **\n\nTu mensaje no se ha entregado a maria@example.com.",
      "5.0.0",
      null,
    ),
    ["invalid_recipient", "suppress"],
  ],
  "the same in French": [
    google("** Adresse introuvable **\n\nVotre message n'a pas été distribué à maria@example.com.", "5.0.0", null),
    ["invalid_recipient", "suppress"],
  ],
  "the same in German": [
    google("** Adresse nicht gefunden **\n\nIhre Nachricht wurde nicht zugestellt.", "5.0.0", null),
    ["invalid_recipient", "suppress"],
  ],
  "a domain that is not there, for now": [
    google(
      "** Address not found **\n\nYour message wasn't delivered because the domain exampel.test couldn't be found.",
      "4.0.0",
      "DNS Error: 1 DNS type 'mx' lookup of exampel.test responded with code NXDOMAIN",
    ),
    ["bad_domain", "passing"],
  ],
  "a full inbox": [
    google(
      "** Recipient inbox full **\n\nYour message couldn't be delivered to maria@example.com. Their inbox is full, or it's getting too much mail right now.",
      "5.0.0",
      "552 5.2.2 The email account that you tried to reach is over quota",
    ),
    ["mailbox_full", "bounce"],
  ],
  "a block": [
    google(
      "** Message blocked **\n\nYour message to maria@example.com has been blocked.",
      "5.0.0",
      "550 5.7.1 Message rejected due to policy",
    ),
    ["policy", "bounce"],
  ],
  "a delay": [
    report({
      subject: "Delivery Status Notification (Delay)",
      text: "** Delivery incomplete **\n\nThere was a temporary problem delivering your message to maria@example.com. Gmail will retry for 46 more hours.",
      groups: [group("4.4.1", null, "delayed")],
    }),
    ["unknown", "delayed"],
  ],
  "the text of earlier years": [
    mail({
      from: "Mail Delivery Subsystem <mailer-daemon@googlemail.com>",
      subject: "Delivery Status Notification (Failure)",
      headers: ["X-Failed-Recipients: maria@example.com"],
      text: "Delivery to the following recipient failed permanently:\n\n     maria@example.com\n\nTechnical details of permanent failure:\nGoogle tried to deliver your message, but it was rejected by the recipient domain. We recommend contacting the other email provider for further information about the cause of this error. The error that the other server returned was: 550 550 5.1.1 <maria@example.com>... User Unknown (state 14).\n\n----- Original message -----\n\nuser",
    }),
    ["invalid_recipient", "suppress"],
  ],
  "a group": [
    mail({
      from: "Mail Delivery Subsystem <mailer-daemon@googlemail.com>",
      subject: "Delivery Status Notification (Failure)",
      headers: ["X-Failed-Recipients: maria@example.com", "Auto-Submitted: auto-replied"],
      text: "Olá loja@loja.test,\n\nEstamos a escrever para informar que o grupo que tentou contactar (clientes) pode não existir, ou que não tem permissão para publicar mensagens no grupo.\n\nVisite https://groups.google.com/support/.\n\nGoogle Groups",
    }),
    ["policy", "bounce"],
  ],
});

const said = (text: string, subject = "Undelivered Mail Returned to Sender", from = "postmaster@mx.test") =>
  mail({ from, subject, text });

table("others", {
  Courier: [
    report({
      text: "UNDELIVERABLE MAIL\n\nYour message to the following recipients cannot be delivered:\n\n<maria@example.com>:\n    mx.example.com [192.0.2.9]:\n>>> RCPT TO:<maria@example.com>\n<<< 550 User unknown",
      groups: [group("5.0.0", "550 User unknown")],
    }),
    ["invalid_recipient", "suppress"],
  ],
  MailMarshal: [
    said(
      "Your message:\n   From:    loja@loja.test\n   Subject: Pedido\n\nCould not be delivered because of\n\n550 5.1.1 User unknown\n\nThe following recipients were affected:\n    maria@example.com",
      "Undeliverable Mail",
    ),
    ["invalid_recipient", "suppress"],
  ],
  OpenSMTPD: [
    said(
      "    Hi!\n\n    This is the MAILER-DAEMON, please DO NOT REPLY to this email.\n\n    An error has occurred while attempting to deliver a message for\n    the following list of recipients:\n\nmaria@example.com: 550 5.1.1 <maria@example.com>: Recipient address rejected\n\n    Below is a copy of the original message:\n\nSubject: x",
      "Delivery status notification: error",
    ),
    ["invalid_recipient", "suppress"],
  ],
  DragonFly: [
    said(
      "This is the DragonFly Mail Agent v0.13 at mx.test.\n\nThere was an error delivering your mail to <maria@example.com>.\n\nmx.example.com [192.0.2.9] did not like our RCPT TO:\n550 No such user\n\nMessage headers follow.\n\nSubject: x",
      "Mail delivery failed",
    ),
    ["invalid_recipient", "suppress"],
  ],
  Domino: [
    report({
      from: "Postmaster@example.com",
      subject: "DELIVERY FAILURE: User maria (maria@example.com) not listed in Domino Directory",
      text: "Your message\n\n  Subject: Pedido\n\nwas not delivered to:\n\n  maria@example.com\n\nbecause:\n\n  User maria (maria@example.com) not listed in Domino Directory",
      groups: [
        "Final-Recipient: rfc822;maria@example.com\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: X-Notes; User maria (maria@example.com) not listed in Domino Directory",
      ],
    }),
    ["invalid_recipient", "suppress"],
  ],
  Symantec: [
    report({
      from: "MAILER-DAEMON@messagelabs.com",
      text: "I was unable to deliver your message to the following addresses:\n\nmaria@example.com\n\nReason: 542 maria@example.com Rejected",
      groups: [group("5.0.0", "542 maria@example.com Rejected")],
    }),
    ["invalid_recipient", "suppress"],
  ],
  Mimecast: [
    said(
      "An email that you attempted to send to the following address could not be delivered:\n-- maria@example.com\n\nThe problem appears to be :\n-- Recipient email address is possibly incorrect\n\nAdditional information follows :\n-- 5.1.1 User Unknown",
      "[Postmaster] Email Delivery Failure",
    ),
    ["invalid_recipient", "suppress"],
  ],
  "Amazon SES": [
    report({
      from: "MAILER-DAEMON@amazonses.com",
      subject: "Delivery Status Notification (Failure)",
      text: "An error occurred while trying to deliver the mail to the following recipients:\nmaria@example.com",
      groups: [group("5.1.1", "550 5.1.1 user unknown")],
    }),
    ["invalid_recipient", "suppress"],
  ],
  PowerMTA: [
    report({
      text: "Hello, this is the mail server on mx.test.",
      groups: [`${group("5.0.0", "550 Sorry")}\nX-PowerMTA-BounceCategory: bad-mailbox`],
    }),
    ["invalid_recipient", "suppress"],
  ],
  "PowerMTA's quota": [
    report({
      text: "Hello, this is the mail server on mx.test.",
      groups: [`${group("5.0.0", "550 Sorry")}\nX-PowerMTA-BounceCategory: quota-issues`],
    }),
    ["mailbox_full", "bounce"],
  ],
  "McAfee, without a Final-Recipient": [
    report({
      subject: "Delivery Status",
      text: "    --- The following addresses had delivery problems ---\n\n<maria@example.com>   (5.1.1 User unknown)",
      groups: [
        "Original-Recipient: <maria@example.com>\nAction: failed\nDiagnostic-Code: smtp; 550 5.1.1 <maria@example.com>... User unknown",
      ],
    }),
    ["invalid_recipient", "suppress"],
  ],
  GMX: [
    said(
      'This message was created automatically by mail delivery software.\n\nA message that you sent could not be delivered to one or more of\nits recipients. This is a permanent error. The following address\nfailed:\n\n"maria@example.com":\nSMTP error from remote server after RCPT command:\nhost: mx.example.com\n5.1.1 <maria@example.com>... User Unknown\n\n--- The header of the original message is following. ---',
      "Mail delivery failed: returning message to sender",
    ),
    ["invalid_recipient", "suppress"],
  ],
  KDDI: [
    mail({
      from: "no-reply@app.auone-net.jp",
      subject: "Mail",
      text: "Your mail sent on: Thu, 29 Apr 2013 00:00:00 +0900\n     Could not be delivered to: <maria@example.com>\n     As their mailbox is full.",
    }),
    ["mailbox_full", "passing"],
  ],
  "a carrier that says unknown of whom it filters": [
    said(
      "The following addresses had delivery errors---\n\nmaria@example.com [User unknown]",
      "Returned Mail: User unknown",
      "Mail Deliver System <MAILER-DAEMON>",
    ),
    ["unknown", "bounce"],
  ],
  "a report without its boundary": [
    said(
      "This is a MIME-encapsulated message\n\n--lost\n\n   ----- The following addresses had permanent fatal errors -----\n<maria@example.com>\n\n--lost\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.test\n\nFinal-Recipient: RFC822; maria@example.com\nAction: failed\nStatus: 5.1.1\n\n--lost\nContent-Type: message/rfc822\n",
      "Returned mail: see transcript for details",
    ),
    ["invalid_recipient", "suppress"],
  ],
});

table("other languages", {
  "Portuguese, a full mailbox": [
    postmaster(
      "A sua mensagem não pôde ser entregue a maria@example.com:\n\n552 A caixa de correio do destinatário está cheia",
      "Falha na entrega da mensagem",
    ),
    ["mailbox_full", "bounce"],
  ],
  "Portuguese, an account that is off": [
    postmaster(
      "Não foi possível entregar a mensagem para maria@example.com.\n\nA conta foi desativada.",
      "Mensagem não entregue",
    ),
    ["inactive_mailbox", "suppress"],
  ],
  "Portuguese, unknown": [
    postmaster(
      "Não foi possível entregar a mensagem para maria@example.com.\n\nDestinatário inexistente.",
      "Mensagem não entregue",
    ),
    ["invalid_recipient", "suppress"],
  ],
  "Portuguese, a domain": [
    postmaster(
      "Não foi possível entregar a mensagem para maria@example.com.\n\nO domínio exampel.test não existe.",
      "Mensagem devolvida",
    ),
    ["bad_domain", "suppress"],
  ],
  "Portuguese, a block": [
    postmaster(
      "Não foi possível entregar a mensagem.\n\nMensagem bloqueada pela política de segurança do destinatário.",
      "Mensagem não entregue",
    ),
    ["policy", "bounce"],
  ],
  "Portuguese, a delay": [
    postmaster(
      "A sua mensagem ainda não foi entregue a maria@example.com. O servidor tentará novamente.",
      "Atraso na entrega da mensagem",
    ),
    ["unknown", "delayed"],
  ],
  Spanish: [
    postmaster("No se pudo entregar el mensaje a maria@example.com.\n\nEl usuario no existe.", "Mensaje no entregado"),
    ["invalid_recipient", "suppress"],
  ],
  "Spanish, a full mailbox": [
    postmaster("No se pudo entregar el mensaje.\n\nEl buzón del destinatario está lleno.", "Mensaje devuelto"),
    ["mailbox_full", "passing"],
  ],
  French: [
    postmaster("Votre message n'a pas pu être remis.\n\nUtilisateur inconnu.", "Message non remis"),
    ["invalid_recipient", "suppress"],
  ],
  German: [
    postmaster("Ihre Nachricht konnte nicht zugestellt werden.\n\nEmpfänger unbekannt.", "Unzustellbar: Pedido"),
    ["invalid_recipient", "suppress"],
  ],
  Italian: [
    postmaster("Impossibile recapitare il messaggio.\n\nUtente sconosciuto.", "Mancata consegna"),
    ["invalid_recipient", "suppress"],
  ],
});

function postmaster(text: string, subject: string): Uint8Array {
  return mail({ from: "postmaster@mx.test", subject, headers: ["Content-Type: text/plain; charset=utf-8"], text });
}
