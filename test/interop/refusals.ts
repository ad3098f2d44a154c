// What happens when the MX says no: for good (550 to an unknown user) and for now (greylisting).

import { waitForStatus, type Sending } from "./delivery.ts";
import { MX_DOMAIN } from "./mx.ts";

export async function checkRefusals(options: Sending & { greylisted: string }): Promise<void> {
  await options.checks.group("unknown user", () => checkUnknownUser(options));
  await options.checks.group("greylisting", () => checkGreylisting(options));
}

async function checkUnknownUser({ api, checks, sender }: Sending): Promise<void> {
  const to = `nobody-here@${MX_DOMAIN}`;
  const email = { from: sender, to, subject: "Hello", text: "Hello" };
  const { id } = (await api.expect(202, "POST", "/api/v1/emails", email)).data;
  const record = await waitForStatus(api, id, ["delivered", "bounced", "failed"]);
  checks.equal("unknown user: bounced", record.status, "bounced");
  const { category, type, smtpCode, enhancedCode } = record.bounce ?? {};
  const expected = { category: "invalid_recipient", type: "permanent", smtpCode: 550, enhancedCode: "5.1.1" };
  checks.equal("unknown user: the bounce is told", { category, type, smtpCode, enhancedCode }, expected);
  checks.claim(
    "unknown user: the reply is told",
    (record.failedReason ?? "").startsWith("550 5.1.1 "),
    () => record.failedReason,
  );

  const again = await api.call("POST", "/api/v1/emails", email);
  checks.equal(
    "unknown user: suppressed for the next email",
    [again.status, again.body?.errors?.[0]?.code],
    [422, "RECIPIENT_SUPPRESSED"],
  );
}

async function checkGreylisting({
  api,
  mx,
  checks,
  sender,
  greylisted,
}: Sending & { greylisted: string }): Promise<void> {
  const email = { from: sender, to: greylisted, subject: "Hello", text: "Hello" };
  const { id } = (await api.expect(202, "POST", "/api/v1/emails", email)).data;
  const waiting = await waitForStatus(api, id, ["delivery_delayed", "delivered", "bounced", "failed"]);
  checks.equal("greylisting: delayed", [waiting.status, waiting.nextAttemptAt !== null], ["delivery_delayed", true]);
  const record = await waitForStatus(api, id, ["delivered", "bounced", "failed"]);
  checks.equal("greylisting: delivered by the retry", [record.status, record.attempts], ["delivered", 2]);
  // R35: greylisting remembers the sender, so it must not change between attempts.
  const [first, second] = mx.greylistedSenders;
  checks.equal("greylisting: the same envelope sender both times", second, first);
}
