// Sending domains: registered over the API, checked in the background, suspended by the operator.

import type { AnyElysia } from "elysia";
import type { Config } from "../../config/config.ts";
import type { Component, Context } from "../../platform/context.ts";
import type { DnsClient } from "../../protocols/dns/client.ts";
import type { CreateDeps } from "./create.ts";
import { type OperatorDomainDeps, operatorDomainRoutes, operatorRecordRoutes } from "./operator-routes.ts";
import { HostViews } from "./dns-host/host-views.ts";
import { DomainWatch } from "./dns-host/watch.ts";
import { type DnsDeps, domainDnsRoutes, domainShareRoutes, sharedDnsRoutes } from "./dns-routes.ts";
import { DomainRecheck } from "./recheck.ts";
import { type DomainDeps, domainRoutes, ownDomain } from "./routes.ts";
import { createShares, type OpenShare, type ShareDeps } from "./share.ts";
import { createVerifier, type VerifyDeps } from "./verify.ts";

type DomainStores = Pick<
  DomainDeps & OperatorDomainDeps & ShareDeps,
  "domains" | "keys" | "workspaces" | "domainShares"
>;

interface DomainModuleDeps
  extends
    Pick<CreateDeps, "keyring" | "findPlan" | "makeKeys" | "recordAudit">,
    Pick<VerifyDeps, "keychain" | "record">,
    Pick<ShareDeps, "dashboard">,
    Pick<DomainDeps, "pages" | "deleted">,
    Pick<OperatorDomainDeps, "lifted"> {
  resolver: DnsClient;
}

export interface Domains extends Required<Omit<Component, "issues">> {
  routes(): AnyElysia[];
  operatorRoutes(): AnyElysia[];
  /** Resolves when no check in the background is under way. */
  idle(): Promise<void>;
  /** Looks after a domain's records while somebody looks at them, until the returned function is called. */
  watch(domainId: number): () => void;
  /** What the link in a request opens. Throws LINK_USED and RATE_LIMITED. */
  openShare(request: Request): OpenShare;
}

/** Nothing begins to act before start(). */
export function createDomains(
  context: Context,
  stores: DomainStores,
  config: Config,
  module: DomainModuleDeps,
): Domains {
  const { bounceHost, dmarcRua } = config.email;
  const deps = { ...context, ...stores, ...module, hostname: config.hostname, settings: { bounceHost, dmarcRua } };
  const verifier = createVerifier(deps);
  const recheck = new DomainRecheck({ ...deps, verifier });
  const hosts = new HostViews({ ...deps, ownServers: config.dns.servers });
  const watch = new DomainWatch({ ...deps, hosts, verifier });
  const shares = createShares(deps);
  const dns: DnsDeps = { ...deps, hosts, shares, findOwn: (request, uid) => ownDomain(request, uid, deps) };
  return {
    routes: () => [
      domainRoutes({ ...deps, verifier, shares }),
      domainDnsRoutes(dns),
      domainShareRoutes(dns),
      sharedDnsRoutes(dns),
    ],
    watch: (domainId) => watch.watch(domainId),
    openShare: (request) => shares.open(request),
    operatorRoutes: () => [operatorDomainRoutes({ ...deps, verifier }), operatorRecordRoutes({ ...deps, verifier })],
    start: () => recheck.start(),
    async drain() {
      recheck.stop();
      watch.close();
      hosts.close();
      return 0;
    },
    /** Nothing is written any more. */
    stop() {
      recheck.stop();
      watch.close();
      hosts.close();
      verifier.close();
    },
    idle: () => recheck.idle(),
  };
}
