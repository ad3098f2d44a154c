// What the doctor says of one thing that it looked at.

import { FINDING_IDS, type FindingId } from "./catalog.ts";

/** Unknown: it could not be looked at, which is never as good as ok. */
export const LEVELS = ["ok", "warning", "problem", "unknown"] as const;
export type Level = (typeof LEVELS)[number];

export interface Finding {
  id: FindingId;
  level: Level;
  /** The domain, address or server that it is about; absent: the instance. */
  subject?: string;
  /** One sentence. */
  seen: string;
  /** The exact next step: what to paste, and where; null: nothing is to be done. */
  step: string | null;
}

type About = Pick<Finding, "subject">;

export function ok(id: FindingId, seen: string, about: About = {}): Finding {
  return { id, level: "ok", ...about, seen, step: null };
}

/** With a step: what does not work must be mendable. */
export function bad(
  id: FindingId,
  level: "warning" | "problem",
  said: { seen: string; step: string } & About,
): Finding {
  const { subject, seen, step } = said;
  return { id, level, ...(subject === undefined ? {} : { subject }), seen, step };
}

export function unknown(id: FindingId, seen: string, rest: About & { step?: string } = {}): Finding {
  const { subject, step = null } = rest;
  return { id, level: "unknown", ...(subject === undefined ? {} : { subject }), seen, step };
}

/** Tells findings of the same kind apart. */
export function keyOf({ id, subject }: Pick<Finding, "id" | "subject">): string {
  return `${id} ${subject ?? ""}`;
}

const RANK: Record<Level, number> = { problem: 0, warning: 1, unknown: 2, ok: 3 };

/** The worst first, then as the catalog has them. */
export function worstFirst(findings: readonly Finding[]): Finding[] {
  const place = new Map(FINDING_IDS.map((id, at) => [id, at]));
  const compare = (left: Finding, right: Finding) =>
    RANK[left.level] - RANK[right.level] ||
    (place.get(left.id) ?? 0) - (place.get(right.id) ?? 0) ||
    ((left.subject ?? "") < (right.subject ?? "") ? -1 : 1);
  return findings.toSorted(compare);
}

/** Strangers publish what is shown: on one line, without control characters, not endless. */
export function quote(text: string, limit = 200): string {
  const bare = text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "");
  return bare.length > limit ? `${bare.slice(0, limit)}…` : bare;
}
