// What the name servers of a domain's own zone say of its records, before the world sees it.

import type { Context } from "../../../platform/context.ts";
import { Slots } from "../../../platform/slots.ts";
import { createResolver } from "../../../protocols/dns/client.ts";
import type { Resolver } from "../../../protocols/dns/lookup.ts";
import { checkDomain, type RecordCheck } from "../check.ts";
import { buildRecords, type DomainRecords } from "../records.ts";
import type { DomainRow, DomainStore } from "../store.ts";
import { type DnsHost, recognizeHost } from "./hosts.ts";
import { findAuthoritative, findZoneCut } from "./zone-cut.ts";

export interface HostView {
  /** Null: DNS did not tell. */
  zone: string | null;
  nameServers: string[];
  host: DnsHost | null;
  /** So long the world believes that a record is not there; null: not known. */
  negativeTtlS: number | null;
  /** DKIM twice, return path, DMARC. */
  records: RecordCheck[];
}

export interface HostViewDeps extends Pick<Context, "clock" | "random"> {
  domains: Pick<DomainStore, "listKeys">;
  resolver: Resolver & { fresh(preferredServer: number): Resolver };
  settings: { bounceHost: string; dmarcRua: string | null };
  /** Our own resolvers. */
  ownServers: readonly string[];
}

/** A view is shown again for so long. */
const KEPT_MS = 10_000;
const MAX_KEPT = 500;
const AT_ONCE = 8;
/** For one question to one server, and for all of them. */
const TIMEOUT_MS = 2_000;
const WHOLE_TIMEOUT_MS = 6_000;

export class HostViews {
  readonly #deps: HostViewDeps;
  readonly #kept = new Map<number, { at: number; view: HostView }>();
  readonly #underWay = new Map<number, Promise<HostView>>();
  readonly #slots = new Slots({ perSite: () => Infinity, total: AT_ONCE });
  readonly #closing = new AbortController();

  constructor(deps: HostViewDeps) {
    this.#deps = deps;
  }

  /** One of the last seconds will do. */
  async find(domain: DomainRow): Promise<HostView> {
    const kept = this.#kept.get(domain.id);
    const ageMs = kept === undefined ? Infinity : this.#deps.clock.now() - kept.at;
    return kept !== undefined && ageMs >= 0 && ageMs < KEPT_MS ? kept.view : this.refresh(domain);
  }

  /** The last one that was kept. */
  peek(domainId: number): HostView | undefined {
    return this.#kept.get(domainId)?.view;
  }

  /** Asks anew; all who ask meanwhile get the same. */
  refresh(domain: DomainRow): Promise<HostView> {
    const known = this.#underWay.get(domain.id);
    if (known !== undefined) return known;
    const view = this.#look(domain).finally(() => this.#underWay.delete(domain.id));
    this.#underWay.set(domain.id, view);
    return view;
  }

  /** What is under way ends without an answer. */
  close(): void {
    this.#closing.abort();
  }

  async #look(domain: DomainRow): Promise<HostView> {
    const { domains, settings, clock } = this.#deps;
    const records = buildRecords(domain, domains.listKeys(domain.id), settings);
    const leave = await this.#slots.take("", this.#closing.signal);
    if (leave === null) return unanswered(records);
    try {
      const view = await this.#ask(domain.name, records);
      if (this.#kept.size >= MAX_KEPT) this.#kept.clear();
      this.#kept.set(domain.id, { at: clock.now(), view });
      return view;
    } finally {
      leave();
    }
  }

  async #ask(domain: string, records: DomainRecords): Promise<HostView> {
    const { resolver, ownServers, clock, random } = this.#deps;
    const cut = await findZoneCut(domain, resolver);
    if (cut === null) return unanswered(records);
    const found = { zone: cut.name, nameServers: cut.nameServers, host: recognizeHost(cut.nameServers) };
    const servers = await findAuthoritative(cut, resolver, ownServers);
    const clients = servers.map((server) =>
      createResolver({ servers: [server], clock, random, timeoutMs: TIMEOUT_MS, lookupsAtOnce: 16 }),
    );
    const close = () => {
      for (const client of clients) client.close();
    };
    const cancel = clock.after(WHOLE_TIMEOUT_MS, close);
    this.#closing.signal.addEventListener("abort", close);
    const [ttls, checks] = await Promise.all([
      Promise.all(clients.map((client) => client.negativeTtl(cut.name))),
      Promise.all(clients.map(async (client) => listChecks(await checkDomain({ domain, records, resolver: client })))),
    ]);
    this.#closing.signal.removeEventListener("abort", close);
    cancel();
    close();
    const [ttl] = ttls.flatMap((each) => (each.kind === "found" ? each.records : []));
    return {
      ...found,
      negativeTtlS: ttl === undefined ? null : Number(ttl),
      records: listUnknown(records).map((record, index) =>
        best(
          record,
          checks.map((each) => each[index]).filter((check) => check !== undefined),
        ),
      ),
    };
  }
}

function unanswered(records: DomainRecords): HostView {
  return { zone: null, nameServers: [], host: null, negativeTtlS: null, records: listUnknown(records) };
}

function listUnknown({ dkim, spf, dmarc }: DomainRecords): RecordCheck[] {
  return [...dkim, spf, dmarc].map((record) => ({ ...record, status: "unknown", found: [] }));
}

export function listChecks({ dkim, spf, dmarc }: Awaited<ReturnType<typeof checkDomain>>): RecordCheck[] {
  return [...dkim, spf, dmarc];
}

/** A name server that has it is enough: the others follow, and the host's page shows it already. */
function best(unknown: RecordCheck, checks: RecordCheck[]): RecordCheck {
  const answered = checks.filter(({ status }) => status !== "unknown");
  return answered.find(({ status }) => status === "found") ?? answered[0] ?? unknown;
}
