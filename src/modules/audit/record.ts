// Records who changed what, in the transaction of the change.

import type { Context } from "../../platform/context.ts";
import { getCaller } from "../../platform/http/auth.ts";
import { newId } from "../../platform/uuid.ts";
import { formatKeyName } from "../api-keys/key.ts";
import type { AuditStore } from "./store.ts";

export interface AuditEntry {
  /** Null: it is about the whole instance. */
  workspaceId: number | null;
  /** The request that changed it: its caller is the actor. */
  request: Request;
  /** Who did it, where the request's caller is not known yet: somebody who just signed in. */
  userId?: number;
  /** As `member.role_changed`. */
  action: string;
  /** What it was done to, in words; null: the workspace or instance itself. */
  target: string | null;
  /** Before and after, without secrets. */
  detail?: Record<string, unknown>;
}

/** Inside the closure given to commit(). */
export type RecordAudit = (entry: AuditEntry) => void;

export interface AuditDeps extends Pick<Context, "clock" | "random"> {
  audit: AuditStore;
  /** One word for the client's address; null: it came over the socket or from a command. */
  findNetwork: (request: Request) => string | null;
}

export function createRecorder({ audit, clock, random, findNetwork }: AuditDeps): RecordAudit {
  return ({ workspaceId, request, action, target, detail, userId }) => {
    const now = clock.now();
    audit.insert({
      uid: newId(now, random),
      workspaceId,
      ...findActor(request, userId, audit),
      action,
      target,
      detail: detail === undefined ? null : JSON.stringify(detail),
      network: findNetwork(request),
      createdAt: now,
    });
  };
}

function findActor(request: Request, userId: number | undefined, audit: AuditStore) {
  if (userId !== undefined) return { userId, actor: audit.findEmail(userId) ?? `user ${userId}` };
  const caller = getCaller(request);
  if (caller.kind === "member" || caller.kind === "person")
    return { userId: caller.userId, actor: audit.findEmail(caller.userId) ?? `user ${caller.userId}` };
  if (caller.kind !== "key") return { userId: null, actor: caller.kind };
  const key = audit.findKey(caller.keyId);
  return { userId: null, actor: formatKeyName(key?.name ?? "API key", key?.prefix ?? "") };
}
