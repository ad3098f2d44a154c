// The configuration of `pombo dev`.

import { type Config, defaultConfig, defaultSmsRoute, NO_RATE_LIMITS } from "../../../config/config.ts";
import { DEFAULT_SMS_PREFIXES } from "../../../config/number-prefix.ts";
import { NumberingPlan } from "../../../modules/sms/encoding/phone-number.ts";
import { MAGIC_NUMBERS, type MagicNumber, buildNumber, SANDBOX_TIMES } from "../../../sandbox/smsc/magic-numbers.ts";
import { SANDBOX_DOMAIN, SANDBOX_HOST } from "../../../sandbox/dns/zone.ts";

/** The sandbox's sender ids: a name, and a number that phones can reply to. */
export const SANDBOX_SENDERS = { name: "Sandbox", number: "84000" } as const;

/** Sooner than in production: a developer watches. */
const RETRY_MS = [5_000, 10_000, 30_000, 60_000, 300_000];
const MAIN_ACCOUNT = "sandbox";
const WINDOW = 50;
const SEGMENTS_A_SECOND = 10_000;

/** The same at each start, so that a program's settings stay right; where it is taken, any other. */
export const SUBMISSION_PORT = 2587;

/** `ports`: of the API and of SMTP submission; 0: any free one. */
export function sandboxConfig(
  directory: string,
  ports: { api: number; submission: number },
  dnsServer: string,
): Config {
  const config = defaultConfig({ hostname: SANDBOX_HOST, dataDir: directory });
  config.http.listen.port = ports.api;
  // Several sandboxes may run on one machine.
  config.metrics.listen = null;
  // Its names lead to no world outside.
  config.doctor.everyMs = 0;
  // Port 25 may be in use.
  config.inbound.listen = { address: "127.0.0.1", port: 0 };
  config.submission.listen = [{ address: "127.0.0.1", port: ports.submission }];
  config.dns.servers = [dnsServer];
  config.email.retryScheduleMs = RETRY_MS;
  config.email.allowPrivateRanges = ["127.0.0.0/8"];
  config.workspaces.defaultPlan = "scale";
  config.rateLimits = NO_RATE_LIMITS;
  config.webhooks.allowHttp = true;
  config.webhooks.allowPrivateRanges = ["127.0.0.0/8", "::1/128"];
  // Developers' disks are often full; the sandbox stops only when nothing can be written.
  config.disk.minFreeBytes = 0;
  config.disk.minFreeInodesPercent = 0;
  config.dashboard.from = `pombo@${SANDBOX_DOMAIN}`;
  config.log.addresses = "full";
  return config;
}

/** The `[sms]` settings for the sandbox's SMSC: one route for all, and one for each number that would disturb the others. */
export function buildSmsConfig(
  smsc: { port: number; password: string },
  prefixes: string[] = DEFAULT_SMS_PREFIXES,
): Partial<Config["sms"]> {
  const { lifetimeMs, receiptGraceMs, lostResponseWaitMs } = SANDBOX_TIMES;
  const apart = MAGIC_NUMBERS.filter(({ isApart }) => isApart);
  const examples = prefixes.map((prefix) => new NumberingPlan([prefix]).example);
  return {
    prefixes,
    otpLifetimeMs: lifetimeMs,
    transactionalLifetimeMs: lifetimeMs,
    bulkLifetimeMs: lifetimeMs,
    receiptGraceMs,
    lostResponseWaitMs,
    routes: [
      route(MAIN_ACCOUNT, [], smsc),
      ...apart.map((each) => {
        const numbers = examples.map((example) => buildNumber(each, example).slice(1));
        return route(toAccount(each), numbers, smsc);
      }),
    ],
  };
}

/** The accounts of those routes; phones reply over the first. */
export function smscAccounts(): [string, ...string[]] {
  return [MAIN_ACCOUNT, ...MAGIC_NUMBERS.filter(({ isApart }) => isApart).map(toAccount)];
}

function toAccount({ ending }: MagicNumber): string {
  return `${MAIN_ACCOUNT}-${ending}`;
}

function route(
  name: string,
  prefixes: string[],
  { port, password }: { port: number; password: string },
): Config["sms"]["routes"][number] {
  const link = { name, host: "127.0.0.1", port, tls: "none", tlsName: null, caFile: null } as const;
  const account = { systemId: name, password, passwordFile: null, systemType: "", bind: "transceiver" } as const;
  const { responseTimeoutMs } = SANDBOX_TIMES;
  const pace = { window: WINDOW, rate: SEGMENTS_A_SECOND, responseTimeoutMs };
  return { ...defaultSmsRoute(name), prefixes, links: [{ ...link, ...account, ...pace }] };
}
