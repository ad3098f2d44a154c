import { AppError } from "../../platform/errors.ts";

/** The blocks of a workspace; times are Unix ms, null: not blocked. */
export interface Standing {
  blockedAt: number | null;
  blockReason: string | null;
  rateBlockedAt: number | null;
  rateBlockReason: string | null;
}

/** Why new messages of a workspace are refused, or null: they are not. Undefined: it was deleted meanwhile. */
export function findRefusal(workspace: Standing | undefined): AppError | null {
  if (workspace === undefined) return workspaceGone();
  if (workspace.blockedAt !== null) {
    const since = formatDay(workspace.blockedAt);
    const why = workspace.blockReason === null ? "" : `: ${workspace.blockReason}`;
    return new AppError("SENDING_BLOCKED", `The operator has blocked sending since ${since}${why}`, {
      hint: "Only the operator can lift this: ask what has to change.",
    });
  }
  if (workspace.rateBlockedAt !== null) {
    const since = formatDay(workspace.rateBlockedAt);
    const why = workspace.rateBlockReason ?? "too many emails bounced or were complained about";
    return new AppError("SENDING_BLOCKED", `Sending is blocked since ${since}: ${why}`, {
      hint: "Remove the addresses that bounced or complained from your lists, then ask the operator to lift this.",
    });
  }
  return null;
}

/** For a request whose workspace was deleted while it came. */
export function workspaceGone(): AppError {
  return new AppError("INVALID_API_KEY", "The workspace of this API key was deleted");
}

/** The UTC day. */
function formatDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
