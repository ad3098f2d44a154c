// The review after a database of an earlier time: who was removed since is there again, and so are deleted API keys.

import type { Static } from "@sinclair/typebox";
import { toIsoTime, toIsoTimeOrNull } from "../../platform/http/times.ts";
import type { AccountDeps } from "./deps.ts";
import type { LinkRow } from "./link-store.ts";
import type { Review } from "./schema.ts";

/** The newest of each that are listed. */
const MAX_LISTED = 1_000;

/** What an operator who opens this link is to review; null: nothing, or the link is not for operators. */
export function describeReview({ kind, userId }: LinkRow, deps: AccountDeps): Static<typeof Review> | null {
  const since = deps.settings.get("access_review") ?? "";
  const isForOperator = kind === "setup" || (kind === "reset" && deps.users.byId(userId ?? 0)?.isOperator === true);
  if (since === "" || !isForOperator) return null;
  return {
    since: toIsoTime(Number(since)),
    people: deps.users.page(null, MAX_LISTED).map(({ id, email, name, isOperator }) => {
      return { email, name, isOperator, workspaces: deps.members.listOfUser(id) };
    }),
    keys: deps.review.listKeys(MAX_LISTED).map(({ createdAt, lastUsedAt, ...key }) => {
      return { ...key, createdAt: toIsoTime(createdAt), lastUsedAt: toIsoTimeOrNull(lastUsedAt) };
    }),
  };
}

/** Inside the transaction that uses the link: who opened it has seen the review. */
export function endReview(link: LinkRow, deps: AccountDeps): void {
  if (describeReview(link, deps) !== null) deps.settings.set("access_review", "");
}
