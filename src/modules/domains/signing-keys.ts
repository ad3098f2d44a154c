import type { PlainKey } from "../../protocols/dkim/keys.ts";
import type { Keyring } from "../../platform/keyring/keyring.ts";
import type { DomainRow, DomainStore } from "./store.ts";

/** Domains whose unsealed keys are kept in memory. */
const MAX_KEPT = 1_000;

export interface Keychain {
  /** The keys that sign for the domain: RSA, and Ed25519 once its record resolves. Throws when they cannot be unsealed. */
  keysFor(domain: DomainRow): PlainKey[];
  /** The domain changed or is gone. */
  forget(domainId: number): void;
}

/** Binds a sealed signing key to its domain and selector, so that it cannot be moved to others. */
export function sealContext(domainUid: string, selector: string): string {
  return `dkim ${domainUid} ${selector}`;
}

export function openKeychain(domains: DomainStore, keyring: Keyring): Keychain {
  const kept = new Map<string, PlainKey[]>();
  // With the flag that decides which keys sign: a row read before a change must not be remembered for after it.
  const toCacheKey = (domain: DomainRow) => `${domain.id} ${domain.signsEd25519}`;
  return {
    keysFor(domain) {
      const known = kept.get(toCacheKey(domain));
      if (known !== undefined) return known;
      const keys = unseal(domain, domains, keyring);
      if (kept.size >= MAX_KEPT) kept.clear();
      kept.set(toCacheKey(domain), keys);
      return keys;
    },
    forget: (domainId) => {
      kept.delete(`${domainId} true`);
      kept.delete(`${domainId} false`);
    },
  };
}

function unseal(domain: DomainRow, domains: DomainStore, keyring: Keyring): PlainKey[] {
  return domains
    .listKeys(domain.id)
    .filter((row) => row.algorithm === "rsa-sha256" || domain.signsEd25519)
    .map((row) => {
      const pem = Buffer.from(keyring.unseal(row.privateKey, sealContext(domain.uid, row.selector))).toString();
      return { domain: domain.name, selector: row.selector, algorithm: row.algorithm, pem };
    });
}
