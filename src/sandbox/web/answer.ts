/** Answers of the sandbox's routes: what all of them carry, and faults in the API's shape. */

export const GUARDING_HEADERS = {
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-dns-prefetch-control": "off",
};

export interface Fault {
  code: string;
  message: string;
  field?: string;
}

export function faultAnswer(status: number, ...errors: Fault[]): Response {
  return Response.json({ errors }, { status, headers: GUARDING_HEADERS });
}

/** The `limit` of a list's query, or the answer that it is none. */
export function limitOf(url: URL, usual: number, most: number): number | Response {
  const limit = url.searchParams.get("limit") ?? String(usual);
  if (/^\d{1,4}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= most) return Number(limit);
  const message = `limit must be a whole number from 1 to ${most}`;
  return faultAnswer(422, { code: "VALIDATION_ERROR", message, field: "limit" });
}
