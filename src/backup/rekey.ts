// Gives a database whose instance key is lost a new one. Everything that the old key had sealed is created anew: the
// signing keys, so that each domain's records must be published again, and the secrets of the webhooks. Authenticator apps are
// removed: people set them up anew.

import type { Clock } from "../platform/clock.ts";
import type { Db } from "../platform/db/open.ts";
import type { KeyPair, KeyPairs } from "../protocols/dkim/keys.ts";
import type { CertificateStore } from "../modules/certificates/store.ts";
import type { UserStore } from "../modules/accounts/store.ts";
import { sealContext as dkimContext } from "../modules/domains/signing-keys.ts";
import { ED25519_SELECTOR, RSA_SELECTOR } from "../modules/domains/records.ts";
import { firstCheckAt } from "../modules/domains/status.ts";
import type { DomainRow, DomainStore } from "../modules/domains/store.ts";
import type { Keyring } from "../platform/keyring/keyring.ts";
import type { Random } from "../platform/random.ts";
import { getSealContext as webhookContext } from "../modules/webhooks/secrets.ts";
import { createSecret } from "../modules/webhooks/sign.ts";
import type { WebhookStore } from "../modules/webhooks/store.ts";

export interface RekeyDeps {
  db: Pick<Db, "sqlite">;
  domains: DomainStore;
  webhooks: Pick<WebhookStore, "listAll" | "update">;
  /** Ordered anew, by a new account. */
  certificates: Pick<CertificateStore, "forgetAll">;
  users: Pick<UserStore, "removeAllTotp">;
  clock: Clock;
  random: Random;
  makeKeys: () => Promise<KeyPairs>;
}

export interface Rekeyed {
  /** Names of the domains whose records are to be published again. */
  domains: string[];
  /** Webhooks whose secret is unknown to their owners until it is rotated. */
  webhooks: number;
  /** People whose authenticator app does not count any more. */
  authenticators: number;
}

const PAGE = 500;
/** Created in parallel, on the threads of the runtime. */
const PARALLEL = 8;

export async function rekey(keyring: Keyring, deps: RekeyDeps): Promise<Rekeyed> {
  const all = listAllDomains(deps.domains);
  const pairs: KeyPairs[] = [];
  for (let from = 0; from < all.length; from += PARALLEL) {
    pairs.push(...(await Promise.all(all.slice(from, from + PARALLEL).map(() => deps.makeKeys()))));
  }
  let webhooks = 0;
  let authenticators = 0;
  deps.db.sqlite.transaction(() => {
    for (const [index, domain] of all.entries()) replaceDomainKeys(domain, pairs[index], keyring, deps);
    for (const webhook of deps.webhooks.listAll()) {
      const secret = Buffer.from(keyring.seal(createSecret(deps.random), webhookContext(webhook.uid)));
      deps.webhooks.update(webhook, { secret, oldSecrets: "[]" });
      webhooks += 1;
    }
    deps.certificates.forgetAll();
    authenticators = deps.users.removeAllTotp();
  })();
  return { domains: all.map(({ name }) => name).toSorted(), webhooks, authenticators };
}

function listAllDomains(domains: DomainStore): DomainRow[] {
  const all: DomainRow[] = [];
  for (let page: DomainRow[] = domains.listEverywhere(null, null, PAGE); ;) {
    const shown = page.slice(0, PAGE);
    all.push(...shown);
    const last = shown.at(-1);
    if (page.length <= PAGE || last === undefined) return all;
    page = domains.listEverywhere(null, { createdAt: last.createdAt, id: last.id }, PAGE);
  }
}

function replaceDomainKeys(domain: DomainRow, pairs: KeyPairs | undefined, keyring: Keyring, deps: RekeyDeps): void {
  if (pairs === undefined) throw new Error("a domain without new keys");
  const renew = (selector: string, { algorithm, publicKey, privateKeyPem }: KeyPair) => {
    const privateKey = Buffer.from(keyring.seal(Buffer.from(privateKeyPem), dkimContext(domain.uid, selector)));
    deps.domains.replaceKey({ domainId: domain.id, selector, algorithm, publicKey, privateKey });
  };
  renew(RSA_SELECTOR, pairs.rsa);
  renew(ED25519_SELECTOR, pairs.ed25519);
  deps.domains.update(domain.id, {
    // Not verified any more; a suspended domain stays suspended.
    ...(domain.status === "suspended" ? {} : { status: "pending" as const }),
    signsEd25519: false,
    warningAt: null,
    lastCheck: null,
    nextCheckAt: firstCheckAt(deps.clock.now()),
  });
}
