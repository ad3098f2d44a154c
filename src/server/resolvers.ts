// The DNS clients of the composition root: each kind of work has a client of its own, so that names nobody
// answers for take no places from other work.

import type { Environment } from "../platform/context.ts";
import type { Config } from "../config/config.ts";
import { createResolver, type DnsClient } from "../protocols/dns/client.ts";
import { createWatchedResolver } from "../protocols/dns/resolver-health.ts";
import { parseServer } from "../protocols/dns/servers.ts";
import { openSystemServers, type SystemServersOptions } from "../protocols/dns/system-servers.ts";
import { limitLookups } from "../protocols/smtp/mx-lookup.ts";
import { DOCTOR_DNS, type DoctorDeps } from "../modules/doctor/index.ts";
import { CALL_DNS } from "../modules/webhooks/delivery/concurrency-limiter.ts";

export interface Resolvers {
  /** For mail. */
  resolver: ReturnType<typeof createWatchedResolver>["resolver"];
  watch: ReturnType<typeof createWatchedResolver>["watch"];
  /** For checks of domains. */
  checkResolver: DnsClient;
  /** For receivers of webhooks, which share it with the SMSCs. */
  callResolver: DnsClient;
  /** For the doctor, with the servers as they are now. Its own: no look-up of mail waits for it. */
  doctor: Pick<DoctorDeps, "fresh" | "servers">;
  /** Ends what is being looked up. */
  close(): void;
}

/** `system`: where the system's servers stand, used if the configuration names none. */
export function openResolvers(
  config: Config,
  environment: Environment,
  system: Pick<SystemServersOptions, "file" | "port"> = {},
): Resolvers {
  const { clock, random, log, steady = clock } = environment;
  const servers =
    config.dns.servers.length > 0 ? config.dns.servers : openSystemServers({ clock: steady, log, ...system });
  const { resolver, watch } = createWatchedResolver({
    servers,
    witness: config.hostname,
    lookupsAtOnce: limitLookups(config.email.maxSessions),
    ...environment,
  });
  const checkResolver = createResolver({ servers, clock, random });
  const callResolver = createResolver({ servers, clock, random, ...CALL_DNS });
  const doctorResolver = createResolver({ servers, clock: steady, random, ...DOCTOR_DNS });
  const parsed = typeof servers === "function" ? servers : servers.map(parseServer);
  const doctor: Resolvers["doctor"] = {
    fresh: (preferred) => doctorResolver.fresh(preferred),
    servers: () => (typeof parsed === "function" ? parsed() : parsed),
  };
  const close = () => {
    for (const each of [resolver, checkResolver, callResolver, doctorResolver]) each.close();
  };
  return { resolver, watch, checkResolver, callResolver, doctor, close };
}
