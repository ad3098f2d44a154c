/**
 * How a host is to be reached: the seam for TLS policies. Asked before every
 * connection; its mode is part of the key under which sessions are reused (R30), and its source
 * goes into the attempt's record (R67). Hosts are opportunistic (R17) unless the provider table, a
 * [[site]] or a relay asks for more; MTA-STS and DANE answer here later. Beside it the memory of hosts
 * whose TLS does not work.
 */
import type { Clock } from "../../platform/clock.ts";
import type { Heard } from "./replies/remove-echo.ts";
import { formatReply } from "./replies/reply.ts";
import type { SendResult, SmtpSession } from "./session/session.ts";
import { rulesFor, type SiteRules } from "./providers.ts";

export interface TlsPolicy {
  /**
   * `required`: TLS, whoever it is. `verify`: TLS with a valid certificate. Clear text only under `opportunistic`,
   * and under `never`, which is for a relay that the operator has without TLS.
   */
  mode: "opportunistic" | "never" | "required" | "verify";
  source: "default" | "config" | "provider" | "mta-sts" | "dane";
}

/** The policy for one host of a site. */
export type FindTlsPolicy = (host: string, site: string) => TlsPolicy;

const OPPORTUNISTIC: TlsPolicy = { mode: "opportunistic", source: "default" };

export const tlsPolicy: FindTlsPolicy = () => OPPORTUNISTIC;

const MAX_KNOWN_HOSTS = 10_000;
const REQUIRED: TlsPolicy = { mode: "required", source: "provider" };

/** Required where `rules` say so of a host, else opportunistic (R17). Asked for every message, so that hosts are remembered. */
export function tlsPolicyBy(rules: readonly SiteRules[]): FindTlsPolicy {
  const known = new Map<string, TlsPolicy>();
  return (host) => {
    let policy = known.get(host);
    if (policy === undefined) {
      policy = rulesFor(host, rules)?.isTlsRequired === true ? REQUIRED : OPPORTUNISTIC;
      if (known.size >= MAX_KNOWN_HOSTS) known.clear();
      known.set(host, policy);
    }
    return policy;
  };
}

/**
 * How TLS failed, and how long no session asks for it then: `not_now` was said of STARTTLS with a 4xx (RFC 3207 §4:
 * 454); `broken` is all else. Long enough to spare a broken host's visitors, short enough that a disturbance, or
 * somebody on the way who makes one, does not cost the day's encryption.
 */
export type TlsFailure = "not_now" | "broken";

export const WITHOUT_TLS_MS: Record<TlsFailure, number> = { not_now: 5 * 60_000, broken: 60 * 60_000 };
const MAX_BROKEN_HOSTS = 10_000;

/** Remembers hosts that answered in clear after their TLS had failed (R17). */
export interface TlsMemory {
  remember(host: string, failure: TlsFailure): void;
  /** It does ask for TLS. */
  forget(host: string): void;
  isBroken(host: string): boolean;
}

export function createTlsMemory(clock: Clock): TlsMemory {
  const expiries = new Map<string, number>();
  return {
    remember(host, failure) {
      expiries.delete(host);
      expiries.set(host, clock.now() + WITHOUT_TLS_MS[failure]);
      // A Map keeps the order of insertion: the first is the oldest.
      const oldest = expiries.keys().next();
      if (expiries.size > MAX_BROKEN_HOSTS && oldest.done === false) expiries.delete(oldest.value);
    },
    forget: (host) => void expiries.delete(host),
    isBroken(host) {
      const expiresAt = expiries.get(host);
      if (expiresAt === undefined) return false;
      if (expiresAt > clock.now()) return true;
      expiries.delete(host);
      return false;
    },
  };
}

const ASKS_FOR_TLS = /\btls\b|starttls|encrypt/i;

/**
 * What to say of a message that went in clear because TLS had failed, and that the server refused for
 * that (RFC 3207 §4: 530): nothing of the message, and TLS may work the next time. Null: it is not so.
 */
export function tlsMissed(
  session: SmtpSession,
  policy: TlsPolicy,
  result: SendResult,
  hear: (refusal: Extract<SendResult, { kind: "refused" }>) => Heard,
): string | null {
  const isAvoided = session.tls === null && session.capabilities.hasStartTls && policy.mode === "opportunistic";
  if (!isAvoided || result.kind !== "refused" || result.reply.code < 500) return null;
  if (result.stage !== "mail" && result.stage !== "rcpt") return null;
  if (result.reply.code !== 530 && !ASKS_FOR_TLS.test(hear(result).words)) return null;
  return `TLS failed, and without it the server says: ${formatReply(result.reply)}`;
}
