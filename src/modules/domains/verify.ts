// Checks of domains, requested or in the background: the records are looked up anew, and one closure writes what was
// found, the domain's new status and the time of its next check. Only one check of a domain runs at a time, so that an
// answer of yesterday's zone never overtakes today's.

import type { Context } from "../../platform/context.ts";
import type { Resolver } from "../../protocols/dns/client.ts";
import type { RecordEvent } from "../events/record.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import type { Log } from "../../platform/log.ts";
import { checkDomain, type DomainCheck } from "./check.ts";
import type { Keychain } from "./signing-keys.ts";
import { type DomainRecords, buildRecords } from "./records.ts";
import type { Dns } from "./schema.ts";
import { dnsAfterCheck, inList, parseDns } from "./serialize.ts";
import { type Change, givenUpAt, stateAfterCheck, nextCheckAt } from "./status.ts";
import type { DomainRow, DomainStore } from "./store.ts";

export interface VerifyDeps extends Pick<Context, "commit" | "clock" | "random" | "log"> {
  domains: DomainStore;
  keychain: Keychain;
  resolver: { readonly serverCount: number; fresh(preferredServer: number): Resolver };
  /** Our own name, which must resolve before DNS is believed that a key is gone. */
  hostname: string;
  settings: { bounceHost: string; dmarcRua: string | null };
  record: RecordEvent;
}

export interface Verification {
  domain: DomainRow;
  /** The records with what was seen of each. */
  dns: typeof Dns.static;
  /** Its records are right, but another workspace holds the name: the first to verify wins. */
  isTaken: boolean;
}

/** All checks of domains; a domain that was deleted meanwhile gives null. */
export interface Verifier {
  /** For somebody who asks: looks up what DNS holds from now on. */
  verify(domainId: number): Promise<Verification | null>;
  /** For the watch: nothing while a check of this domain runs, and nothing is written once `isOver`. */
  verifyUnasked(domainId: number, isOver: () => boolean): Promise<Verification | null>;
  /** Domains of which a check runs. */
  busy(): number[];
  /** The database is about to be closed: nothing is written any more. */
  close(): void;
}

interface Asking {
  isAskedFor: boolean;
  isOver: () => boolean;
}

export function createVerifier(deps: VerifyDeps): Verifier {
  const running = new Map<number, Promise<Verification | null>>();
  const following = new Map<number, Promise<Verification | null>>();

  const begin = (id: number, asking: Asking) => {
    const check = verifyDomain(id, asking, deps).finally(() => running.delete(id));
    running.set(id, check);
    return check;
  };
  let isClosed = false;
  const asked: Asking = { isAskedFor: true, isOver: () => isClosed };

  return {
    verify(id) {
      const known = following.get(id);
      if (known !== undefined) return known;
      const current = running.get(id);
      if (current === undefined) return begin(id, asked);
      // The running check may have looked before the record was there. All requests meanwhile share the next one.
      const next = current
        .catch(() => null)
        .then(() => {
          following.delete(id);
          return begin(id, asked);
        });
      following.set(id, next);
      return next;
    },
    verifyUnasked: (id, isOver) =>
      running.has(id) || following.has(id) ? Promise.resolve(null) : begin(id, { isAskedFor: false, isOver }),
    busy: () => [...running.keys(), ...following.keys()],
    close: () => void (isClosed = true),
  };
}

async function verifyDomain(id: number, asking: Asking, deps: VerifyDeps): Promise<Verification | null> {
  const domain = deps.domains.byId(id);
  if (domain === undefined) return null;
  const records = buildRecords(domain, deps.domains.listKeys(id), deps.settings);
  const seen = await checkDomain({ domain: domain.name, records, resolver: deps.resolver.fresh(0) });
  const check = seen.rsa === "no" ? await confirmMissing(domain, records, { seen, deps }) : seen;
  if (asking.isOver()) return null;
  const recorded = await deps.commit(() => record(id, check, asking, deps));
  deps.keychain.forget(id);
  if (recorded === null) return null;
  const { change, ...verification } = recorded;
  if (change !== null) logChange(change, verification, deps.log);
  return verification;
}

/**
 * A missing key costs its owner the sending, and a resolver that denies everything would report it for all domains.
 * Where it would change a domain's status it counts only if DNS finds our own name and, with two servers configured, if
 * both agree. Otherwise nothing is known.
 */
async function confirmMissing(
  domain: DomainRow,
  records: DomainRecords,
  { seen, deps }: { seen: DomainCheck; deps: VerifyDeps },
): Promise<DomainCheck> {
  const { resolver, hostname, clock } = deps;
  const { change } = stateAfterCheck(domain, { rsa: "no", isTakenElsewhere: false }, clock.now());
  if (change === null) return seen;
  const [rsa, ed25519] = seen.dkim;
  const unknown = (hint: string): DomainCheck => ({
    ...seen,
    rsa: "unknown",
    dkim: [{ ...rsa, status: "unknown", hint }, ed25519],
  });
  const own = await Promise.all([resolver.fresh(0).a(hostname), resolver.fresh(0).aaaa(hostname)]);
  if (!own.some(({ kind }) => kind === "found"))
    return unknown("DNS denies this record, but the operator's own name too, so nothing changes.");
  if (resolver.serverCount === 1) return seen;
  const other = await checkDomain({ domain: domain.name, records, resolver: resolver.fresh(1) });
  return other.rsa === "no" ? seen : unknown("DNS servers do not agree on this record, so nothing changes.");
}

function record(
  id: number,
  check: DomainCheck,
  { isAskedFor }: Asking,
  deps: VerifyDeps,
): (Verification & { change: Change | null }) | null {
  const { domains, clock, random } = deps;
  const domain = domains.byId(id);
  if (domain === undefined) return null;
  const now = clock.now();
  const isTakenElsewhere = domains.isTakenElsewhere(domain);
  const { life, change } = stateAfterCheck(domain, { rsa: check.rsa, isTakenElsewhere }, now);
  const { checkedAt, nextCheckAt: plannedAt } = domain;
  const dns = dnsAfterCheck(check);
  const before = parseDns(domains.findLastCheck(id));
  const updated = domains.update(id, {
    status: life.status,
    verifiedAt: life.verifiedAt,
    warningAt: life.warningAt,
    checkedAt: now,
    nextCheckAt: nextCheckAt(life, {
      now,
      isUnknown: check.rsa === "unknown",
      wasUnknown: before !== null && before.dkim[0]?.status === undefined,
      isAskedFor,
      lastDelayMs: checkedAt === null || plannedAt === null ? null : plannedAt - checkedAt,
      chance: random.unit(),
    }),
    lastCheck: JSON.stringify(dns),
    ...(check.ed25519 === "unknown" ? {} : { signsEd25519: check.ed25519 === "yes" }),
    ...(check.bounce === "unknown" ? {} : { hasReturnPath: check.bounce === "yes" }),
  });
  if (change !== null) {
    const { workspaceId, uid } = updated;
    deps.record({ workspaceId, type: `domain.${change}`, resource: uid, at: now, data: () => inList(updated) });
  }
  return { domain: updated, dns, isTaken: check.rsa === "yes" && isTakenElsewhere, change };
}

/** Once a change, after its commit. */
function logChange(change: Change, { domain, dns }: Verification, log: Log): void {
  const [rsa] = dns.dkim;
  const fault = rsa === undefined || change === "verified" ? null : `${rsa.name}: ${rsa.status ?? "unknown"}`;
  const endsAt = givenUpAt(domain);
  log.event(`domain.${change}`, {
    id: domain.uid,
    domain: domain.name,
    ...(fault === null ? {} : { reason: fault }),
    ...(endsAt === null ? {} : { until: toIsoTime(endsAt) }),
  });
}
