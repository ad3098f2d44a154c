import type { Clock } from "../clock.ts";
import type { Commit } from "../db/commit.ts";
import type { Resolver } from "../dns/client.ts";
import { checkDomain, type DomainCheck } from "./check.ts";
import { recordsOf } from "./records.ts";
import type { Keychain } from "./keychain.ts";
import { statusAfterCheck } from "./status.ts";
import type { DomainRow, DomainStore } from "./store.ts";

export interface VerifyParts {
  domains: DomainStore;
  keychain: Keychain;
  commit: Commit;
  clock: Clock;
  resolver: { fresh(preferredServer: number): Resolver };
  settings: { bounceHost: string; dmarcRua: string | null };
}

export interface Verification {
  domain: DomainRow;
  check: DomainCheck;
  /** Its records are right, but another workspace sends from it: the first to verify wins. */
  isTaken: boolean;
}

/** Looks the domain's records up anew and writes what follows. Null: it was deleted meanwhile. */
export async function verifyDomain(domain: DomainRow, parts: VerifyParts): Promise<Verification | null> {
  const records = recordsOf(domain, parts.domains.keysOf(domain.id), parts.settings);
  const check = await checkDomain({ domain: domain.name, records, resolver: parts.resolver.fresh(0) });
  const verification = await parts.commit(() => record(domain.id, check, parts));
  parts.keychain.forget(domain.id);
  return verification;
}

function record(id: number, check: DomainCheck, parts: VerifyParts): Verification | null {
  const domain = parts.domains.byId(id);
  if (domain === undefined) return null;
  const status = statusAfterCheck(domain.status, check.rsa);
  const isTaken = status === "verified" && parts.domains.isSentByAnother(domain);
  const now = parts.clock.now();
  const isVerified = status === "verified" && !isTaken;
  const updated = parts.domains.update(id, {
    status: isTaken ? domain.status : status,
    checkedAt: now,
    ...(isVerified && domain.verifiedAt === null ? { verifiedAt: now } : {}),
    ...(check.ed25519 === "unknown" ? {} : { signsEd25519: check.ed25519 === "yes" }),
    ...(check.bounce === "unknown" ? {} : { hasReturnPath: check.bounce === "yes" }),
  });
  return { domain: updated, check, isTaken };
}
