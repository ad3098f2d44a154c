// A person leaves this server, or begins anew after losing everything that proves who they are.

import type { AccountDeps } from "./deps.ts";
import { type CreatedLink, insertLink } from "./links.ts";
import type { UserRow } from "./store.ts";

/** Inside a transaction: removes all that proves who the person is and ends all sessions. The link by which they begin anew. */
export function resetUser({ id }: UserRow, deps: AccountDeps): CreatedLink {
  const { users, sessions, links } = deps;
  sessions.endOfUser(id);
  links.deleteOfUser(id);
  users.deleteFactors(id);
  return insertLink({ kind: "reset", userId: id }, deps);
}

/** Inside a transaction. The workspaces that have no owner any more. */
export function removeUser({ id }: UserRow, { users, sessions, links, members }: AccountDeps) {
  sessions.endOfUser(id);
  links.deleteOfUser(id);
  const ownerless = members.removeOfUser(id);
  users.delete(id);
  return ownerless;
}
