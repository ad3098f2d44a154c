/** Letters as the SMTP server hands them over, about emails of an instance. */
import type { InboundMessage } from "../../../src/modules/inbound-mail/inbound-message.ts";
import { bytes, group, report } from "../dsn/mails.ts";
import type { Instance } from "../fakes/instance.ts";

export const GONE = "550 5.1.1 No such user";

/** A message with these bytes. */
export function inboundMessage(content: Uint8Array, changes: Partial<InboundMessage> = {}): InboundMessage {
  return {
    destinations: [{ kind: "person", mailbox: "postmaster" }],
    envelopeFrom: "",
    clientAddress: "192.0.2.7",
    helo: "mx1.example.net",
    isTls: true,
    receivedAt: Date.UTC(2026, 10, 21, 12),
    bytes: content,
    ...changes,
  };
}

/** What comes to an email's own return path. */
export function toEmail(id: string, content: Uint8Array, changes: Partial<InboundMessage> = {}): InboundMessage {
  return inboundMessage(content, { destinations: [{ kind: "bounce", emailUid: id }], ...changes });
}

/** A bounce of the email. */
export function bounce(
  id: string,
  status = "5.1.1",
  diagnostic: string | null = GONE,
  action = "failed",
): InboundMessage {
  return toEmail(id, report({ groups: [`${group(status, diagnostic, action)}\nRemote-MTA: dns; mx1.example.net`] }));
}

/** Mail to fbl@. */
export function toLoop(content: Uint8Array, changes: Partial<InboundMessage> = {}): InboundMessage {
  return inboundMessage(content, {
    destinations: [{ kind: "complaint" }],
    envelopeFrom: "fbl@provider.test",
    ...changes,
  });
}

export interface ComplaintDeps {
  type?: string;
  /** Further lines of the machine-readable part. */
  fields?: string[];
  /** The header of the copy. */
  copy?: string[];
}

/** An RFC 5965 report. */
export function complaint({ type = "abuse", fields = [], copy = [] }: ComplaintDeps): Uint8Array {
  const parts = [
    "Content-Type: text/plain\n\nThis is an abuse report.\n",
    ["Content-Type: message/feedback-report", "", `Feedback-Type: ${type}`, "User-Agent: Loop/1", ...fields, ""].join(
      "\n",
    ),
    ["Content-Type: message/rfc822", "", "From: loja@loja.test", "Subject: Pedido", ...copy, "", "body", ""].join("\n"),
  ];
  return bytes(
    [
      "From: feedback@provider.test",
      "Subject: FW: Pedido",
      'Content-Type: multipart/report; report-type=feedback-report; boundary="=_c"',
      "",
      ...parts.map((part) => `--=_c\n${part}`),
      "--=_c--",
    ].join("\n"),
  );
}

/** The local part of an email's return path: `b+…`. */
export function tokenOf(pombo: Instance, id: string): string {
  const row = pombo.app.db.sqlite
    .query<{ path: string }, [string]>("SELECT return_path AS path FROM email WHERE uid = ?")
    .get(id);
  return (row?.path ?? "").split("@")[0] ?? "";
}

/** Our own header in a copy of the email. */
export function traceOf(pombo: Instance, id: string): string {
  return `X-Pombo-Trace: ${tokenOf(pombo, id).slice(2)}`;
}

/** A complaint to fbl@ about the email. */
export function complaintAbout(pombo: Instance, id: string): InboundMessage {
  return toLoop(complaint({ copy: [traceOf(pombo, id)] }));
}

/** The counters behind the sending rates, of every workspace and day. */
export function ratesOf({ app }: Instance): Record<string, number> {
  const rows = app.db.sqlite
    .query<{ name: string; count: number }, []>(
      "SELECT name, SUM(count) AS count FROM usage WHERE name NOT IN ('emails', 'sms', 'stored_bytes') GROUP BY name",
    )
    .all();
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
}

/** Who is suppressed in the instance's first workspace, and why. */
export async function suppressedIn({ workspace }: Instance): Promise<Record<string, string>> {
  const { body } = await workspace.call("GET", "/api/v1/suppressions");
  return Object.fromEntries(
    body.data.map(({ address, reason }: { address: string; reason: string }) => [address, reason]),
  );
}

/** How many rows a table has. */
export function rowsOf({ app }: Instance, table: string): number {
  return app.db.sqlite.query<{ count: number }, []>(`SELECT COUNT(*) AS count FROM ${table}`).get()?.count ?? 0;
}

/** The mailboxes of what is kept for the operator, newest first. */
export async function inboxOf({ operator }: Instance): Promise<string[]> {
  const { body } = await operator.call("GET", "/api/v1/operator/inbox");
  return body.data.map(({ mailbox }: { mailbox: string }) => mailbox);
}
