// What alerts are about, as its sources tell it.

/** A way that alerts go by. */
export type Way = "mail" | "webhook" | "sms";

export type Level = "warning" | "problem";

export interface Trouble {
  /** The same as long as it is the same trouble, also after a restart: dns, sms.unbound.vodacom. */
  id: string;
  level: Level;
  /** What is wrong, in a sentence or two. */
  what: string;
  /** What to do; null: `what` says it, or nothing need be done. */
  step: string | null;
  /** The ways that are themselves the trouble: no alert goes by them while it lasts. */
  via?: Way | readonly Way[];
  /** Of these ways only this one: an SMS route. */
  about?: string;
}

/** All that is wrong now, as far as this source sees. It is asked every few seconds and must be quick. */
export interface TroubleSource {
  (): readonly Trouble[];
  /** Whether it has not looked at this trouble yet, so that its absence ends nothing. Of ids of other sources: false. */
  isUnsure?: (id: string) => boolean;
}

export function listWays({ via }: Pick<Trouble, "via">): readonly Way[] {
  return via === undefined ? [] : typeof via === "string" ? [via] : via;
}
