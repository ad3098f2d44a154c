// Sending domains: registered over the API, checked in the background, suspended by the operator.

import type { AnyElysia } from "elysia";
import type { Config } from "../../config/config.ts";
import type { Component, Context } from "../../platform/context.ts";
import type { CreateDeps } from "./create.ts";
import { type OperatorDomainDeps, operatorDomainRoutes, operatorRecordRoutes } from "./operator-routes.ts";
import { DomainRecheck } from "./recheck.ts";
import { type DomainDeps, domainRoutes } from "./routes.ts";
import { createVerifier, type VerifyDeps } from "./verify.ts";

type DomainStores = Pick<DomainDeps & OperatorDomainDeps, "domains" | "keys" | "workspaces">;

interface DomainModuleDeps
  extends
    Pick<CreateDeps, "keyring" | "findPlan" | "makeKeys" | "recordAudit">,
    Pick<VerifyDeps, "keychain" | "resolver" | "record">,
    Pick<DomainDeps, "pages" | "deleted">,
    Pick<OperatorDomainDeps, "lifted"> {}

export interface Domains extends Required<Omit<Component, "issues">> {
  routes(): AnyElysia;
  operatorRoutes(): AnyElysia[];
  /** Resolves when no check in the background is under way. */
  idle(): Promise<void>;
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
  return {
    routes: () => domainRoutes({ ...deps, verifier }),
    operatorRoutes: () => [operatorDomainRoutes({ ...deps, verifier }), operatorRecordRoutes({ ...deps, verifier })],
    start: () => recheck.start(),
    async drain() {
      recheck.stop();
      return 0;
    },
    /** Nothing is written any more. */
    stop() {
      recheck.stop();
      verifier.close();
    },
    idle: () => recheck.idle(),
  };
}
