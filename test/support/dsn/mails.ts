/** Mails as bytes, for tests of what comes back. */

const COPY =
  "Return-Path: <b+x@bounce.loja.test>\nFrom: loja@loja.test\nTo: maria@example.com\nSubject: Pedido\nMessage-ID: <1@loja.test>";

export interface MailDeps {
  from?: string;
  subject?: string;
  /** Further header lines. */
  headers?: string[];
  text: string;
}

/** A mail of one part. Line ends are CRLF. */
export function mail({
  from = "MAILER-DAEMON@mx.test (Mail Delivery System)",
  subject = "Undelivered Mail Returned to Sender",
  headers = [],
  text,
}: MailDeps): Uint8Array {
  return bytes([`From: ${from}`, `Subject: ${subject}`, "To: b+x@bounce.loja.test", ...headers, "", text].join("\n"));
}

export interface ReportDeps extends Omit<MailDeps, "text"> {
  text?: string;
  /** The groups of the delivery-status, each a text of lines. */
  groups: string[];
  /** Lines before the groups. */
  head?: string;
  copy?: string;
}

/** A multipart/report of RFC 6522 with a delivery-status of RFC 3464. */
export function report({
  text = "This is the mail system at host mx.test.",
  groups,
  head = "Reporting-MTA: dns; mx.test",
  copy = COPY,
  ...rest
}: ReportDeps): Uint8Array {
  const parts = [
    `Content-Type: text/plain; charset=utf-8\n\n${text}\n`,
    `Content-Type: message/delivery-status\n\n${[head, ...groups].join("\n\n")}\n`,
    `Content-Type: message/rfc822\n\n${copy}\n\nbody\n`,
  ];
  return mail({
    ...rest,
    headers: ['Content-Type: multipart/report; report-type=delivery-status; boundary="=_b"', ...(rest.headers ?? [])],
    text: `This is a MIME-encapsulated message.\n\n${parts.map((part) => `--=_b\n${part}`).join("\n")}\n--=_b--`,
  });
}

/** A group of a delivery-status. */
export function group(
  status: string,
  diagnostic: string | null,
  action = "failed",
  recipient = "maria@example.com",
): string {
  const lines = [`Final-Recipient: rfc822; ${recipient}`, `Action: ${action}`, `Status: ${status}`];
  if (diagnostic !== null) lines.push(`Diagnostic-Code: smtp; ${diagnostic}`);
  return lines.join("\n");
}

/** A text with LF line ends as the bytes of a mail. */
export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(`${text.replaceAll("\n", "\r\n")}\r\n`);
}
