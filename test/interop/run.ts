// The interoperability run: pombo, as its users have it, sends through its API to a real Postfix with
// a real OpenDKIM behind real STARTTLS, and the stored mails are read back and compared. First the
// peers are checked by themselves. One line per check; the last line is the sum. Exit code 1: a check
// failed; 2: programs to check against are missing. `--smoke` leaves out the long tail of samples.

import type { Zone } from "../fakes/zone.ts";
import { ensureTools, OPENDKIM, POSTFIX, SWAKS } from "../peers/packages.ts";
import { addDomain, createWorkspace, findPombo, logTail, startPombo, type PomboApp } from "../peers/pombo.ts";
import { makeFolder, runProgram, type Cleanup } from "../peers/process.ts";
import { serveZone } from "../peers/zone.ts";
import { Checks } from "./checks.ts";
import { checkDelivery } from "./delivery.ts";
import { GREYLISTED_USER, MX_DOMAIN, MX_HOST, startMx, type Mx } from "./mx.ts";
import { checkPeers, PEER_USERS } from "./peer-checks.ts";
import { checkRefusals } from "./refusals.ts";
import { moreSamples, SAMPLES, type Sample } from "./samples.ts";

const SENDER_DOMAIN = "loja.test";
const POMBO_HOST = "pombo.test";

await runProgram(async (cleanup) => {
  const args = process.argv.slice(2);
  if (args.some((arg) => arg !== "--smoke" && arg !== "--peers")) {
    console.error("usage: script/interop [--smoke] [--peers]");
    return 2;
  }
  const trouble = await ensureTools([POSTFIX, OPENDKIM, SWAKS]);
  if (trouble !== null) {
    console.error(trouble);
    return 2;
  }
  const checks = new Checks();
  const samples = args.includes("--smoke") ? SAMPLES : [...SAMPLES, ...moreSamples()];
  await runChecks({ cleanup, checks, samples, isPombo: !args.includes("--peers") });
  return checks.finish();
});

async function runChecks(options: {
  cleanup: Cleanup;
  checks: Checks;
  samples: Sample[];
  isPombo: boolean;
}): Promise<void> {
  const { cleanup, checks, samples } = options;
  const folder = makeFolder("interop", cleanup);
  // The instance's own name resolves too: pombo doubts its DNS otherwise (R1).
  const zone: Zone = {
    [POMBO_HOST]: { A: ["127.0.0.1"] },
    [MX_DOMAIN]: { MX: [[10, MX_HOST]] },
    [MX_HOST]: { A: ["127.0.0.1"] },
  };
  const dns = await serveZone(zone);
  cleanup.add(() => dns.close());
  const users = [...PEER_USERS, ...samples.map((sample) => sample.name)];
  const mx = await startMx({ folder, dnsPort: dns.port, users, cleanup });
  await checks.group("peers", () => checkPeers({ folder, mx, zone, checks }));
  if (!options.isPombo) return;

  console.log(`app: ${findPombo().what}`);
  const app = await startPombo({
    folder,
    hostname: POMBO_HOST,
    cleanup,
    settings: {
      dns: { servers: [`127.0.0.1:${dns.port}`] },
      // The greylisted mail comes back after seconds instead of the usual minute.
      email: { destination_port: mx.port, allow_addresses: ["127.0.0.0/8"], retry: ["2s", "5s"] },
    },
  });
  await checks.group("pombo", () => checkPombo({ app, mx, zone, checks, samples }));
  if (checks.hasFailed) console.error(`the end of pombo's log:\n${logTail(app)}`);
}

async function checkPombo(options: {
  app: PomboApp;
  mx: Mx;
  zone: Zone;
  checks: Checks;
  samples: Sample[];
}): Promise<void> {
  const { app, mx, zone, checks } = options;
  const api = await createWorkspace(app, "interop");
  await addDomain(api, SENDER_DOMAIN, zone);
  checks.claim("a domain is verified over DNS", true);
  const shared = { api, mx, checks, sender: `loja@${SENDER_DOMAIN}` };
  await checkDelivery({ ...shared, zone, samples: options.samples });
  await checkRefusals({ ...shared, greylisted: `${GREYLISTED_USER}@${MX_DOMAIN}` });
}
