import { timingSafeEqual } from "node:crypto";
import type { Context } from "../../platform/context.ts";
import { isStorageError } from "../../platform/db/storage-error.ts";
import type { VerifyKey } from "../../platform/http/auth.ts";
import { hashKey } from "./key.ts";
import type { KeyStore } from "./store.ts";

/** A key's lastUsedAt is written at most this often. */
const TOUCH_EVERY_MS = 60_000;
/** Keys whose last write is remembered. */
const MAX_REMEMBERED = 10_000;

export interface KeyVerifierDeps extends Pick<Context, "commit" | "clock" | "log"> {
  keys: KeyStore;
  /** SHA-256 of the operator key, hex, or null while there is none. */
  getOperatorKeyHash: () => string | null;
}

/** Finds the owner of a key, and notes that it was used. */
export function createKeyVerifier(deps: KeyVerifierDeps): VerifyKey {
  const touched = new Map<number, number>();
  return (key) => {
    const hash = hashKey(key);
    const row = deps.keys.byHash(hash);
    if (row === undefined) return isSame(hash, deps.getOperatorKeyHash()) ? { kind: "operator" } : null;
    const now = deps.clock.now();
    if (now - Math.max(row.lastUsedAt ?? 0, touched.get(row.id) ?? 0) >= TOUCH_EVERY_MS) {
      if (touched.size >= MAX_REMEMBERED) touched.clear();
      touched.set(row.id, now);
      deps
        .commit(() => deps.keys.touch(row.id, now))
        .catch((error: unknown) => {
          // Not worth failing a request for; the next use tries again.
          touched.delete(row.id);
          if (!isStorageError(error)) deps.log.error("keys", error);
        });
    }
    return { kind: "key", keyId: row.id, workspaceId: row.workspaceId, domainId: row.domainId };
  };
}

/** Two digests in hex, in a time that says nothing of where they differ. */
function isSame(hash: string, known: string | null): boolean {
  return known?.length === hash.length && timingSafeEqual(Buffer.from(hash), Buffer.from(known));
}
