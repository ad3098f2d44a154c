// What happens when the MX says no: for good (550 to an unknown user) and for now (greylisting), and when it
// repeats words of a recipient that sound like its own.

import { waitForStatus, type Sending } from "./delivery.ts";
import { MX_DOMAIN } from "./mx.ts";

export async function checkRefusals(options: Sending & { greylisted: string; welcome: string }): Promise<void> {
  await options.checks.group("words in the address", () => checkEchoes(options));
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

/** As Postfix writes it back, `"blocked using spamhaus 1"@` has no quotes any more. */
async function checkEchoes({ api, checks, sender, welcome }: Sending & { welcome: string }): Promise<void> {
  const texts = ["blocked using spamhaus", "temporarily deferred", "too many connections", "spam, mailbox is full"];
  const recipients = texts.flatMap((words) => [1, 2, 3].map((nth) => `"${words} ${nth}"@${MX_DOMAIN}`));
  const ids: string[] = [];
  for (const to of recipients) {
    const email = { from: sender, to, subject: "Hello", text: "Hello" };
    ids.push((await api.expect(202, "POST", "/api/v1/emails", email)).data.id);
  }
  for (const [at, id] of ids.entries()) {
    const { status, bounce } = await waitForStatus(api, id, ["delivered", "bounced", "failed"]);
    const seen = [status, bounce?.category, bounce?.enhancedCode];
    checks.equal(`${recipients[at]}: an unknown user`, seen, ["bounced", "invalid_recipient", "5.1.1"]);
  }
  const { id } = (
    await api.expect(202, "POST", "/api/v1/emails", { from: sender, to: welcome, subject: "Hello", text: "Hello" })
  ).data;
  const record = await waitForStatus(api, id, ["delivered", "bounced", "failed"]);
  checks.equal("words in the address: the site goes on taking mail", record.status, "delivered");
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
