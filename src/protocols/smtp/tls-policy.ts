/**
 * How a host is to be reached: the seam for TLS policies. Asked before every
 * connection; its mode is part of the key under which sessions are reused (R30), and its source
 * goes into the attempt's record (R67). Hosts are opportunistic (R17) unless the provider table, a
 * [[site]] or a relay asks for more; MTA-STS and DANE answer here later.
 */
import type { OwnReply } from "./replies/remove-echo.ts";
import { formatReply } from "./replies/reply.ts";
import type { TlsMode } from "./session/greeting.ts";
import type { SendResult, SmtpSession } from "./session/session.ts";
import { findRules, type SiteRules } from "./providers.ts";

export interface TlsPolicy {
  /**
   * `required`: TLS, whoever it is. `verify`: TLS with a valid certificate. Clear text only under `opportunistic`,
   * and under `never`, which is for a relay that the operator has without TLS.
   */
  mode: TlsMode;
  source: "default" | "config" | "provider" | "mta-sts" | "dane";
}

export type FindTlsPolicy = (host: string) => TlsPolicy;

const OPPORTUNISTIC: TlsPolicy = { mode: "opportunistic", source: "default" };

export const tlsPolicy: FindTlsPolicy = () => OPPORTUNISTIC;

const MAX_KNOWN_HOSTS = 10_000;
const REQUIRED: TlsPolicy = { mode: "required", source: "provider" };

/** Required where `rules` say so of a host, else opportunistic (R17). Asked for every message, so that hosts are remembered. */
export function createTlsPolicies(rules: readonly SiteRules[]): FindTlsPolicy {
  const known = new Map<string, TlsPolicy>();
  return (host) => {
    let policy = known.get(host);
    if (policy === undefined) {
      policy = findRules(host, rules)?.isTlsRequired === true ? REQUIRED : OPPORTUNISTIC;
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

/** Hosts that answered in clear after their TLS had failed are remembered so long (R17). */
export const WITHOUT_TLS_MS: Record<TlsFailure, number> = { not_now: 5 * 60_000, broken: 60 * 60_000 };
const ASKS_FOR_TLS = /\btls\b|starttls|encrypt/i;

/**
 * The reason for a message that went in clear because TLS had failed, and that the server refused for
 * that (RFC 3207 §4: 530): nothing of the message, and TLS may work the next time. Null: it is not so.
 */
export function explainMissingTls(
  session: SmtpSession,
  policy: TlsPolicy,
  result: SendResult,
  hear: (refusal: Extract<SendResult, { kind: "refused" }>) => OwnReply,
): string | null {
  const isAvoided = session.tls === null && session.capabilities.hasStartTls && policy.mode === "opportunistic";
  if (!isAvoided || result.kind !== "refused" || result.reply.code < 500) return null;
  if (result.stage !== "mail" && result.stage !== "rcpt") return null;
  if (result.reply.code !== 530 && !ASKS_FOR_TLS.test(hear(result).words)) return null;
  return `TLS failed, and without it the server says: ${formatReply(result.reply)}`;
}
