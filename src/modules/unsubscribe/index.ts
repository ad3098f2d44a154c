// Unsubscribing: the links that emails of a list carry, and what follows when somebody uses one.

import type { AnyElysia } from "elysia";
import type { Context } from "../../platform/context.ts";
import { createUnsubscribeLinks, type UnsubscribeLinks, type UnsubscribeSettings } from "./links.ts";
import { unsubscribeRoutes, type UnsubscribeRouteDeps } from "./routes.ts";
import { unsubscribe } from "./unsubscribe.ts";

interface Unsubscribe {
  links: UnsubscribeLinks;
  routes(): AnyElysia;
  /** Inside a transaction: the recipient of the email `uid` gets no more mail of its list. False: there is no such list. */
  unsubscribe: (uid: string) => boolean;
}

export function createUnsubscribe(
  context: Context,
  stores: Pick<UnsubscribeRouteDeps, "subscriptions" | "suppressions" | "workspaces">,
  module: UnsubscribeSettings & Pick<UnsubscribeRouteDeps, "findNetwork" | "failuresPerMinute">,
): Unsubscribe {
  const links = createUnsubscribeLinks(module);
  const deps = { ...context, ...stores, ...module, links };
  return { links, routes: () => unsubscribeRoutes(deps), unsubscribe: (uid) => unsubscribe(uid, deps) };
}
