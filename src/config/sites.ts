import { type Static, Type } from "@sinclair/typebox";
import { integer, list, text } from "./fields.ts";

// `[[site]]`: what the operator knows of a destination's servers, before the built-in table of providers.

export const SITES_MAX = 200;

export const SiteSchema = Type.Object({
  mx: list(text("hostname", "One name."), [1, 50], "Names that its mail servers have, or end in.", []),
  maxSessions: integer([0, 1000], "Connections to it open at once; 0 = as for every other.", 0),
  messagesPerSession: integer([0, 100_000], "Messages over one connection; 0 = no limit.", 0),
  tlsRequired: Type.Boolean({ description: "Whether mail to it must never go in clear text.", default: false }),
});

/** One `[[site]]` as the file has it. */
export type SiteConfig = Static<typeof SiteSchema>;
