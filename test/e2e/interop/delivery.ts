// Samples from the API to the maildir and back: each is delivered over TLS, unchanged, with
// signatures that two independent verifiers pass.

import type { Zone } from "../../support/fakes/zone.ts";
import type { Api } from "../../support/peers/pombo.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { checkSignatures } from "../../support/peers/zone.ts";
import type { Checks } from "./checks.ts";
import { MX_DOMAIN, type Mx } from "./mx.ts";
import { comparableText, isPlainOnTheWire, openDkimVerdicts, parse, tlsOf } from "./received.ts";
import type { Sample } from "./samples.ts";

const FINAL_TIMEOUT_MS = 30_000;
export const EXPECTED_VERDICTS = ["ed25519-sha256 pass", "rsa-sha256 pass"];

export interface Sending {
  api: Api;
  mx: Mx;
  checks: Checks;
  /** The verified address that sends. */
  sender: string;
}

export async function checkDelivery(options: Sending & { zone: Zone; samples: Sample[] }): Promise<void> {
  const { api, samples, checks } = options;
  const ids = new Map<Sample, string>();
  for (const sample of samples) {
    await checks.group(`${sample.name}: accepted`, async () => {
      const answer = await api.expect(202, "POST", "/api/v1/emails", toRequest(sample, options.sender));
      ids.set(sample, answer.data.id);
    });
  }
  for (const [sample, id] of ids) {
    await checks.group(sample.name, () => checkSample({ ...options, sample, id }));
  }
}

/** Waits until the email's status is one of those that are expected to be last. @returns the record */
export async function waitForStatus(api: Api, id: string, statuses: string[]) {
  let record = { status: "" } as Awaited<ReturnType<Api["expect"]>>;
  try {
    await waitUntil(`status ${statuses.join(" or ")}`, FINAL_TIMEOUT_MS, async () => {
      record = (await api.expect(200, "GET", `/api/v1/emails/${id}`)).data;
      return statuses.includes(record.status);
    });
  } catch (error) {
    const { status, failedReason, lastReply } = record;
    throw new Error(`is ${status}: ${failedReason ?? lastReply ?? "no reason given"}`, { cause: error });
  }
  return record;
}

async function checkSample(options: Sending & { zone: Zone; sample: Sample; id: string }): Promise<void> {
  const { api, mx, zone, checks, sample } = options;
  const { name } = sample;
  const record = await waitForStatus(api, options.id, ["delivered", "bounced", "failed"]);
  if (!checks.claim(`${name}: delivered`, record.status === "delivered", () => record)) return;
  const message = await mx.mailOf(name);
  checks.claim(`${name}: over TLS`, tlsOf(message) !== null, () => message.toString("latin1").slice(0, 2000));
  checks.claim(`${name}: short 7-bit lines`, isPlainOnTheWire(message));

  const domain = options.sender.split("@")[1] ?? "";
  const byOpenDkim = openDkimVerdicts(message, domain).map((verdict) => verdict.join(" "));
  checks.equal(`${name}: OpenDKIM says pass to both signatures`, byOpenDkim.toSorted(), EXPECTED_VERDICTS);
  const signatures = await checkSignatures(message, zone);
  const byMailauth = signatures.map(({ algorithm, result }) => `${algorithm} ${result}`);
  checks.equal(`${name}: mailauth says pass to both signatures`, byMailauth.toSorted(), EXPECTED_VERDICTS);
  await checkContent(options, message);
  checks.equal(`${name}: Message-ID is the providerId`, (await parse(message)).messageId, `<${record.providerId}>`);
}

async function checkContent({ checks, sample, sender }: Sending & { sample: Sample }, message: Buffer): Promise<void> {
  const { name } = sample;
  const mail = await parse(message);
  checks.equal(`${name}: subject`, mail.subject, sample.subject);
  checks.equal(`${name}: sender`, mail.from?.value.map(simplify), [{ name: sample.fromName, address: sender }]);
  if (sample.replyTo !== null) {
    checks.equal(
      `${name}: reply-to`,
      mail.replyTo?.value.map(({ address }) => address),
      [sample.replyTo],
    );
  }
  if (sample.html === null) checks.claim(`${name}: no html part`, mail.html === false);
  else checks.equal(`${name}: html`, comparableText(mail.html || ""), comparableText(sample.html));
  if (sample.text !== null) checks.equal(`${name}: text`, comparableText(mail.text ?? ""), comparableText(sample.text));
  // The API promises that a plain-text version is generated.
  else checks.claim(`${name}: a text was made of the html`, (mail.text ?? "").trim() !== "");
}

function simplify({ name, address }: { name: string; address?: string | undefined }): {
  name: string;
  address: string;
} {
  return { name, address: address ?? "" };
}

function toRequest(sample: Sample, sender: string): Record<string, string> {
  const quoted = `"${sample.fromName.replace(/[\\"]/g, "\\$&")}"`;
  return {
    from: `${quoted} <${sender}>`,
    to: `${sample.name}@${MX_DOMAIN}`,
    subject: sample.subject,
    ...(sample.html === null ? {} : { html: sample.html }),
    ...(sample.text === null ? {} : { text: sample.text }),
    ...(sample.replyTo === null ? {} : { replyTo: sample.replyTo }),
  };
}
