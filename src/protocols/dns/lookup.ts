/**
 * The results of a lookup. Reasons are for everybody and name no server by its address; `server` tells
 * servers apart, and is the operator's to see. The four kinds are kept apart because mail depends on the difference: a
 * name that does not exist bounces a message, a server that does not answer only delays it.
 */
export type Lookup<T> =
  /** `ttlS` is what is left of the shortest TTL on the way, in seconds. */
  | { kind: "found"; records: T[]; ttlS: number; server: string }
  /** The name exists and has no such record (NODATA). */
  | { kind: "no_data"; server: string }
  /** The name does not exist (NXDOMAIN). `server` is "" when the name could not even be asked for. */
  | { kind: "no_name"; server: string }
  /** SERVFAIL, refusal, timeout or a malformed answer of every server: worth asking again later. */
  | { kind: "failed"; reason: string };

/** `exchange` is lower case without a trailing dot, and "" for the root: a null MX (RFC 7505). */
export interface MxRecord {
  preference: number;
  exchange: string;
}

/**
 * DNS as an argument. Names may carry a trailing dot and upper case. Lookups never reject; CNAMEs
 * are followed (at most 16), except by `cname`. One whose `signal` is aborted is `failed` at once, and
 * ends in fact when nobody else waits for the same.
 */
export interface Resolver {
  mx(name: string, signal?: AbortSignal): Promise<Lookup<MxRecord>>;
  /** IPv4 addresses in the order of the answer. */
  a(name: string, signal?: AbortSignal): Promise<Lookup<string>>;
  /** IPv6 addresses in the order of the answer. */
  aaaa(name: string, signal?: AbortSignal): Promise<Lookup<string>>;
  /** One entry per record, its character-strings joined: a long DKIM key is several strings. */
  txt(name: string, signal?: AbortSignal): Promise<Lookup<string>>;
  /** The direct target only, lower case without a trailing dot. */
  cname(name: string, signal?: AbortSignal): Promise<Lookup<string>>;
  /** The name servers of a zone, lower case without a trailing dot. Found only at a zone's own name. */
  ns(name: string, signal?: AbortSignal): Promise<Lookup<string>>;
  /** The names of an address, lower case without a trailing dot; `name` as reverseName() writes it. */
  ptr(name: string, signal?: AbortSignal): Promise<Lookup<string>>;
  /** At this very name (RFC 8659), as `0 issue letsencrypt.org`. */
  caa(name: string, signal?: AbortSignal): Promise<Lookup<string>>;
  /** At a zone's own name: for how many seconds others believe that a record is not there (RFC 2308 §5). */
  negativeTtl(name: string, signal?: AbortSignal): Promise<Lookup<string>>;
}
