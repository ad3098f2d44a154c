// What comes back by mail, from real peers: a Postfix that accepts mail for a user it does not have and
// then sends its own report over STARTTLS to pombo's listener, and swaks, as a spammer, a forger and a
// provider with a complaint would use that listener.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathOf } from "../../support/peers/packages.ts";
import { run, waitUntil, type Finished } from "../../support/peers/process.ts";
import { waitForStatus, type Sending } from "./delivery.ts";
import { LATE_DOMAIN, MX_DOMAIN } from "./mx.ts";
import { parse } from "./received.ts";

/** swaks(1), EXIT CODES. */
const RCPT_REFUSED = 24;
const LOG_TIMEOUT_MS = 10_000;
const REPORT_SENT = /to=<b\+[a-z2-7]+@[^>]+>, .*status=(\w+)/g;
const OVER_TLS = /TLS connection established to 127\.0\.0\.1/;

export interface InboundChecks extends Sending {
  folder: string;
  /** Pombo's listener. */
  port: number;
  /** Its name, where return paths and complaints lead. */
  host: string;
  /** A user of the MX's, whose mail can be looked at. */
  user: string;
}

export async function checkInbound(options: InboundChecks): Promise<void> {
  await options.checks.group("inbound: a bounce after acceptance", () => checkLateBounce(options));
  await options.checks.group("inbound: a complaint", () => checkComplaint(options));
  await options.checks.group("inbound: strangers", () => checkStrangers(options));
}

async function checkLateBounce({ api, mx, checks, sender }: InboundChecks): Promise<void> {
  const to = `nobody-here@${LATE_DOMAIN}`;
  const email = { from: sender, to, subject: "Hello", text: "Hello" };
  const { id } = (await api.expect(202, "POST", "/api/v1/emails", email)).data;
  const record = await waitForStatus(api, id, ["bounced", "failed"]);
  checks.equal("late bounce: bounced", record.status, "bounced");
  checks.claim("late bounce: Postfix had said 250 first", record.deliveredAt !== null, () => record);
  const { category, type, enhancedCode } = record.bounce ?? {};
  const expected = { category: "invalid_recipient", type: "permanent", enhancedCode: "5.1.1" };
  checks.equal("late bounce: Postfix's report is understood", { category, type, enhancedCode }, expected);
  checks.claim(
    "late bounce: its words are told",
    /user unknown|unknown user/i.test(record.failedReason ?? ""),
    () => record.failedReason,
  );
  // Pombo has taken the report before Postfix writes down that it was.
  const results = () => [...mx.postfix.log().matchAll(REPORT_SENT)].map(([, result]) => result);
  await waitUntil("Postfix's line about its report", LOG_TIMEOUT_MS, () => results().length > 0);
  checks.equal("late bounce: Postfix sent its report once", results(), ["sent"]);
  const log = mx.postfix.log();
  checks.claim("late bounce: over TLS", OVER_TLS.test(log), () => log.slice(-2_000));
  const again = await api.call("POST", "/api/v1/emails", email);
  checks.equal(
    "late bounce: suppressed for the next email",
    [again.status, again.body?.errors?.[0]?.code],
    [422, "RECIPIENT_SUPPRESSED"],
  );
}

async function checkComplaint({ api, mx, checks, sender, folder, port, host, user }: InboundChecks): Promise<void> {
  const to = `${user}@${MX_DOMAIN}`;
  const email = { from: sender, to, subject: "Unwanted", text: "Buy" };
  const { id } = (await api.expect(202, "POST", "/api/v1/emails", email)).data;
  await waitForStatus(api, id, ["delivered"]);
  const message = await mx.mailOf(user);
  const header = message.toString("latin1").split("\r\n\r\n", 1)[0] ?? "";
  const report = [
    "From: feedback@provider.test",
    `To: fbl@${host}`,
    "Subject: complaint",
    "MIME-Version: 1.0",
    'Content-Type: multipart/report; report-type=feedback-report; boundary="b1"',
    "",
    "--b1",
    "Content-Type: message/feedback-report",
    "",
    "Feedback-Type: abuse",
    "User-Agent: Provider/1.0",
    "Version: 1",
    "Original-Rcpt-To: redacted@provider.test",
    "",
    "--b1",
    "Content-Type: message/rfc822",
    "",
    ...header.split("\r\n").filter((line) => !/^(?:to|return-path|delivered-to|x-original-to):/i.test(line)),
    "",
    "--b1--",
    "",
  ];
  const file = join(folder, "complaint.eml");
  writeFileSync(file, report.join("\r\n"));
  const sent = await swaks(port, { from: "feedback@provider.test", to: `fbl@${host}` }, "--tls", "--data", `@${file}`);
  checks.claim("complaint: taken over TLS", sent.exitCode === 0, () => sent.output);
  const record = await waitForStatus(api, id, ["complained"]);
  checks.equal("complaint: the email is complained about", record.status, "complained");
  checks.claim("complaint: it stays delivered", record.deliveredAt !== null);
  checks.equal("complaint: it was that message", (await parse(message)).messageId, `<${record.providerId}>`);
  const again = await api.call("POST", "/api/v1/emails", email);
  checks.equal("complaint: nothing more goes there", again.body?.errors?.[0]?.code, "RECIPIENT_SUPPRESSED");
}

async function checkStrangers({ checks, port, host }: InboundChecks): Promise<void> {
  const token = "b+aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
  const refused: Record<string, string> = {
    "a relay": "somebody@example.com",
    "a relay by percent": `somebody%example.com@${host}`,
    "a forged token": `${token}@${host}`,
    "an unknown user": `somebody@${host}`,
  };
  for (const [what, to] of Object.entries(refused)) {
    const { exitCode, output } = await swaks(port, { from: "", to });
    checks.equal(`strangers: ${what} is refused at RCPT`, exitCode, RCPT_REFUSED);
    checks.claim(`strangers: ${what} is told 550`, /<\S* 550 5\.1\.1 /.test(output), () => output);
  }
  const login = await swaks(
    port,
    { from: "a@example.com", to: `postmaster@${host}` },
    "--auth",
    "PLAIN",
    "--auth-user",
    "a",
    "--auth-password",
    "b",
  );
  checks.claim("strangers: there is nothing to log in to", login.exitCode === 28, () => login.output);
  for (const mailbox of ["postmaster", "abuse"]) {
    const { exitCode, output } = await swaks(port, { from: "a@example.com", to: `${mailbox}@${host}` }, "--tls");
    checks.claim(`strangers: mail to ${mailbox}@ is taken`, exitCode === 0, () => output);
  }
}

function swaks(port: number, { from, to }: { from: string; to: string }, ...more: string[]): Promise<Finished> {
  const sender = from === "" ? "<>" : from;
  return run([pathOf("swaks"), "--server", `127.0.0.1:${port}`, "--from", sender, "--to", to, ...more]);
}
