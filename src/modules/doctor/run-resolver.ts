// The DNS of one run: each question is asked once, all end with the run, and a run in the background asks at most so
// many. Its own client, so that no look-up of mail waits for it.

import type { Lookup, Resolver } from "../../protocols/dns/lookup.ts";

export interface RunResolver extends Resolver {
  /** Questions so far, each counted once. */
  readonly asked: number;
}

type Kind = keyof Resolver;

export interface RunResolverOptions {
  /** Asks the servers anew, or a record that was published a minute ago is still missing. */
  resolver: Resolver;
  signal: AbortSignal;
  /** No server answers: each question would only wait. */
  isMute: boolean;
  /** Questions that may be asked. */
  limit: number;
}

export function createRunResolver({ resolver, signal, isMute, limit }: RunResolverOptions): RunResolver {
  const known = new Map<string, Promise<Lookup<unknown>>>();
  const ask = <K extends Kind>(kind: K) =>
    ((name: string) => {
      const key = `${kind} ${name.toLowerCase().replace(/\.$/, "")}`;
      const before = known.get(key);
      if (before !== undefined) return before;
      const reason = isMute
        ? "no DNS server answers"
        : signal.aborted
          ? "the time of this run was over"
          : known.size >= limit
            ? `this run has asked its ${limit} questions`
            : null;
      if (reason !== null) return Promise.resolve({ kind: "failed", reason });
      const lookup = resolver[kind](name, signal) as Promise<Lookup<unknown>>;
      known.set(key, lookup);
      return lookup;
    }) as unknown as Resolver[K];
  return {
    get asked() {
      return known.size;
    },
    mx: ask("mx"),
    a: ask("a"),
    aaaa: ask("aaaa"),
    txt: ask("txt"),
    cname: ask("cname"),
    ns: ask("ns"),
    ptr: ask("ptr"),
    caa: ask("caa"),
    negativeTtl: ask("negativeTtl"),
  };
}
