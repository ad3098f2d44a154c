// The rules on owners: who may make them and change them, beyond the right of a route.

import { AppError } from "../../platform/errors.ts";
import { getCaller, requireFreshProof, type Role } from "../../platform/http/auth.ts";
import type { MemberRow } from "./store.ts";

/**
 * Throws 403 unless the caller may make, change or remove those who have this role. Only owners and operators may so
 * for owners; a key may not, since each admin can make one.
 */
export function requireAuthorityOver(request: Request, role: Role): void {
  if (role !== "owner") return;
  const caller = getCaller(request);
  if (caller.kind === "member" && (caller.role === "owner" || caller.role === "operator")) return;
  const who = caller.kind === "member" ? `yours is ${caller.role}` : "an API key has none";
  throw new AppError("ROLE_REQUIRED", `Only the role owner may make, change or remove owners; ${who}`, {
    hint: "Ask an owner of the workspace.",
  });
}

/** The same for somebody who is to get the role: of an owner with a fresh proof. */
export function requireMayGive(request: Request, role: Role): void {
  requireAuthorityOver(request, role);
  if (role === "owner") requireFreshProof(request);
}

/** Throws 409 when a workspace would be left without an owner. */
export function requireAnotherOwner({ role }: MemberRow, countOwners: () => number): void {
  if (role !== "owner" || countOwners() > 1) return;
  throw lastOwner();
}

export function lastOwner(): AppError {
  return new AppError("LAST_OWNER", "This is the workspace's last owner, and it needs one", {
    hint: "Make another member an owner first.",
  });
}
