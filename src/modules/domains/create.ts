import type { Plan } from "../../config/config.ts";
import type { Context } from "../../platform/context.ts";
import type { KeyPair, KeyPairs } from "../../protocols/dkim/keys.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/uuid.ts";
import type { Keyring } from "../../platform/keyring/keyring.ts";
import type { RecordAudit } from "../audit/record.ts";
import { requireBelowLimit } from "../plans/limit.ts";
import { sealContext } from "./signing-keys.ts";
import { ED25519_SELECTOR, RSA_SELECTOR } from "./records.ts";
import { firstCheckAt } from "./status.ts";
import type { DkimKeyRow, DomainRow, DomainStore } from "./store.ts";

export interface CreateDeps extends Pick<Context, "commit" | "clock" | "random"> {
  domains: DomainStore;
  keyring: Keyring;
  findPlan: (workspaceId: number) => Plan;
  makeKeys: () => Promise<KeyPairs>;
  recordAudit: RecordAudit;
}

export interface Created {
  domain: DomainRow;
  /** As written: the domain may be gone when the answer is built. */
  keys: DkimKeyRow[];
}

interface WantedDomain {
  workspaceId: number;
  name: string;
  /** Its caller registers it. */
  request: Request;
}

/** Inside the transaction that changes a domain. */
export function auditDomain(
  { uid, workspaceId, name }: DomainRow,
  what: { request: Request; action: string },
  { recordAudit }: Pick<CreateDeps, "recordAudit">,
): void {
  recordAudit({ workspaceId, ...what, target: name, detail: { id: uid } });
}

/** Registers a domain with fresh signing keys. Throws 409 for one the workspace has, 402 at the plan's limit. */
export async function createDomain(wanted: WantedDomain, deps: CreateDeps): Promise<Created> {
  refuseDomain(wanted, deps);
  // Making an RSA key takes about a tenth of a second, off the main thread: not inside a transaction.
  const pairs = await deps.makeKeys();
  return deps.commit(() => {
    refuseDomain(wanted, deps);
    const now = deps.clock.now();
    const domain = deps.domains.insert({
      uid: newId(now, deps.random),
      workspaceId: wanted.workspaceId,
      name: wanted.name,
      status: "pending",
      createdAt: now,
      nextCheckAt: firstCheckAt(now),
    });
    insertKey(domain, RSA_SELECTOR, pairs.rsa, deps);
    insertKey(domain, ED25519_SELECTOR, pairs.ed25519, deps);
    auditDomain(domain, { request: wanted.request, action: "domain.created" }, deps);
    return { domain, keys: deps.domains.listKeys(domain.id) };
  });
}

function refuseDomain({ workspaceId, name }: WantedDomain, deps: CreateDeps): void {
  const own = deps.domains.byName(workspaceId, name);
  if (own !== undefined) {
    throw new AppError("DOMAIN_ALREADY_EXISTS", `${name} is already registered in this workspace`, {
      field: "domain",
      hint: `Its id is ${own.uid}; call its verification check, or delete it first.`,
    });
  }
  requireBelowLimit("domain", deps.findPlan(workspaceId).domains, () => deps.domains.countForWorkspace(workspaceId));
}

function insertKey(domain: DomainRow, selector: string, pair: KeyPair, deps: CreateDeps): void {
  const sealed = deps.keyring.seal(Buffer.from(pair.privateKeyPem), sealContext(domain.uid, selector));
  deps.domains.insertKey({
    domainId: domain.id,
    selector,
    algorithm: pair.algorithm,
    publicKey: pair.publicKey,
    privateKey: Buffer.from(sealed),
  });
}
