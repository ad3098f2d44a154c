import {
  classifyBroken,
  classifyReply,
  classifyUnfit,
  type Verdict,
} from "../../../protocols/smtp/replies/classify.ts";
import type { Stage } from "../../../protocols/smtp/replies/stage.ts";
import {
  classifyRelayBroken,
  classifyRelayed,
  classifyRelayUnfit,
  type RelayVerdict,
} from "../../../protocols/smtp/replies/classify-relay.ts";
import type { Heard } from "../../../protocols/smtp/replies/remove-echo.ts";
import type { Access } from "../../../protocols/smtp/session-pool.ts";
import { formatReply, shorten } from "../../../protocols/smtp/replies/reply.ts";
import type { SendResult } from "../../../protocols/smtp/session/transaction.ts";
import { describeTransmission, type Transmission } from "../../../protocols/smtp/transmit.ts";

// A relay: a server of the operator's choice that takes mail of some sending domains, or of all, in
// place of the recipients' own. What it accepts is sent and not yet delivered; what it refuses for
// good bounces, but suppresses nobody; and when it does not let us in, the email waits, since that is
// the operator's to mend.

export interface Relay {
  host: string;
  /** Host and port, for people. */
  name: string;
  /** Under which its sessions are limited and its health is known. */
  site: string;
  /** The sending domains whose mail it takes; none = of all that no other relay takes. */
  domains: readonly string[];
  access: Access;
}

/** The relay for the mail of a sending domain (lower-case A-label); null = straight to the recipient's server. */
export type FindRelay = (senderDomain: string) => Relay | null;

export function relayFinder(relays: readonly Relay[]): FindRelay {
  const named = new Map(relays.flatMap((relay) => relay.domains.map((domain) => [domain, relay] as const)));
  const others = relays.find(({ domains }) => domains.length === 0) ?? null;
  return (senderDomain) => named.get(senderDomain) ?? others;
}

/** What became of a message that was not accepted. */
export interface RelayOutcome {
  verdict: Verdict;
  /** For people. */
  reason: string;
  /** Some server that stands for the destination answered. */
  isReached: boolean;
}

/** `relay` null: the message went straight to the recipient's server. */
export function classify(transmission: Transmission, relay: Relay | null): RelayOutcome {
  const { result } = transmission;
  // Also where the server could not take the message, as it told what it offers.
  const isReached = transmission.isReached || result.kind !== "broken";
  if (relay === null)
    return { verdict: verdictOn(transmission), reason: describeTransmission(transmission), isReached };
  const { isOurTrouble, ...verdict } = verdictOnRelayed(transmission);
  const reason = describeRelayed(transmission, relay, isOurTrouble);
  // A relay that does not let us in is left in peace like one that does not answer: many lock out who knocks too often.
  return { verdict, reason, isReached: isReached && verdict.category !== "auth_failed" };
}

function verdictOn({ result, heard }: Transmission): Verdict {
  if (result.kind === "broken") return classifyBroken(result.stage);
  if (result.kind === "unfit") return classifyUnfit(result.enhanced);
  return classifyReply(...refusalIn(result, heard));
}

function verdictOnRelayed({ result, heard }: Transmission): RelayVerdict {
  if (result.kind === "broken") return classifyRelayBroken(result.stage);
  if (result.kind === "unfit") return classifyRelayUnfit(result.stage, result.enhanced);
  return classifyRelayed(...refusalIn(result, heard));
}

function refusalIn(result: SendResult, heard: Heard | null): [Heard, Stage] {
  if (result.kind === "accepted" || heard === null) throw new Error("an accepted message is not judged");
  return [heard, result.stage];
}

const UNREACHED = new Set<Stage>(["connect", "greeting"]);
const MAX_REASON = 512;

function describeRelayed(transmission: Transmission, relay: Relay, isOurTrouble: boolean): string {
  const { result } = transmission;
  if (result.kind === "broken") {
    const { stage, reason } = result;
    if (UNREACHED.has(stage)) return shorten(`the relay ${relay.name} could not be reached: ${reason}`, MAX_REASON);
    return shorten(`${reason} (relay ${relay.name})`, MAX_REASON);
  }
  if (!isOurTrouble) return describeTransmission(transmission);
  const cure =
    relay.access.credentials === null
      ? "set username and password of this relay under [[relay]] in the configuration, or have it accept this server"
      : "check username and password of this relay under [[relay]] in the configuration";
  const end = ` (relay ${relay.name}); ${cure}`;
  const said = "reply" in result ? formatReply(result.reply) : `not signed in: ${result.reason}`;
  return shorten(said, MAX_REASON - end.length) + end;
}
