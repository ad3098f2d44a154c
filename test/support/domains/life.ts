/** A domain's life under a clock that a test holds: its checks in the background, each at its time. */
import type { FakeClock } from "../fakes/clock.ts";
import type { Client, Instance, InstanceOptions, Json } from "../fakes/instance.ts";
import { type HeldInstance, startHeld } from "../api/kit.ts";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const START = Date.UTC(2026, 0, 5, 9);
/** More than the watch waits from one check to the next. */
const PACE = 200;

export interface Life extends HeldInstance {
  /** Runs the checks that are due until `end`, each at its time, and moves the clock there. */
  until(end: number): Promise<void>;
  /** Times at which the domain's RSA key was looked for, in all. */
  checksOf(domain: string): number[];
  /** Registers a domain; its id. */
  register(domain: string, client?: Client): Promise<string>;
  /** Puts the records of a registered domain into DNS. */
  publish(id: string, client?: Client): Promise<void>;
  /** Takes every record of the domain out of DNS. */
  withdraw(domain: string): void;
  /** The domain as GET shows it. */
  show(id: string, client?: Client): Promise<Json>;
  check(id: string, client?: Client): Promise<Json>;
  /** The status that a send from the domain is answered with. */
  send(domain: string, client?: Client): Promise<number>;
  /** Events of domains so far, by name. */
  told(): string[];
}

export async function startLife(start = START, options: Omit<InstanceOptions, "clock"> = {}): Promise<Life> {
  // The disk is looked at every five seconds, which in a fortnight is often.
  const held = await startHeld(start, { readFree: () => ({ freeBytes: 2 ** 40, freeInodesPercent: 100 }), ...options });
  return Object.assign(held, toolsFor(held.pombo, held.clock));
}

export function toolsFor(pombo: Instance, clock: FakeClock): Omit<Life, keyof HeldInstance> {
  const checks = new Map<string, number[]>();
  let read = 0;
  const note = () => {
    for (const { name, type } of pombo.dns.queries.slice(read)) {
      const domain = /^pombo1\._domainkey\.([^.]+\.test)$/.exec(name)?.[1];
      if (domain !== undefined && type === "TXT") checks.set(domain, [...(checks.get(domain) ?? []), clock.now()]);
    }
    read = pombo.dns.queries.length;
  };
  const firstDue = () =>
    pombo.app.db.sqlite.query<{ at: number | null }, []>("SELECT min(next_check_at) AS at FROM domain").get()?.at ??
    Number.POSITIVE_INFINITY;
  const path = (id: string) => `/api/v1/domains/${id}`;
  const records = async (id: string, client: Client) => {
    const { dns } = (await client.call("GET", path(id))).body.data;
    return [...dns.dkim, dns.spf, dns.dmarc] as { type: string; name: string; value: string }[];
  };
  return {
    async until(end) {
      await pombo.app.domains.idle();
      for (let due = firstDue(); due <= end; due = firstDue()) {
        note();
        clock.advance(due > clock.now() ? due - clock.now() : PACE);
        await pombo.app.domains.idle();
      }
      note();
      clock.advance(Math.max(0, end - clock.now()));
    },
    checksOf(domain) {
      note();
      return checks.get(domain) ?? [];
    },
    async register(domain, client = pombo.workspace) {
      return (await client.call("POST", "/api/v1/domains", { body: { domain } })).body.data.id;
    },
    async publish(id, client = pombo.workspace) {
      for (const { type, name, value } of await records(id, client)) {
        pombo.dns.zone[name] = type === "CNAME" ? { CNAME: value } : { TXT: [value] };
      }
    },
    withdraw(domain) {
      for (const name of Object.keys(pombo.dns.zone)) if (name.endsWith(`.${domain}`)) delete pombo.dns.zone[name];
    },
    show: async (id, client = pombo.workspace) => (await client.call("GET", path(id))).body.data,
    check: async (id, client = pombo.workspace) =>
      (await client.call("POST", `${path(id)}/verification-checks`)).body.data,
    async send(domain, client = pombo.workspace) {
      const body = pombo.email({ from: `a@${domain}` });
      return (await client.call("POST", "/api/v1/emails", { body })).status;
    },
    told: () => pombo.events.map(({ name }) => name).filter((name) => /^domain\.(verified|warning|failed)$/.test(name)),
  };
}

/** From one time to the next. */
export function gaps(times: number[]): number[] {
  return times.slice(1).map((time, index) => time - (times[index] ?? 0));
}
