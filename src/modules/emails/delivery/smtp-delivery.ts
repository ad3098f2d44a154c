// The part that both transports share once they know the hosts: memory for the message, its bytes and signature, a session slot,
// transmission. It is signed before a session is taken, so that sessions never wait for a signature.

import { freeOctets } from "../../../platform/free-octets.ts";
import type { Clock } from "../../../platform/clock.ts";
import { RowTaken } from "../../../platform/queue/job.ts";
import type { EgressFault } from "../../../protocols/smtp/session/connection.ts";
import type { SessionPool } from "../../../protocols/smtp/session-pool.ts";
import type { Slots } from "../../../platform/slots.ts";
import type { Sites } from "../../../protocols/smtp/sites.ts";
import { deliverVia, type Destination, findEgressFault, type Transmission } from "../../../protocols/smtp/transmit.ts";
import type { Composed } from "../content/compose.ts";
import type { EgressHealth } from "./egress-health.ts";
import type { MessageBudget } from "./message-budget.ts";
import type { DeliveryHooks, DeliveryResult, OutgoingMessage, TransmissionFailure } from "./transport.ts";

/** After such a wait for a session it is looked at again whether the email may still go. */
const LONG_WAIT_MS = 1_000;
/** A large message for which too many others wait already comes again after this. */
const MEMORY_PAUSE_MS = 10_000;

export interface SmtpDeliveryDeps {
  pool: SessionPool;
  slots: Slots;
  sites: Sites;
  egressHealth: EgressHealth;
  budget: MessageBudget;
  clock: Pick<Clock, "now">;
}

/** The hosts to try, and how their transport reads what they answer. */
export interface SmtpRoute {
  destination: Destination;
  isDirect: boolean;
  classify(transmission: Transmission): TransmissionFailure;
}

export async function deliverBySmtp(
  route: SmtpRoute,
  message: OutgoingMessage,
  hooks: DeliveryHooks,
  deps: SmtpDeliveryDeps,
): Promise<DeliveryResult> {
  const { site } = route.destination;
  hooks.locate(site);
  if (isHeldUp(site, message, deps)) return { kind: "not_started" };
  const waitsFrom = deps.clock.now();
  const freeMemory = await deps.budget.take(message.workspaceId, message.contentBytes, hooks.stopping);
  if (freeMemory === null)
    return hooks.stopping.aborted
      ? { kind: "not_started" }
      : { kind: "not_started", at: deps.clock.now() + MEMORY_PAUSE_MS };
  let composed: Composed | null = null;
  try {
    composed = await hooks.compose();
    if (composed.kind === "unsigned") {
      const { reason } = composed;
      return { kind: "temporary_failure", reason, stage: null, category: "unknown", badDomainAt: null };
    }
    hooks.running.note(() => "composed and signed");
    return await sendComposed({ route, message, composed, waitsFrom }, hooks, deps);
  } finally {
    // Large, and in no socket any more.
    if (composed?.kind === "signed" && composed.preparedBytes !== null) freeOctets(composed.message);
    freeMemory();
  }
}

/** The worker asks the same before it claims a row: this is for what was under way then. */
function isHeldUp(site: string, { workspaceId }: OutgoingMessage, { sites, egressHealth }: SmtpDeliveryDeps): boolean {
  return sites.findBlock(site, workspaceId) !== null || egressHealth.findPause(site) !== null;
}

type Signed = Extract<Composed, { kind: "signed" }>;

interface ReadyMessage {
  route: SmtpRoute;
  message: OutgoingMessage;
  composed: Signed;
  waitsFrom: number;
}

async function sendComposed(
  ready: ReadyMessage,
  hooks: DeliveryHooks,
  deps: SmtpDeliveryDeps,
): Promise<DeliveryResult> {
  const { route, message, waitsFrom } = ready;
  const { clock, sites, slots } = deps;
  const { site } = route.destination;
  const releaseSlot = await slots.take(site, hooks.stopping);
  if (releaseSlot === null) return { kind: "not_started" };
  try {
    if (isHeldUp(site, message, deps)) return { kind: "not_started" };
    if (clock.now() - waitsFrom > LONG_WAIT_MS) {
      const refusal = hooks.refuse();
      if (refusal !== null) return refusal;
    }
    sites.begin(site, message.workspaceId);
    const { transmission, envelopeAcceptedAt, isTaken } = await transmitVia(ready, hooks, deps);
    // A report ended the email before all of it was sent: its server is not to blame that we broke off.
    if (isTaken) return { kind: "not_started" };
    // Nobody was reached, by no fault of the site's: as if it had never been begun.
    if (findFault(transmission) !== null) return { kind: "not_started" };
    sites.learn(site, message.workspaceId, transmission);
    return {
      kind: "transmitted",
      isDirect: route.isDirect,
      transmission,
      failure: transmission.result.kind === "accepted" ? null : route.classify(transmission),
      isCutOff: hooks.cutOff.aborted,
      site,
      egress: route.destination.egress?.name ?? null,
      endedAt: clock.now(),
      envelopeAcceptedAt,
    };
  } finally {
    releaseSlot();
  }
}

/** Transmits, and learns from it whether the egress works. */
async function transmitVia(ready: ReadyMessage, hooks: DeliveryHooks, deps: SmtpDeliveryDeps) {
  const { egress, site } = ready.route.destination;
  if (egress === undefined) return await transmit(ready, hooks, deps);
  const { egressHealth } = deps;
  egressHealth.enter(egress.name);
  try {
    const transmitted = await transmit(ready, hooks, deps);
    const fault = findFault(transmitted.transmission);
    if (fault !== null && !hooks.cutOff.aborted) egressHealth.failed(egress.name, site, fault);
    return transmitted;
  } finally {
    egressHealth.leave(egress.name);
  }
}

/** Null: on some try a server was reached, or it is to blame that none was. */
function findFault({ result, tries }: Transmission): { kind: EgressFault; reason: string } | null {
  const kind = findEgressFault(result);
  if (kind === null || result.kind !== "broken" || tries.some((each) => findEgressFault(each.result) === null))
    return null;
  return { kind, reason: result.reason };
}

/** `isTaken`: broken off before its dot, as the email had come to its end meanwhile. */
async function transmit(ready: ReadyMessage, hooks: DeliveryHooks, { pool, sites, clock }: SmtpDeliveryDeps) {
  const { destination } = ready.route;
  const { envelope, header } = ready.message;
  const { message: composed, preparedBytes, needsSmtpUtf8, hasEightBit } = ready.composed;
  const content = preparedBytes === null ? composed : { stuffed: composed, bytes: preparedBytes };
  let envelopeAcceptedAt: number | null = null;
  let isTaken = false;
  // Not AbortSignal.any(): `cutOff` lives as long as the worker, and would keep each message's signal.
  const ending = new AbortController();
  const cutOff = () => ending.abort();
  hooks.cutOff.addEventListener("abort", cutOff, { once: true });
  if (hooks.cutOff.aborted) cutOff();
  try {
    const transmission = await deliverVia(
      pool,
      { ...destination, messagesPerSession: sites.messagesPerSession(destination.site) },
      {
        envelope: { ...envelope, needsSmtpUtf8, hasEightBit },
        header,
        content,
        async beforeDot() {
          envelopeAcceptedAt = clock.now();
          try {
            await hooks.markPointOfNoReturn();
          } catch (error) {
            isTaken = error instanceof RowTaken;
            // No other host is tried either.
            if (isTaken) ending.abort();
            throw error;
          }
        },
        signal: ending.signal,
        follower: hooks.running,
        keepsDialogue: hooks.keepsDialogue,
      },
    );
    return { transmission, envelopeAcceptedAt, isTaken };
  } finally {
    hooks.cutOff.removeEventListener("abort", cutOff);
  }
}
