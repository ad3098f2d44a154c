// Where a walk over the queues stands, as the cursor of the next request. It carries the last id that each queue
// had at the beginning: messages accepted during the walk are no part of it.

import { badCursor } from "../../platform/http/pagination.ts";
import { WALK_START, type WalkPosition } from "../../platform/queue/queue-admin.ts";
import { type Kind, KINDS } from "./queue-filter.ts";

export interface Walk {
  kind: Kind;
  position: WalkPosition;
  last: Record<Kind, number>;
}

const CURSOR = /^(\d)\.(\d)\.(\d{1,16})\.(\d{1,16})\.(\d{1,16})\.(\d{1,16})\.(\d{1,16})\./;

/** The checksum refuses a cut cursor, and one of another walk; it keeps nothing secret. */
export function formatCursor({ kind, position, last }: Walk, name: string): string {
  const { stage, rank, id } = position;
  const text = [KINDS.indexOf(kind), stage, rank, id, last.email, last.sms, last.webhook].join(".");
  const checksum = Bun.hash.crc32(`${name} ${text}`).toString(16).padStart(8, "0");
  return Buffer.from(`${text}.${checksum}`).toString("base64url");
}

/** Throws for a cursor that no walk of this name has given out. */
export function parseCursor(text: string, name: string): Walk {
  const match = CURSOR.exec(Buffer.from(text, "base64url").toString("latin1"));
  const [kind, stage, rank, id, email, sms, webhook] = (match ?? []).slice(1).map(Number);
  const walk = {
    kind: KINDS[kind ?? -1] ?? "email",
    position: { stage: stage ?? 0, rank: rank ?? 0, id: id ?? 0 },
    last: { email: email ?? 0, sms: sms ?? 0, webhook: webhook ?? 0 },
  };
  if (match !== null && formatCursor(walk, name) === text) return walk;
  throw badCursor();
}

/** The beginning of a walk over these queues; null: there are none. */
export function beginWalk(kinds: readonly Kind[], last: Walk["last"]): Walk | null {
  const [kind] = kinds;
  return kind === undefined ? null : { kind, position: WALK_START, last };
}

/** Where the walk goes on after a slice; null: it is over. */
export function continueWalk(walk: Walk, end: WalkPosition | null, kinds: readonly Kind[]): Walk | null {
  const isPast = end !== null && walk.kind !== "sms" && end.id >= walk.last[walk.kind];
  if (end !== null && !isPast) return { ...walk, position: end };
  const next = kinds[kinds.indexOf(walk.kind) + 1];
  return next === undefined ? null : { ...walk, kind: next, position: WALK_START };
}
