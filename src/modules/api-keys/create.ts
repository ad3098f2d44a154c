import type { Clock } from "../../platform/clock.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import { newId } from "../../platform/uuid.ts";
import type { Random } from "../../platform/random.ts";
import { createKey } from "./key.ts";
import type { CreatedKey } from "./schema.ts";
import type { KeyStore } from "./store.ts";

export interface KeyRequest {
  workspaceId: number;
  name: string;
  /** The domain it is restricted to, or null for the whole workspace. */
  domain: { id: number; uid: string } | null;
}

/** Makes a key, inside the caller's transaction; the answer holds the key itself, which is not kept. */
export function insertKey(
  request: KeyRequest,
  deps: { keys: KeyStore; clock: Clock; random: Random },
): typeof CreatedKey.static {
  const now = deps.clock.now();
  const { key, ...stored } = createKey(deps.random);
  const { workspaceId, name, domain } = request;
  const uid = newId(now, deps.random);
  deps.keys.insert({ uid, workspaceId, domainId: domain?.id ?? null, name, ...stored, createdAt: now });
  return { id: uid, name, domainId: domain?.uid ?? null, createdAt: toIsoTime(now), lastUsedAt: null, key };
}
