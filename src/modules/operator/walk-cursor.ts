import { validationError } from "../../platform/http/errors.ts";
import { type At, BEGINNING, type Kind, KINDS } from "./queue-store.ts";

// Where a walk over the queues stands, as text for whoever asks for the next part of it. It names the last id of
// each queue as of its beginning, so that what is accepted while it goes on is no part of it.

export interface Place {
  kind: Kind;
  at: At;
  last: Record<Kind, number>;
}

const PARTS = /^(\d)\.(\d)\.(\d{1,16})\.(\d{1,16})\.(\d{1,16})\.(\d{1,16})\.(\d{1,16})\./;

/** The checksum makes a part of a place, and another walk's, no place; it keeps nothing secret. */
export function placeText({ kind, at, last }: Place, walk: string): string {
  const { stage, rank, id } = at;
  const text = [KINDS.indexOf(kind), stage, rank, id, last.email, last.sms, last.webhook].join(".");
  const checksum = Bun.hash.crc32(`${walk} ${text}`).toString(16).padStart(8, "0");
  return Buffer.from(`${text}.${checksum}`).toString("base64url");
}

/** Throws for what no walk of this name has given out. */
export function readPlace(text: string, walk: string): Place {
  const match = PARTS.exec(Buffer.from(text, "base64url").toString("latin1"));
  const [kind, stage, rank, id, email, sms, webhook] = (match ?? []).slice(1).map(Number);
  const place = {
    kind: KINDS[kind ?? -1] ?? "email",
    at: { stage: stage ?? 0, rank: rank ?? 0, id: id ?? 0 },
    last: { email: email ?? 0, sms: sms ?? 0, webhook: webhook ?? 0 },
  };
  if (match !== null && placeText(place, walk) === text) return place;
  throw validationError([
    { path: ["cursor"], message: "is not one that was given out here", hint: "Start again without a cursor." },
  ]);
}

/** Where a walk over these queues begins. */
export function beginning(kinds: readonly Kind[], last: Place["last"]): Place | null {
  const [kind] = kinds;
  return kind === undefined ? null : { kind, at: BEGINNING, last };
}

/** Where it goes on after a slice; null: it is over. */
export function after(place: Place, end: At | null, kinds: readonly Kind[]): Place | null {
  const isPast = end !== null && place.kind !== "sms" && end.id >= place.last[place.kind];
  if (end !== null && !isPast) return { ...place, at: end };
  const next = kinds[kinds.indexOf(place.kind) + 1];
  return next === undefined ? null : { ...place, kind: next, at: BEGINNING };
}
