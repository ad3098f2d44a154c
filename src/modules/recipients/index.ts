// Recipients: everything that is kept about one address or number, exported and erased.

import type { Context } from "../../platform/context.ts";
import { operatorRecipientRoutes, type RecipientDeps, recipientRoutes } from "./routes.ts";

type RecipientModuleDeps = Pick<RecipientDeps, "pages" | "recordEvent" | "readContent">;

export function createRecipients(
  context: Context,
  stores: Omit<RecipientDeps, keyof Context | keyof RecipientModuleDeps>,
  module: RecipientModuleDeps,
) {
  const deps = { ...context, ...stores, ...module };
  return {
    routes: () => recipientRoutes(deps),
    operatorRoutes: () => [operatorRecipientRoutes(deps)],
  };
}
