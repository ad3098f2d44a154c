import type { Clock } from "../../platform/clock.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import { newId } from "../../platform/uuid.ts";
import type { Random } from "../../platform/random.ts";
import type { RecordAudit } from "../audit/record.ts";
import { createKey, formatKeyName } from "./key.ts";
import type { CreatedKey } from "./schema.ts";
import type { KeyStore } from "./store.ts";

export interface KeyRequest {
  workspaceId: number;
  name: string;
  /** The domain it is restricted to, or null for the whole workspace. */
  domain: { id: number; uid: string } | null;
  /** Its caller makes the key. */
  request: Request;
}

/** Makes a key, inside the caller's transaction; the answer holds the key itself, which is not kept. */
export function insertKey(
  { workspaceId, name, domain, request }: KeyRequest,
  deps: { keys: KeyStore; clock: Clock; random: Random; recordAudit: RecordAudit },
): typeof CreatedKey.static {
  const now = deps.clock.now();
  const { key, ...stored } = createKey(deps.random);
  const uid = newId(now, deps.random);
  deps.keys.insert({ uid, workspaceId, domainId: domain?.id ?? null, name, ...stored, createdAt: now });
  const [target, detail] = [formatKeyName(name, stored.prefix), { id: uid, domainId: domain?.uid ?? null }];
  deps.recordAudit({ workspaceId, request, action: "api_key.created", target, detail });
  return { id: uid, name, domainId: domain?.uid ?? null, createdAt: toIsoTime(now), lastUsedAt: null, key };
}
