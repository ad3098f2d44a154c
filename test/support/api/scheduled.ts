// Emails with a sendAt, in an instance whose time begins at NOON.

import type { Instance, Json } from "../fakes/instance.ts";
import { HOUR, NOON, totalsOf } from "./one-email.ts";

export const DAY = 24 * HOUR;

/** So long after noon. */
export const at = (ms: number): string => new Date(NOON + ms).toISOString();

/** The stored totals by status. */
export const kept = (pombo: Instance): Record<string, number> => totalsOf(pombo).kept;

/** As the operator sees it. */
export async function queueOf(pombo: Instance): Promise<Json> {
  return (await pombo.operator.call("GET", "/api/v1/operator/queue")).body.data;
}
