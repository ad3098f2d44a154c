// Finds the route of a number by its prefix. Pure.

import type { SmsRouteConfig } from "../../../config/config.ts";
import type { Coding } from "../encoding/encoding.ts";

/** What of a route decides how messages are encoded and cut. */
export type SmsRoute = Pick<SmsRouteConfig, "name"> & Coding;

/** Numbers are in E.164. */
export interface Routing {
  /** The route of a number; null: there is none. */
  find(number: string): SmsRoute | null;
  /** For a message whose number is not known yet: the route that takes most; null: there is none at all. */
  usual: SmsRoute | null;
}

/** The longest prefix wins; a route without prefixes takes what no other does. */
export function createRouting(routes: (SmsRoute & Pick<SmsRouteConfig, "prefixes">)[]): Routing {
  const byPrefix = new Map<string, SmsRoute>();
  for (const route of routes)
    for (const prefix of route.prefixes.length === 0 ? [""] : route.prefixes) byPrefix.set(prefix, route);
  return {
    find(number) {
      for (let digits = number.replace(/^\+/, ""); digits !== ""; digits = digits.slice(0, -1)) {
        const route = byPrefix.get(digits);
        if (route !== undefined) return route;
      }
      return byPrefix.get("") ?? null;
    },
    usual: byPrefix.get("") ?? routes[0] ?? null,
  };
}
