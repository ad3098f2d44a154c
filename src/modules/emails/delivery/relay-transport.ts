// Mail that goes by a relay. An accepted message is sent and not yet delivered; a permanent refusal bounces, but
// suppresses nobody; and when the relay does not let us in, the email waits, since only the operator can mend that.

import type { DnsClient } from "../../../protocols/dns/client.ts";
import { findNamedHost } from "../../../protocols/smtp/mx-lookup.ts";
import { classifyRelayResult } from "../../../protocols/smtp/replies/classify.ts";
import { formatReply, shorten } from "../../../protocols/smtp/replies/reply.ts";
import type { Stage } from "../../../protocols/smtp/replies/stage.ts";
import { describeTransmission, isAnswered, type Transmission } from "../../../protocols/smtp/transmit.ts";
import type { Relay } from "./relays.ts";
import { deliverBySmtp, type SmtpDeliveryDeps } from "./smtp-delivery.ts";
import type { DeliveryHooks, OutgoingMessage, TransmissionFailure, Transport } from "./transport.ts";

const UNREACHED = new Set<Stage>(["connect", "greeting"]);
const MAX_REASON = 512;

export interface RelayTransportDeps extends SmtpDeliveryDeps {
  resolver: Pick<DnsClient, "forOwner">;
}

export function createRelayTransport(relay: Relay, deps: RelayTransportDeps): Transport {
  const { host, name, site, access } = relay;
  return {
    isDirect: false,
    siteFor: () => site,
    async deliver(message: OutgoingMessage, hooks: DeliveryHooks) {
      // Private addresses too: the operator named it. A name that is missing says nothing of any recipient.
      const found = await findNamedHost(host, deps.resolver.forOwner(message.workspaceId));
      if (found.kind === "temporary_failure") {
        const reason = `the relay ${name} could not be reached: ${found.reason}`;
        return { kind: "temporary_failure", reason, stage: "dns", category: "no_answer", badDomainAt: null };
      }
      hooks.running.note(() => `relay ${name}: ${host} [${found.addresses.join(", ")}]`);
      const destination = { hosts: [{ name: host, addresses: found.addresses }], site, access };
      const classify = (transmission: Transmission) => classifyByRelay(transmission, relay);
      return await deliverBySmtp({ destination, isDirect: false, classify }, message, hooks, deps);
    },
  };
}

export function classifyByRelay(transmission: Transmission, relay: Relay): TransmissionFailure {
  const { isAccessDenied, ...verdict } = classifyRelayResult(transmission.result, transmission.heard);
  return {
    verdict,
    reason: describeFailure(transmission, relay, isAccessDenied),
    // A relay that does not let us in is left in peace like one that does not answer: many lock out who knocks too often.
    isReached: isAnswered(transmission) && verdict.category !== "auth_failed",
  };
}

function describeFailure(transmission: Transmission, relay: Relay, isAccessDenied: boolean): string {
  const { result } = transmission;
  if (result.kind === "broken") {
    const { stage, reason } = result;
    if (UNREACHED.has(stage)) return shorten(`the relay ${relay.name} could not be reached: ${reason}`, MAX_REASON);
    return shorten(`${reason} (relay ${relay.name})`, MAX_REASON);
  }
  if (!isAccessDenied) return describeTransmission(transmission);
  const cure =
    relay.access.credentials === null
      ? "set username and password of this relay under [[relay]] in the configuration, or have it accept this server"
      : "check username and password of this relay under [[relay]] in the configuration";
  const end = ` (relay ${relay.name}); ${cure}`;
  const said = "reply" in result ? formatReply(result.reply) : `not signed in: ${result.reason}`;
  return shorten(said, MAX_REASON - end.length) + end;
}
