// Which domains a run looks at: by hand all, in the background those with troubles and the next few of the others.

import { buildRecords, type DnsRecord } from "../domains/records.ts";
import { type DomainRow, type DomainStore, isSending } from "../domains/store.ts";
import type { Finding } from "./finding.ts";

/** A domain with which mail is sent. */
export interface DomainView {
  id: number;
  name: string;
  /** What its owner is to have published. */
  dkim: readonly DnsRecord[];
  returnPath: DnsRecord;
  dmarc: DnsRecord;
  verifiedAt: number | null;
}

export interface DomainSources {
  domains: DomainStore;
  settings: { bounceHost: string; dmarcRua: string | null };
}

/** Domains of one run by hand. */
const MAX_DOMAINS = 1_000;
/** Of one in the background: as many of each kind, as far as its questions go. */
const MAX_WORST = 10;
const MAX_OTHERS = 20;
const PAGE = 100;

export interface DomainPicker {
  /** Null: no workspace sends with it. */
  named(name: string): DomainView | null;
  all(): DomainView[];
  /** The workspace that sends with it; null: none does. */
  ownerOf(name: string): number | null;
  /** In the order in which they are to be looked at. `troubles`: what is known of domains. */
  next(troubles: readonly Finding[]): DomainView[];
  /** A run in the background has looked at these of the domains that next() gave. */
  reached(names: ReadonlySet<string>): void;
  isGone: (name: string) => boolean;
}

export function createDomainPicker({ domains, settings }: DomainSources): DomainPicker {
  /** Domains are gone through from the newest to the oldest, and again; null: from the newest. */
  let position: number | null = null;
  let rotating: DomainView[] = [];

  const view = (row: DomainRow): DomainView => {
    const records = buildRecords(row, domains.listKeys(row.id), settings);
    const { id, name, verifiedAt } = row;
    return { id, name, verifiedAt, dkim: records.dkim, returnPath: records.spf, dmarc: records.dmarc };
  };
  const take = (before: number | null, most: number): DomainRow[] => {
    const found: DomainRow[] = [];
    for (let at = before; found.length < most;) {
      const rows = domains.listEverywhere(null, at === null ? null : { id: at, createdAt: 0 }, PAGE);
      found.push(...rows.slice(0, PAGE).filter(isSending));
      const last = rows[PAGE - 1];
      if (rows.length <= PAGE || last === undefined) break;
      at = last.id;
    }
    return found.slice(0, most);
  };
  const named = (name: string) => {
    const row = domains.verified(name);
    return row === undefined ? null : view(row);
  };

  return {
    named,
    all: () => take(null, MAX_DOMAINS).map(view),
    ownerOf: (name) => domains.verified(name)?.workspaceId ?? null,
    next(troubles) {
      const bad = [...new Set(troubles.filter(({ level }) => level !== "ok").map(({ subject }) => subject ?? ""))];
      const worst = bad.slice(0, MAX_WORST).flatMap((name) => named(name) ?? []);
      const rows = take(position, MAX_OTHERS);
      if (rows.length < MAX_OTHERS && position !== null) {
        const ids = new Set(rows.map(({ id }) => id));
        rows.push(...take(null, MAX_OTHERS - rows.length).filter(({ id }) => !ids.has(id)));
      }
      rotating = rows.filter(({ id }) => worst.every((each) => each.id !== id)).map(view);
      return [...worst, ...rotating];
    },
    reached(names) {
      const last = rotating.findLast(({ name }) => names.has(name));
      if (last !== undefined) position = last.id;
    },
    isGone: (name) => domains.verified(name) === undefined,
  };
}
