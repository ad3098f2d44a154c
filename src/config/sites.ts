// `[[site]]`: limits of a destination's servers, before the built-in table of providers.

import { type Static, Type } from "@sinclair/typebox";
import { flag, integer, list, text } from "./fields.ts";

export const SITES_MAX = 200;

export const SiteSchema = Type.Object({
  mx: list(text("hostname", "One name."), [1, 50], "Names of its mail servers, or their endings.", []),
  maxSessions: integer([0, 1000], "Open connections; 0 = as for others.", 0),
  messagesPerSession: integer([0, 100_000], "Messages over one connection; 0 = no limit.", 0),
  tlsRequired: flag("Whether mail to it requires TLS.", false),
});

/** One `[[site]]` as the file has it. */
export type SiteConfig = Static<typeof SiteSchema>;
