// The interoperability run: pombo, as its users have it, sends through its API to a real Postfix with
// a real OpenDKIM behind real STARTTLS, to the same Postfix with other demands (variants.ts), to
// smtp-sinks with a fault each (sinks.ts) and through another Postfix as relay, and the stored mails are
// read back and compared, those with copies, files and all other members (member-checks.ts) too. Texts go to SMSCs of others (sms.ts), programs of others hand in mail
// (submission/), mail leaves through proxies of others (egress.ts), the peers are checked by themselves, and the sandbox's mail server by swaks. One line per check; the last line is the sum. Exit code 1: a check failed; 2: programs to
// check against are missing. `--smoke` leaves out the long tail of samples, sinks and programs, `--sms` all but the texts, `--submission` all but what is handed in, `--egress` all but the proxies.

import { join } from "node:path";
import type { Zone } from "../../support/fakes/zone.ts";
import { ensureTools, OPENDKIM, POSTFIX, SASL, SWAKS } from "../../support/peers/packages.ts";
import { addDomain, type Api, createWorkspace, findPombo, logTail, startPombo } from "../../support/peers/pombo.ts";
import { freePort, makeFolder, runProgram, type Cleanup } from "../../support/peers/process.ts";
import { serveZone, withKeyFile } from "../../support/peers/zone.ts";
import { Checks } from "./checks.ts";
import { checkDoctor, DOCTOR_TOOLS } from "./doctor/doctor.ts";
import { checkEgress, EGRESS_TOOLS } from "./egress.ts";
import { checkDelivery } from "./delivery.ts";
import { checkInbound } from "./inbound-checks.ts";
import { GREYLISTED_USER, LATE_DOMAIN, MX_DOMAIN, MX_HOST, startMx, type Mx } from "./mx.ts";
import { checkMembers, MEMBER_USERS, PUBLIC_URL } from "./member-checks.ts";
import { checkPeers, PEER_USERS, signedMessage } from "./peer-checks.ts";
import { checkRefusals } from "./refusals.ts";
import { checkReaders, SHAPES_USER } from "./reader-checks.ts";
import { startRelay } from "./relay.ts";
import { checkRelay, RELAY_ADDRESSES, RELAY_USERS, relayWays } from "./relay-checks.ts";
import { moreSamples, SAMPLES, type Sample } from "./samples.ts";
import { checkSandbox } from "./sandbox-checks.ts";
import { checkSinks, startSinks } from "./sinks.ts";
import { checkSms, SMS_TOOLS } from "./sms.ts";
import { checkSubmission, SUBMISSION_TOOLS } from "./submission/submission.ts";
import { checkVariants, VARIANT_DOMAINS, VARIANT_USERS, variantServices, variantZone } from "./variants.ts";

const SENDER_DOMAIN = "loja.test";
const SENDER = `loja@${SENDER_DOMAIN}`;
const POMBO_HOST = "pombo.test";
const COMPLAINING_USER = "complains";

await runProgram(async (cleanup) => {
  const args = process.argv.slice(2);
  const parts = args.filter((arg) => arg !== "--smoke");
  if (
    parts.length > 1 ||
    parts.some((part) => !["--peers", "--sms", "--submission", "--egress", "--doctor"].includes(part))
  ) {
    console.error("usage: script/interop [--smoke] [--peers | --sms | --submission | --egress | --doctor]");
    return 2;
  }
  const has = (...names: string[]): boolean => parts.length === 0 || parts.some((part) => names.includes(part));
  const [isSms, isSubmission, isMail, isDoctor] = [has("--sms"), has("--submission"), has("--peers"), has("--doctor")];
  const isEgress = has("--egress");
  const isPombo = parts.length === 0;
  const mailTools = [POSTFIX, OPENDKIM, SWAKS, SASL];
  const trouble = await ensureTools([
    ...(isMail ? mailTools : []),
    ...(isSms ? SMS_TOOLS : []),
    ...(isSubmission ? SUBMISSION_TOOLS : []),
    ...(isDoctor ? DOCTOR_TOOLS : []),
    ...(isEgress ? EGRESS_TOOLS : []),
  ]);
  if (trouble !== null) {
    console.error(trouble);
    return 2;
  }
  const checks = new Checks();
  const isSmoke = args.includes("--smoke");
  const samples = isSmoke ? SAMPLES : [...SAMPLES, ...moreSamples()];
  const folder = makeFolder("interop", cleanup);
  const shared = { folder, checks, cleanup, isSmoke };
  if (isSms) await checks.group("sms", () => checkSms(shared));
  if (isSubmission) await checks.group("submission", () => checkSubmission(shared));
  if (isEgress) await checks.group("egress", () => checkEgress(shared));
  if (isDoctor) await checks.group("doctor", () => checkDoctor(shared));
  if (isMail) await runChecks({ ...shared, samples, isPombo });
  return checks.finish();
});

async function runChecks(options: {
  folder: string;
  cleanup: Cleanup;
  checks: Checks;
  samples: Sample[];
  isPombo: boolean;
  isSmoke: boolean;
}): Promise<void> {
  const { folder, cleanup, checks, samples } = options;
  // The instance's own name resolves too: pombo doubts its DNS otherwise (R1).
  const keyFile = join(folder, "dkim-keys");
  const names: Zone = {
    [POMBO_HOST]: { A: ["127.0.0.1"] },
    [MX_DOMAIN]: { MX: [[10, MX_HOST]] },
    [MX_HOST]: { A: ["127.0.0.1"] },
    [LATE_DOMAIN]: { MX: [[10, MX_HOST]] },
    ...variantZone(),
    ...RELAY_ADDRESSES,
  };
  const zone = withKeyFile(names, keyFile);
  const dns = await serveZone(zone);
  cleanup.add(() => dns.close());
  const others = [SHAPES_USER, ...MEMBER_USERS, ...RELAY_USERS, COMPLAINING_USER];
  const users = [...PEER_USERS, ...others, ...samples.map((sample) => sample.name)];
  const inboundPort = await freePort();
  const reports = { hosts: [POMBO_HOST, `bounce.${SENDER_DOMAIN}`], port: inboundPort };
  const variants = { others: VARIANT_USERS, otherDomains: VARIANT_DOMAINS, services: variantServices };
  const mx = await startMx({ folder, keyFile, users, ...variants, reports, cleanup });
  await checks.group("peers", async () => {
    const signed = await signedMessage(zone);
    await checkPeers({ folder, mx, signed, zone, checks });
    await checkReaders({ folder, mx, zone, checks, isSmoke: options.isSmoke });
    await checkSandbox({ folder, message: signed, zone, checks, cleanup });
  });
  if (!options.isPombo) return;

  const relay = await startRelay({ folder, mxPort: mx.port, cleanup });
  const ways = await relayWays(relay, folder);
  const sinks = await startSinks({ folder, port: mx.port, isSmoke: options.isSmoke, cleanup });
  Object.assign(zone, sinks.zone);
  console.log(`app: ${findPombo().what}`);
  const app = await startPombo({
    folder,
    hostname: POMBO_HOST,
    cleanup,
    settings: {
      http: { public_url: PUBLIC_URL },
      dns: { servers: [`127.0.0.1:${dns.port}`] },
      // The greylisted mail comes back after seconds instead of the usual minute.
      email: { destination_port: mx.port, allow_private_ranges: ["127.0.0.0/8"], retry_schedule: ["2s", "5s"] },
      inbound: { listen: `127.0.0.1:${inboundPort}` },
      relay: ways.map(({ table }) => table),
    },
  });
  await checks.group("pombo", async () => {
    const api = await createWorkspace(app, "interop");
    await checkPombo({ api, mx, zone, checks, samples });
    await checkMembers({ api, mx, zone, checks, sender: SENDER, folder, isSmoke: options.isSmoke });
    const inbound = { folder, port: inboundPort, host: POMBO_HOST, user: COMPLAINING_USER };
    await checkInbound({ api, mx, checks, sender: SENDER, ...inbound });
    // Both wait for retries.
    const shared = { api, mx, checks, sender: SENDER };
    await Promise.all([checkVariants({ ...shared, zone }), checkSinks({ ...shared, sinks })]);
    await checkRelay({ api, mx, relay, zone, checks, ways, logs: () => app.process.output() });
  });
  if (checks.hasFailed) console.error(`the end of pombo's log:\n${logTail(app)}`);
}

async function checkPombo(options: { api: Api; mx: Mx; zone: Zone; checks: Checks; samples: Sample[] }): Promise<void> {
  const { api, mx, zone, checks } = options;
  await addDomain(api, SENDER_DOMAIN, zone);
  checks.claim("a domain is verified over DNS", true);
  const shared = { api, mx, checks, sender: SENDER };
  await checkDelivery({ ...shared, zone, samples: options.samples });
  const welcome = `${PEER_USERS[0]}@${MX_DOMAIN}`;
  await checkRefusals({ ...shared, greylisted: `${GREYLISTED_USER}@${MX_DOMAIN}`, welcome });
}
