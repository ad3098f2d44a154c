import type { Environment } from "../platform/environment.ts";
import type { Config } from "../config/config.ts";
import type { Committer } from "../platform/db/group-commit.ts";
import type { DiskGuard } from "../platform/db/disk-guard.ts";
import type { DnsClient } from "../protocols/dns/client.ts";
import type { Keychain } from "../modules/domains/signing-keys.ts";
import { createVerifier } from "../modules/domains/verify.ts";
import { DomainRecheck } from "../modules/domains/recheck.ts";
import { createDeletedDomainSweep } from "../modules/emails/delivery/deleted-domain-sweep.ts";
import type { RecordEvent } from "../modules/events/record.ts";
import type { Stores } from "./stores.ts";
import { createWorkspacePurge } from "../modules/workspaces/purge.ts";

// The keeping part of the composition root: who checks domains again and again, and ends what is left of domains
// and workspaces that were deleted.

export interface MaintenanceDeps {
  config: Config;
  environment: Environment;
  stores: Stores;
  committer: Committer;
  guard: DiskGuard;
  keychain: Keychain;
  /** Of its own, see resolvers.ts. */
  resolver: DnsClient;
  record: RecordEvent;
  /** These lanes are gone. */
  forgetLanes: (laneIds: number[]) => void;
}

/** Builds them; nothing begins to act before `begin`, or before the routes ask for it. */
export function createMaintenance(deps: MaintenanceDeps) {
  const { config, environment, stores, committer, guard, keychain, resolver, record, forgetLanes } = deps;
  const { clock, random, log } = environment;
  const common = { commit: committer.commit, clock, random, log };
  const removal = createWorkspacePurge({
    ...stores,
    ...common,
    forgetLanes(workspaceId, laneIds) {
      stores.queue.forgetLanes(workspaceId);
      forgetLanes(laneIds);
    },
  });
  const settings = { bounceHost: config.email.bounceHost, dmarcRua: config.email.dmarcRua };
  const { hostname } = config;
  const verifier = createVerifier({ ...stores, ...common, keychain, record, resolver, hostname, settings });
  const domainWatch = new DomainRecheck({ ...stores, ...common, verifier, guard });
  const abandoner = createDeletedDomainSweep({ ...stores, ...common });
  return {
    removal,
    verifier,
    domainWatch,
    abandoner,
    begin() {
      removal.start();
      abandoner.begin();
      domainWatch.start();
    },
    /** Nothing new is begun for the domains. */
    settle() {
      domainWatch.stop();
      abandoner.stop();
    },
    close() {
      domainWatch.stop();
      abandoner.stop();
      verifier.close();
    },
  };
}
