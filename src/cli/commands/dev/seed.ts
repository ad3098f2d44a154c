// Creates the workspace, domain, sender ids and credits of a new sandbox over its own API.

import { hashKey, type NewKey } from "../../../modules/api-keys/key.ts";
import { openKeyStore, type KeyStore } from "../../../modules/api-keys/store.ts";
import { systemClock } from "../../../platform/clock.ts";
import { systemRandom } from "../../../platform/random.ts";
import { newId } from "../../../platform/uuid.ts";
import type { App } from "../../../server/app.ts";
import { SANDBOX_DOMAIN } from "../../../sandbox/dns/zone.ts";
import { SANDBOX_SENDERS } from "./config.ts";

/** Saved in the data directory for the next run. */
export interface SandboxKeys {
  operatorKey: string;
  apiKey: string;
  workspaceId: string;
}

const WORKSPACE_NAME = "Sandbox";
const SANDBOX_CREDITS = 1_000_000;

/** `own`: the workspace's key from now on; the one that the API made for it goes. */
export async function seed(
  { url, db }: Pick<App, "url" | "db">,
  operatorKey: string,
  own: NewKey,
): Promise<SandboxKeys> {
  const workspace = await post<{ workspaceId: string; apiKey: { key: string } }>(
    `${url}/api/v1/workspaces`,
    operatorKey,
    {
      name: WORKSPACE_NAME,
      plan: "scale",
    },
  );
  const apiKey = own.key;
  replaceKey(openKeyStore(db), workspace.apiKey.key, own);
  const domain = await post<{ id: string }>(`${url}/api/v1/domains`, apiKey, { domain: SANDBOX_DOMAIN });
  const checked = await post<{ verifiedAt: string | null }>(
    `${url}/api/v1/domains/${domain.id}/verification-checks`,
    apiKey,
    null,
  );
  const base = `${url}/api/v1/operator/workspaces/${workspace.workspaceId}`;
  const { name, number } = SANDBOX_SENDERS;
  for (const sender of [name, number]) await post(`${base}/sender-ids`, operatorKey, { name: sender });
  await post(`${base}/credits`, operatorKey, { amount: SANDBOX_CREDITS, note: "Sandbox" });
  if (checked.verifiedAt === null) throw new Error("the sandbox's own domain could not be verified");
  return { operatorKey, apiKey, workspaceId: workspace.workspaceId };
}

function replaceKey(keys: KeyStore, made: string, { hash, prefix }: NewKey): void {
  const old = keys.byHash(hashKey(made));
  if (old === undefined) throw new Error("the sandbox's workspace has no key");
  const createdAt = systemClock.now();
  const { workspaceId, domainId } = old;
  keys.insert({
    uid: newId(createdAt, systemRandom),
    workspaceId,
    domainId,
    name: WORKSPACE_NAME,
    prefix,
    hash,
    createdAt,
  });
  keys.delete({ id: old.id, hash: hashKey(made), workspaceId });
}

async function post<T>(url: string, key: string, body: object | null): Promise<T> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "x-api-key": key, ...(body === null ? {} : { "content-type": "application/json" }) },
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as { data: T };
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${JSON.stringify(answer)}`);
  return answer.data;
}
