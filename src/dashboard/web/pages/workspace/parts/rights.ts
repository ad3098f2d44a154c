// What the person may do in the workspace, so that no button leads to a 403; the server decides.

import { useCall, workspace } from "../../../kit.ts";

const ROLES = {
  send: ["owner", "admin", "member"],
  manage: ["owner", "admin", "operator"],
  people: ["owner", "admin", "operator"],
  own: ["owner", "operator"],
  /** To let others see what messages say. */
  share: ["owner"],
};

/** Somebody who is here without being a member is an operator. */
function findRole(): string {
  return workspace.value?.role ?? "operator";
}

export function may(right: keyof typeof ROLES): boolean {
  return ROLES[right].includes(findRole());
}

/** Whether the person sees what messages say; undefined: not known yet. */
export function useSeesContent(): boolean | undefined {
  const isSender = may("send");
  const { data } = useCall("GET /api/v1/workspace", isSender ? null : {});
  if (isSender) return true;
  return findRole() === "viewer" ? data?.viewersSeeContent : data?.operatorsSeeContent;
}
