// While somebody looks at a domain's page, its records are looked up more often: once a domain, however many look.
// Nothing is written until something is different.

import type { Context } from "../../../platform/context.ts";
import type { Resolver } from "../../../protocols/dns/lookup.ts";
import { checkDomain, type RecordCheck } from "../check.ts";
import { buildRecords } from "../records.ts";
import type { Dns } from "../schema.ts";
import { parseDns } from "../serialize.ts";
import { type DomainRow, type DomainStore, isSending } from "../store.ts";
import type { Verifier } from "../verify.ts";
import { type HostView, type HostViews, listChecks } from "./host-views.ts";

const EVERY_MS = 10_000;
/** A page that is left open is looked after for so long as often as that, and then less often. */
const EAGER_MS = 15 * 60_000;
const LATER_EVERY_MS = 60_000;

export interface DomainWatchDeps extends Pick<Context, "commit" | "clock" | "log"> {
  domains: Pick<DomainStore, "byId" | "findLastCheck" | "listKeys" | "noteChange">;
  verifier: Pick<Verifier, "verifyUnasked">;
  hosts: Pick<HostViews, "peek" | "refresh">;
  resolver: { fresh(preferredServer: number): Resolver };
  settings: { bounceHost: string; dmarcRua: string | null };
}

interface Watched {
  watchers: number;
  since: number;
  cancel: () => void;
}

export class DomainWatch {
  readonly #deps: DomainWatchDeps;
  readonly #watched = new Map<number, Watched>();
  #isClosed = false;

  constructor(deps: DomainWatchDeps) {
    this.#deps = deps;
  }

  /** Until the returned function is called. */
  watch(domainId: number): () => void {
    const watched = this.#watched.get(domainId) ?? this.#begin(domainId);
    watched.watchers += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      watched.watchers -= 1;
      if (watched.watchers > 0) return;
      watched.cancel();
      this.#watched.delete(domainId);
    };
  }

  /** Nothing is looked up any more. */
  close(): void {
    this.#isClosed = true;
    for (const { cancel } of this.#watched.values()) cancel();
    this.#watched.clear();
  }

  #begin(domainId: number): Watched {
    const watched: Watched = { watchers: 0, since: this.#deps.clock.now(), cancel: () => {} };
    this.#watched.set(domainId, watched);
    void this.#look(domainId, watched);
    return watched;
  }

  /** Never rejects. */
  async #look(domainId: number, watched: Watched): Promise<void> {
    const { clock, log } = this.#deps;
    try {
      await this.#compare(domainId);
    } catch (error) {
      if (!this.#isClosed) log.error("domains", error);
    }
    if (this.#isClosed || this.#watched.get(domainId) !== watched) return;
    const ageMs = clock.now() - watched.since;
    const delayMs = ageMs >= 0 && ageMs < EAGER_MS ? EVERY_MS : LATER_EVERY_MS;
    watched.cancel = clock.after(delayMs, () => void this.#look(domainId, watched));
  }

  async #compare(domainId: number): Promise<void> {
    const { domains, hosts, verifier, commit } = this.#deps;
    const domain = domains.byId(domainId);
    if (domain === undefined || domain.status === "suspended") return;
    const last = parseDns(domains.findLastCheck(domainId));
    if (isSending(domain) && last !== null && listSeen(last).every(({ status }) => status === "found")) return;
    const before = hosts.peek(domainId);
    const view = await hosts.refresh(domain);
    if (this.#isClosed) return;
    if (last === null || (await this.#isOutdated(domain, last, view)))
      await verifier.verifyUnasked(domainId, () => this.#isClosed);
    const isNews = before === undefined || describeView(before) !== describeView(view);
    if (isNews && !this.#isClosed) await commit(() => domains.noteChange(domain.workspaceId));
  }

  /**
   * Whether the world sees something else than the last check did. It is not asked while the zone's own servers say the
   * same as that: a question for a record that is not there yet makes a resolver believe so for a while.
   */
  async #isOutdated(domain: DomainRow, last: typeof Dns.static, view: HostView): Promise<boolean> {
    const seen = describe(listSeen(last));
    if (describe(view.records) === seen) return false;
    const { domains, settings, resolver } = this.#deps;
    const records = buildRecords(domain, domains.listKeys(domain.id), settings);
    const now = listChecks(await checkDomain({ domain: domain.name, records, resolver: resolver.fresh(0) }));
    return now.every(({ status }) => status !== "unknown") && describe(now) !== seen;
  }
}

type Seen = Pick<RecordCheck, "mistake"> & { status?: string };

function listSeen({ dkim, spf, dmarc }: typeof Dns.static): Seen[] {
  return [...dkim, spf, dmarc];
}

function describe(records: Seen[]): string {
  return records.map(({ status = "unknown", mistake = "" }) => `${status} ${mistake}`).join();
}

function describeView({ records, ...view }: HostView): string {
  return JSON.stringify(view) + describe(records);
}
