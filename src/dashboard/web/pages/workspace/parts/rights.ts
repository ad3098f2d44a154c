// What the person may do in the workspace, so that no button leads to a 403; the server decides.

import { workspace } from "../../../kit.ts";

const ROLES = {
  content: ["owner", "admin", "member"],
  send: ["owner", "admin", "member"],
  manage: ["owner", "admin", "operator"],
  people: ["owner", "admin", "operator"],
  own: ["owner", "operator"],
};

/** Somebody who is here without being a member is an operator. */
function findRole(): string {
  return workspace.value?.role ?? "operator";
}

export function may(right: keyof typeof ROLES): boolean {
  return ROLES[right].includes(findRole());
}
