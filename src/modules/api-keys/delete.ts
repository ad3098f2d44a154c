import type { Commit } from "../../platform/db/group-commit.ts";
import { AppError } from "../../platform/errors.ts";
import type { KeyStore } from "./store.ts";

/**
 * Deletes a key: from its commit on it is not valid. False: there is no such key in the workspace. Throws
 * LAST_KEY for the last one that is for the whole workspace, without which nobody could make another.
 */
export async function deleteKey(
  key: { workspaceId: number; uid: string },
  deps: { keys: KeyStore; commit: Commit },
): Promise<boolean> {
  return deps.commit(() => {
    const row = deps.keys.byUid(key.workspaceId, key.uid);
    if (row === undefined) return false;
    if (row.domainId === null && deps.keys.countUnrestrictedOf(key.workspaceId) === 1) throw lastKey();
    deps.keys.delete(row);
    return true;
  });
}

function lastKey(): AppError {
  return new AppError("LAST_KEY", "This is the workspace's last key that is not restricted to a domain", {
    hint: "First create another key with POST /api/v1/auth/keys, then delete this one with it.",
  });
}
