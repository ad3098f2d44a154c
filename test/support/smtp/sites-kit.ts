import { PROVIDERS } from "../../../src/protocols/smtp/providers.ts";
import { removeEcho, type SentMessage } from "../../../src/protocols/smtp/replies/remove-echo.ts";
import { makeReply } from "../../../src/protocols/smtp/replies/reply.ts";
import { type SiteBlock, Sites } from "../../../src/protocols/smtp/sites.ts";
import type { Stage } from "../../../src/protocols/smtp/replies/stage.ts";
import type { SendResult } from "../../../src/protocols/smtp/session/session.ts";
import type { Transmission } from "../../../src/protocols/smtp/transmit.ts";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const SITE = "mx1.example.net,mx2.example.net";
/** Workspaces. */
export const SHOP = 1;
export const BANK = 2;
const TOLD: SentMessage = {
  from: "b+token@bounce.loja.test",
  to: "maria@example.net",
  header: { addresses: ["loja@loja.test"], texts: ["Your order is on its way today"] },
};

export function start(maxSessions = 20) {
  let now = 1_000_000;
  let setBackMs = 0;
  const told: [string, SiteBlock | null, number?][] = [];
  const sites = new Sites({
    clock: { now: () => now - setBackMs },
    steady: { now: () => now },
    maxSessions,
    rules: PROVIDERS,
    tell: (site, block, by) => told.push(by === null ? [site, block] : [site, block, by]),
  });
  const learn = (result: SendResult, site = SITE, by = SHOP) => sites.learn(site, by, transmission(result));
  return {
    sites,
    told,
    advance: (ms: number) => (now += ms),
    setBack: (ms: number) => (setBackMs += ms),
    accept: (site = SITE, by = SHOP) =>
      learn({ kind: "accepted", reply: makeReply(250, ["ok"]), isReusable: true }, site, by),
    fail: (site = SITE, stage: Stage = "connect") =>
      learn({ kind: "broken", stage, reason: "connection refused", isDotSent: false }, site),
    refuse: (code: number, text: string, stage: Stage = "rcpt", { site = SITE, by = SHOP } = {}) =>
      learn(
        {
          kind: "refused",
          stage,
          reply: makeReply(code, [text]),
          isReusable: false,
          envelopeReached: true,
        },
        site,
        by,
      ),
    /** How long the site is blocked from now on; 0: it is not. */
    blockedFor: (site = SITE, by: number | null = SHOP) => Math.max(0, (sites.findBlock(site, by)?.until ?? now) - now),
  };
}

export function transmission(result: SendResult): Transmission {
  const nothing = { host: "mx1.example.net", address: null, tls: null, policy: null, tries: [] };
  const lastReply = "reply" in result ? result.reply : null;
  const heard = result.kind === "refused" ? removeEcho(result.reply, result.stage, TOLD) : null;
  return { ...nothing, result, isReached: result.kind !== "broken", isOutcomeUnknown: false, lastReply, heard };
}
