// Looking at the html of emails, and of one that is not sent yet.

import type { AnyElysia } from "elysia";
import type { Context } from "../../../platform/context.ts";
import { type PreviewDeps, previewRoutes } from "./routes.ts";
import { PreviewTickets } from "./tickets.ts";

export interface Previews extends Pick<PreviewTickets, "use"> {
  routes(): AnyElysia;
  stop(): void;
}

export function createPreviews(
  context: Pick<Context, "clock" | "random">,
  stores: Pick<PreviewDeps, "emails" | "attachments">,
  module: Pick<PreviewDeps, "mayReadContent" | "readContent">,
): Previews {
  const tickets = new PreviewTickets(context);
  return {
    use: (...asked) => tickets.use(...asked),
    routes: () => previewRoutes({ ...stores, ...module, tickets }),
    stop: () => tickets.clear(),
  };
}
