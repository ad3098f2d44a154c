/**
 * The only DNS of pombo. A lookup goes: cache; the same question already under way; then the
 * servers one after the other (each UDP first, TCP where the answer does not fit), following CNAMEs
 * across answers; and what was learned goes into the cache. It is our own because mail needs what
 * the runtime's resolver does not tell: NXDOMAIN apart from NODATA, TTLs, whole TXT records.
 */
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { Slots } from "../../platform/slots.ts";
import { type Owner, LookupCache, copyLookup } from "./cache.ts";
import { askServer } from "./exchange.ts";
import type { Server } from "./exchange.ts";
import type { Lookup, MxRecord, Resolver } from "./lookup.ts";
import { keepRecords } from "./records.ts";
import { parseServer } from "./servers.ts";
import { CNAME_LIMIT, isAskable, normalizeName } from "./wire-format.ts";
import type { QueryType } from "./wire-format.ts";

export type { Lookup, MxRecord, Resolver } from "./lookup.ts";

const TIMEOUT_MS = 5000;
/** A second round only for servers that were silent: a lost datagram is the common fault. */
const ROUNDS = 2;
const SERVERS_LIMIT = 8;
const LOOKUPS_AT_ONCE = 256;
/** For lookups that name no owner. */
const OURSELVES: Owner = 0;

/** A resolver over real servers. After `close` every lookup is `failed`, those under way as well. */
export interface DnsClient extends Resolver {
  readonly serverCount: number;
  /**
   * Lookups that ask the servers anew, from the one with this index (0 and up, taken modulo the
   * number of servers) and only then the others; the answers renew the cache. For "two answers
   * from different servers" and for domain checks, which must not believe an old "no such record".
   */
  fresh(preferredServer: number): Resolver;
  /** The same for an owner, in whose part of the cache the answers are held. */
  forOwner(owner: Owner): Pick<DnsClient, keyof Resolver | "fresh" | "serverCount">;
  close(): void;
}

export interface ResolverOptions {
  /** `ip:port` or `[v6]:port`, 1 to 8, the preferred one first; or a function that gives them, asked for each question. */
  servers: string[] | (() => readonly Server[]);
  clock: Clock;
  random: Random;
  /** How long one server may take for one try; 5,000 unless told. */
  timeoutMs?: number;
  /** Lookups under way at once, each of which holds a socket; further ones wait for their turn. 256 unless told. */
  lookupsAtOnce?: number;
  /** Told of each question that no server answered at all; `reason` says of each, by its address, what it did instead. */
  silent?: (reason: string) => void;
}

/** Throws a sentence when a server is not an address. Holds nothing open while nothing is asked. */
export function createResolver(options: ResolverOptions): DnsClient {
  const getServers = typeof options.servers === "function" ? options.servers : parseServers(options.servers);
  const cache = new LookupCache(options.clock);
  let isClosed = false;
  const walk = createWalk(getServers, options);
  const slots = new Slots({ perSite: () => Infinity, total: options.lookupsAtOnce ?? LOOKUPS_AT_ONCE });
  const underWay = new Map<string | symbol, Shared>();

  const ask = async (type: QueryType, name: string, asking: Asking & { owner: Owner }): Promise<Lookup<unknown>> => {
    const { preferred, signal, owner } = asking;
    const leave = await slots.take("", signal);
    if (leave === null) return GIVEN_UP;
    try {
      const { lookup, ttlS } = await walk(type, name, { preferred, signal });
      cache.store(`${type} ${name}`, lookup, { ttlS, owner });
      return lookup;
    } finally {
      leave();
    }
  };

  /** The same question of several is asked once, and given up when the last of them gives up; a fresh one is not shared. */
  const share = (type: QueryType, name: string, { preferred, owner }: LookupRequest): Shared => {
    const key = preferred === null ? `${type} ${name}` : Symbol(name);
    const known = underWay.get(key);
    if (known !== undefined) return known;
    const ending = new AbortController();
    const forget = () => void (underWay.get(key) === shared && underWay.delete(key));
    const shared: Shared = {
      waiting: 0,
      answer: ask(type, name, { preferred, owner, signal: ending.signal }).finally(forget),
      giveUp() {
        // A later caller must not get this one's failure.
        forget();
        ending.abort();
      },
    };
    underWay.set(key, shared);
    return shared;
  };

  const find = async (type: QueryType, input: string, wish: LookupRequest): Promise<Lookup<unknown>> => {
    const name = normalizeName(input);
    if (!isAskable(name)) return { kind: "no_name", server: "" };
    if (isClosed) return { kind: "failed", reason: "the resolver is closed" };
    const cached = wish.preferred === null ? cache.find(`${type} ${name}`, wish.owner) : null;
    if (cached) return cached;
    return copyLookup(await awaitAnswer(share(type, name, wish), wish.signal));
  };
  const forOwner = (owner: Owner) => ({
    ...createLookups((type, name, signal) => find(type, name, { preferred: null, signal, owner })),
    get serverCount() {
      return getServers().length;
    },
    fresh: (preferred: number) => createLookups((type, name, signal) => find(type, name, { preferred, signal, owner })),
  });

  const close = () => {
    isClosed = true;
    for (const shared of Array.from(underWay.values())) shared.giveUp();
    cache.clear();
  };
  return Object.assign(forOwner(OURSELVES), { forOwner, close });
}

function parseServers(addresses: string[]): () => readonly Server[] {
  const servers = addresses.map(parseServer);
  if (servers.length === 0 || servers.length > SERVERS_LIMIT) {
    throw new Error(`Name 1 to ${SERVERS_LIMIT} DNS servers; ${servers.length} were given.`);
  }
  return () => servers;
}

/** How a question is put to the servers: beginning with which, and until when. */
interface Asking {
  preferred: number | null;
  signal: AbortSignal;
}

interface LookupRequest {
  preferred: number | null;
  owner: Owner;
  signal: AbortSignal | undefined;
}

/** A question that is under way, and how many wait for its answer. */
interface Shared {
  waiting: number;
  readonly answer: Promise<Lookup<unknown>>;
  giveUp(): void;
}

const GIVEN_UP: Lookup<unknown> = { kind: "failed", reason: "the lookup was given up" };

/** The answer, or a failure as soon as `signal` is aborted. */
async function awaitAnswer(shared: Shared, signal: AbortSignal | undefined): Promise<Lookup<unknown>> {
  shared.waiting += 1;
  if (signal === undefined) return shared.answer;
  const { promise, resolve } = Promise.withResolvers<Lookup<unknown>>();
  const leave = () => {
    shared.waiting -= 1;
    if (shared.waiting === 0) shared.giveUp();
    resolve(GIVEN_UP);
  };
  void shared.answer.then(resolve);
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave);
  const lookup = await promise;
  signal.removeEventListener("abort", leave);
  return lookup;
}

/** The one place where the record type in a question gives the answer its type. */
function createLookups(
  find: (type: QueryType, name: string, signal: AbortSignal | undefined) => Promise<Lookup<unknown>>,
): Resolver {
  return {
    mx: (name, signal) => find("MX", name, signal) as Promise<Lookup<MxRecord>>,
    a: (name, signal) => find("A", name, signal) as Promise<Lookup<string>>,
    aaaa: (name, signal) => find("AAAA", name, signal) as Promise<Lookup<string>>,
    txt: (name, signal) => find("TXT", name, signal) as Promise<Lookup<string>>,
    cname: (name, signal) => find("CNAME", name, signal) as Promise<Lookup<string>>,
    ns: (name, signal) => find("NS", name, signal) as Promise<Lookup<string>>,
    ptr: (name, signal) => find("PTR", name, signal) as Promise<Lookup<string>>,
    caa: (name, signal) => find("CAA", name, signal) as Promise<Lookup<string>>,
    negativeTtl: (name, signal) => find("SOA", name, signal) as Promise<Lookup<string>>,
  };
}

interface ResolvedLookup {
  lookup: Lookup<unknown>;
  ttlS: number;
}

function createWalk(getServers: () => readonly Server[], options: ResolverOptions) {
  const askServers = createRounds(getServers, options);
  return async (type: QueryType, name: string, asking: Asking): Promise<ResolvedLookup> => {
    const seen = new Set([name]);
    let target = name;
    let ttlS = Number.POSITIVE_INFINITY;
    for (;;) {
      if (!isAskable(target)) return { lookup: { kind: "no_name", server: "" }, ttlS };
      const { outcome, server } = await askServers(type, target, asking);
      if (outcome.kind === "unanswered") return failed(`${type} ${name}: ${outcome.reason}`);
      ttlS = Math.min(ttlS, outcome.ttlS);
      if (outcome.kind === "no_data" || outcome.kind === "no_name") {
        return { lookup: { kind: outcome.kind, server }, ttlS };
      }
      if (outcome.kind === "found") {
        const records = keepRecords(type, outcome.values, options.random);
        return { lookup: { kind: "found", records, ttlS, server }, ttlS };
      }
      for (const step of outcome.path) {
        if (seen.has(step)) return failed(`${type} ${name}: its CNAMEs go in a circle`);
        seen.add(step);
      }
      if (seen.size > CNAME_LIMIT + 1) return failed(`${type} ${name}: more than ${CNAME_LIMIT} CNAMEs`);
      target = outcome.target;
    }
  };
}

function failed(reason: string): ResolvedLookup {
  return { lookup: { kind: "failed", reason }, ttlS: 0 };
}

function createRounds(getServers: () => readonly Server[], options: ResolverOptions) {
  const { clock, random, timeoutMs = TIMEOUT_MS } = options;
  // Moves on to whoever answered when the first was silent, so that one dead server costs its
  // timeout once and not with every lookup.
  let usualFirst: Server | null = null;
  return async (type: QueryType, name: string, { preferred, signal }: Asking) => {
    const servers = getServers();
    // At the beginning if the servers are others now.
    const usual = usualFirst === null ? 0 : Math.max(0, servers.indexOf(usualFirst));
    const first = (preferred ?? usual) % servers.length;
    let candidates = [...servers.slice(first), ...servers.slice(0, first)];
    const reasons = new Map<Server, string>();
    for (let round = 0; round < ROUNDS && candidates.length > 0; round += 1) {
      const silent: Server[] = [];
      for (const server of candidates) {
        const id = Buffer.from(random.bytes(2)).readUInt16BE(0);
        const outcome = await askServer(server, { id, name, type, hasEdns: true }, { clock, timeoutMs, signal });
        if (outcome.kind !== "unanswered") {
          if (preferred === null && silent.length > 0) usualFirst = server;
          return { outcome, server: server.label };
        }
        reasons.set(server, outcome.reason);
        if (outcome.isSilent) silent.push(server);
      }
      candidates = silent;
    }
    const told = (nameOf: (server: Server) => string) =>
      [...reasons].map(([server, what]) => `${nameOf(server)} ${what}`).join("; ");
    if (candidates.length === servers.length && !signal.aborted) options.silent?.(told(({ label }) => label));
    // By its number: what customers read must not tell them where our servers are.
    const reason = told((server) => `DNS server ${servers.indexOf(server) + 1}`);
    return { outcome: { kind: "unanswered" as const, reason }, server: "" };
  };
}
