/**
 * One attempt at one message: an idle session of the site if there is one, else the hosts of the
 * route in their order (R6), until somebody has the last word.
 *
 * An answer to MAIL or later is final, and so is a connection lost after the dot (R28), and a 421
 * (R25: no rush to the next MX). A refused greeting or EHLO goes on to the next host (R14); a connection
 * that fails or breaks goes on to the next address; a handshake that fails is tried again in clear on the
 * same host where policy allows (R17). At most 5 addresses and 2 hosts that answered (R6). When nobody has
 * the last word, the most telling failure is the result: a server's refusal, else the last break.
 */
import type { Stage } from "./replies/stage.ts";
import { removeEcho, type OwnReply, type SentMessage } from "./replies/remove-echo.ts";
import { formatReply, type Reply, shorten } from "./replies/reply.ts";
import type { ExpiringNames } from "./expiring-names.ts";
import type { EgressFault } from "./session/connection.ts";
import type { Access, SessionPool, WayOut } from "./session-pool.ts";
import type { PreparedContent } from "./session/content.ts";
import type { Envelope, SendResult, SmtpSession } from "./session/session.ts";
import type { Dialogue } from "./session/transcript.ts";
import type { TlsMode, Unopened } from "./session/greeting.ts";
import { explainMissingTls, type TlsFailure, type TlsPolicy, WITHOUT_TLS_MS } from "./tls-policy.ts";

const MAX_DESCRIPTION = 512;
const MAX_ADDRESSES = 5;
const MAX_SESSIONS = 2;
/** How long an address that could not be connected to is tried last (RFC 5321 §4.5.4.1 suggests such a list). */
export const UNREACHABLE_MS = 10 * 60_000;

/** Where to: hosts in the order to try, each with its addresses in the order to try. */
export interface Destination {
  hosts: { name: string; addresses: string[] }[];
  /** With an egress its name is part of it: what a site thinks of us is about an address. */
  site: string;
  /** Of a relay; absent: as any MX is reached. */
  access?: Access;
  /** Absent: by the pool's own addresses. */
  egress?: WayOut;
  /** How many messages its site bears over one session; absent or null: any number (R31). */
  messagesPerSession?: number | null;
}

export interface Mail {
  envelope: Envelope;
  /** The parts of the header that somebody has chosen. */
  header: SentMessage["header"];
  /** CRLF lines, not dot-stuffed; or prepared elsewhere. */
  content: Uint8Array | PreparedContent;
  /** Records durably that the dot will be sent. May run again for a later host, if the first broke before its dot. */
  beforeDot: () => Promise<void>;
  /** Ends the attempt at once; a message after its dot ends as an unknown outcome. */
  signal?: AbortSignal;
  follower?: Follower | undefined;
  /** Its dialogue is kept although it is accepted. */
  keepsDialogue?: boolean | undefined;
}

/** Hears of an attempt as it happens. Must not throw. */
export interface Follower {
  /** When the attempt began, by the clock of the pool's sessions: its dialogue is dated from then. */
  readonly since: number;
  connecting(target: Pick<ConnectionAttempt, "host" | "address" | "isReused">, dialogue: Dialogue): void;
  /** The connection brought no answer to go by. */
  broken(reason: string): void;
}

/** One connection made or tried, for the timeline. */
export interface ConnectionAttempt {
  host: string;
  address: string;
  /** A session that was idle, left by an earlier message. */
  isReused: boolean;
  tls: SmtpSession["tls"];
  policy: TlsPolicy;
  result: SendResult;
  /** The transcript; null: the message was accepted, and it is not kept. */
  dialogue: string | null;
  /** Unix ms. */
  endedAt: number;
}

/** The result of an attempt, for its record. */
export interface Transmission {
  result: SendResult;
  /** Of the connection that `result` is about; null when the route had no address. */
  host: string | null;
  address: string | null;
  tls: SmtpSession["tls"];
  policy: TlsPolicy | null;
  /** A server answered the envelope, on any of the tries (`sentAt`). */
  isReached: boolean;
  /** The dot was sent and no answer came (R28). */
  isOutcomeUnknown: boolean;
  /** The server's answer behind `result`, as it is shown. */
  lastReply: Reply | null;
  /** The same as it may be judged, where it is a refusal. */
  heard: OwnReply | null;
  /** In the order made. */
  tries: ConnectionAttempt[];
}

interface Attempt {
  pool: SessionPool;
  destination: Destination;
  mail: Mail;
  tries: ConnectionAttempt[];
}

/** Sends one message to one destination. Never throws for what a network or a server does. */
export async function deliverVia(pool: SessionPool, destination: Destination, mail: Mail): Promise<Transmission> {
  const attempt: Attempt = { pool, destination, mail, tries: [] };
  if (!(await sendOverIdle(attempt))) await walkHosts(attempt);
  return summarizeAttempt(attempt);
}

/** True when the attempt is over. */
async function sendOverIdle(attempt: Attempt): Promise<boolean> {
  const first = attempt.destination.hosts[0];
  if (first === undefined) return true;
  const policy = findPolicy(attempt, first.name);
  const session = attempt.pool.acquire(getSessionKey(attempt, policy));
  if (session === null) return false;
  const { host, address, tls } = session;
  // Nobody hears what was said about the message before.
  session.dialogue.beginMessage();
  attempt.mail.follower?.connecting({ host, address, isReused: true }, session.dialogue);
  const result = await sendOver(attempt, session, policy);
  const dialogue = writeDialogue(attempt, result, session.dialogue);
  attempt.tries.push({ host, address, isReused: true, tls, policy, result, dialogue, endedAt: attempt.pool.now() });
  // A server may end an idle session, or one with enough messages, just as MAIL is on its way.
  // That says nothing about the site: a fresh connection gets the word.
  if (result.kind === "refused" && result.stage === "mail" && result.reply.code === 421) return false;
  return isFinal(result);
}

async function walkHosts(attempt: Attempt): Promise<void> {
  const hosts = putReachableFirst(attempt.destination.hosts, attempt.pool.unreachable);
  let addresses = 0;
  let sessions = 0;
  for (const [at, host] of hosts.entries()) {
    for (const [nth, address] of host.addresses.entries()) {
      const isLast = addresses === MAX_ADDRESSES - 1 || (at === hosts.length - 1 && nth === host.addresses.length - 1);
      const result = await tryAddress(attempt, { host: host.name, address, isLast });
      addresses += 1;
      if (hasAnswered(result)) {
        sessions += 1;
        attempt.pool.unreachable.delete(address);
      } else if (attempt.mail.signal?.aborted !== true && findEgressFault(result) === null)
        attempt.pool.unreachable.add(address, UNREACHABLE_MS);
      // By a proxy that does not work every other host would be missed in the same way.
      if (isFinal(result) || findEgressFault(result) === "proxy" || attempt.mail.signal?.aborted) return;
      if (addresses === MAX_ADDRESSES || sessions === MAX_SESSIONS) return;
      if (result.kind !== "broken") break;
    }
  }
}

/**
 * The hosts with those addresses last that are unreachable, and last of all the hosts that have no other, so that one
 * dead host of several costs its fellows' mail no wait. None is left out: where all are on the list, all are tried.
 */
export function putReachableFirst<T extends { addresses: string[] }>(hosts: T[], unreachable: ExpiringNames): T[] {
  const sorted = hosts.map((host) => {
    const dead = host.addresses.filter((address) => unreachable.has(address));
    if (dead.length === 0) return { host, isDead: false };
    const alive = host.addresses.filter((address) => !dead.includes(address));
    return { host: { ...host, addresses: [...alive, ...dead] }, isDead: alive.length === 0 };
  });
  return [...sorted.filter(({ isDead }) => !isDead), ...sorted.filter(({ isDead }) => isDead)].map(({ host }) => host);
}

async function tryAddress(
  attempt: Attempt,
  target: { host: string; address: string; isLast: boolean },
): Promise<SendResult> {
  const { pool, destination, mail } = attempt;
  const policy = findPolicy(attempt, target.host);
  const { access, egress } = destination;
  const { host, address } = target;
  const { follower } = mail;
  const begun = follower && ((dialogue: Dialogue) => follower.connecting({ host, address, isReused: false }, dialogue));
  const open = (tls: TlsMode) =>
    pool.open({ ...target, tls, access, egress, begun, ...(mail.signal === undefined ? {} : { signal: mail.signal }) });
  const note = (result: SendResult, tls: SmtpSession["tls"], said: Dialogue | null) => {
    const dialogue = writeDialogue(attempt, result, said);
    attempt.tries.push({ host, address, isReused: false, tls, policy, result, dialogue, endedAt: pool.now() });
    return result;
  };
  const mode = policy.mode === "opportunistic" && pool.withoutTls.has(target.host) ? "never" : policy.mode;
  let opened = await open(mode);
  const tlsFailure = mode === "opportunistic" && opened.kind !== "open" ? findTlsFailure(opened) : null;
  if (tlsFailure !== null && opened.kind !== "open") {
    note(failure(opened), null, opened.dialogue);
    opened = await open("never");
    // Only a host that does answer in clear has broken TLS; else it may have been the network.
    if (opened.kind === "open") pool.withoutTls.add(target.host, WITHOUT_TLS_MS[tlsFailure]);
  }
  if (opened.kind !== "open") return note(failure(opened), null, opened.dialogue);
  const { session } = opened;
  const result = await sendOver(attempt, session, policy);
  return note(result, session.tls, session.dialogue);
}

async function sendOver(attempt: Attempt, session: SmtpSession, policy: TlsPolicy): Promise<SendResult> {
  const { envelope, content, beforeDot, signal } = attempt.mail;
  const abort = () => session.destroy();
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted) abort();
  try {
    const result = await session.send(envelope, content, beforeDot);
    const missed = explainMissingTls(session, policy, result, (refusal) =>
      removeEchoFromRefusal(attempt.mail, refusal),
    );
    if (missed === null) return result;
    attempt.pool.withoutTls.delete(session.host);
    session.destroy();
    return { kind: "broken", stage: "starttls", reason: missed, isDotSent: false };
  } finally {
    signal?.removeEventListener("abort", abort);
    session.dialogue.unfollow();
    attempt.pool.release(getSessionKey(attempt, policy), session, attempt.destination.messagesPerSession);
  }
}

/** Accepted messages keep none, unless they are asked to: nobody asks about most of them. Also says why there was no answer. */
function writeDialogue({ mail }: Attempt, result: SendResult, said: Dialogue | null): string | null {
  if (result.kind === "broken" || result.kind === "unfit") mail.follower?.broken(result.reason);
  if (result.kind === "accepted" && mail.keepsDialogue !== true) return null;
  return said?.text(mail.follower?.since) ?? "";
}

function findPolicy({ pool, destination }: Attempt, host: string): TlsPolicy {
  return destination.access?.policy ?? pool.findTlsPolicy(host);
}

function getSessionKey({ pool, destination }: Attempt, policy: TlsPolicy): string {
  return pool.key(destination.site, policy, destination.access);
}

/** How TLS failed, where only TLS did. */
function findTlsFailure(opened: Unopened): TlsFailure | null {
  if (opened.kind === "broken") return opened.isTlsFailure ? "broken" : null;
  if (opened.kind === "unfit" || opened.stage !== "starttls" || opened.reply.code === 421) return null;
  return opened.reply.code < 500 ? "not_now" : "broken";
}

function failure(opened: Unopened): SendResult {
  const { stage } = opened;
  switch (opened.kind) {
    case "broken": {
      const { reason, egressFault } = opened;
      return { kind: "broken", stage, reason, isDotSent: false, ...(egressFault === undefined ? {} : { egressFault }) };
    }
    case "refused":
      return { kind: "refused", stage, reply: opened.reply, isReusable: false, envelopeReached: false };
    case "unfit":
      return { kind: "unfit", stage, reason: opened.reason, enhanced: opened.enhanced };
  }
}

function isFinal(result: SendResult): boolean {
  switch (result.kind) {
    case "accepted":
      return true;
    case "broken":
      // One that takes it slowly has it deferred: another address would take as long.
      return result.isDotSent || result.isSlow === true;
    case "unfit":
      // R21: another MX may offer SMTPUTF8. The size limit is final (R19).
      return result.enhanced !== "5.6.7";
    case "refused":
      return result.envelopeReached || result.reply.code === 421;
  }
}

/** Nobody was reached, by no fault of the site's. */
export function findEgressFault(result: SendResult): EgressFault | null {
  return result.kind === "broken" ? (result.egressFault ?? null) : null;
}

const UNANSWERED = new Set<Stage>(["connect", "greeting"]);

function hasAnswered(result: SendResult): boolean {
  return result.kind !== "broken" || !UNANSWERED.has(result.stage);
}

/** A server's refusal tells most, then a break; our own "not offered here" counts only if every host that was tried says so (R21). */
function weight(result: SendResult): number {
  if (result.kind === "unfit") return isFinal(result) ? 2 : 0;
  if (findEgressFault(result) !== null) return 0;
  return result.kind === "broken" ? 1 : result.kind === "refused" ? 2 : 3;
}

const ENVELOPE_ANSWERED = new Set<Stage>(["rcpt", "data", "block", "dot"]);

function isReached(result: SendResult): boolean {
  if (result.kind === "refused") return result.envelopeReached;
  if (result.kind === "unfit") return false;
  return result.kind === "accepted" || ENVELOPE_ANSWERED.has(result.stage);
}

function removeEchoFromRefusal(
  { envelope, header }: Mail,
  refusal: Extract<SendResult, { kind: "refused" }>,
): OwnReply {
  return removeEcho(refusal.reply, refusal.stage, { from: envelope.from, to: envelope.to, header });
}

function summarizeAttempt({ tries, mail }: Attempt): Transmission {
  const last = tries.at(-1);
  const told = last !== undefined && isFinal(last.result) ? last : mostTelling(tries);
  const result = told?.result ?? {
    kind: "broken",
    stage: "connect",
    reason: "no address to connect to",
    isDotSent: false,
  };
  return {
    result,
    host: told?.host ?? null,
    address: told?.address ?? null,
    tls: told?.tls ?? null,
    policy: told?.policy ?? null,
    isReached: tries.some((each) => isReached(each.result)),
    isOutcomeUnknown: result.kind === "broken" && result.isDotSent,
    lastReply: "reply" in result ? result.reply : null,
    heard: result.kind === "refused" ? removeEchoFromRefusal(mail, result) : null,
    tries,
  };
}

function mostTelling(tries: ConnectionAttempt[]): ConnectionAttempt | undefined {
  let best: ConnectionAttempt | undefined;
  for (const each of tries) {
    if (best === undefined || weight(each.result) >= weight(best.result)) best = each;
  }
  return best;
}

/** The server answered, and be it with what it offers: it stands there, whatever it takes. */
export function isAnswered(transmission: Transmission): boolean {
  return transmission.isReached || transmission.result.kind !== "broken";
}

/** One line for logs and records: `550 5.1.1 No such user (mx1.example.net)`, or in our words why there is no answer. */
export function describeTransmission(transmission: Transmission): string {
  const { result, host } = transmission;
  if (result.kind === "unfit") return shorten(`Not sent to ${host ?? "the server"}: ${result.reason}`, MAX_DESCRIPTION);
  const said = result.kind === "broken" ? result.reason : formatReply(result.reply);
  const where = host === null ? "" : ` (${host})`;
  return shorten(said, MAX_DESCRIPTION - where.length) + where;
}
