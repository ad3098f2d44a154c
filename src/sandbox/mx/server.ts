/**
 * The sandbox's MX: the receiving mail server on the other end of the real way, on loopback
 * only. It takes every message for every domain, offers STARTTLS, and keeps what it took in the
 * inbox. Steps of one message: RCPT (magic recipients are refused or deferred here) → DATA, up
 * to 25 MB → DKIM verified as a receiver would → kept once per recipient → 250. Nothing is
 * answered before it is kept; an error answers 451, so the sender comes back. What some magic
 * recipients send back afterwards is reporter.ts's matter.
 */
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { SMTPServer } from "smtp-server";
import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from "smtp-server";
import type { Clock } from "../../platform/clock.ts";
import { getErrorMessage } from "../../platform/errors.ts";
import { verifyMessage } from "../../protocols/dkim/verify.ts";
import type { DkimVerdict } from "../../protocols/dkim/verify.ts";
import type { Lookup } from "../../protocols/dns/client.ts";
import { summarize } from "./inbox.ts";
import type { DkimSummary, Inbox } from "./inbox.ts";
import { Greylist, findBehaviour } from "./magic-addresses.ts";
import type { Behaviour } from "./magic-addresses.ts";
import { readAuthorAndSubject } from "./parse.ts";
import type { Reported } from "./report.ts";

/** Largest message taken, bytes, announced as SIZE (RFC 1870). */
export const MAX_MESSAGE_BYTES = 25 * 1024 * 1024;
const MAX_CLIENTS = 500;
const MAX_RECIPIENTS = 100;
/** Longer than a sender keeps an idle connection for reuse. */
const IDLE_TIMEOUT_MS = 120_000;
/** How long connections may end by themselves at close; only this machine can be connected. */
const CLOSE_TIMEOUT_MS = 200;
const MAX_EVENT_FIELD = 120;
/** How long after the dot `slow@` is answered. */
const SLOW_ANSWER_MS = 5_000;

interface SandboxMxOptions {
  inbox: Inbox;
  /** TXT lookup that finds the DKIM keys: the sandbox's own DNS. */
  lookupTxt: (name: string) => Promise<Lookup<string>>;
  clock: Clock;
  /** Receives one line without control characters per event. */
  onEvent?: (line: string) => void;
  /** Told of each message for bounce-later@ and complaint@, once it was taken. */
  report?: (kind: "bounce" | "complaint", reported: Reported) => void;
  /** Address to listen on; loopback unless told otherwise. */
  host?: string;
  /** 0, the default, lets the system choose. */
  port?: number;
}

export interface SandboxMx {
  port: number;
  /** Ends all connections; slow answers that are still due go out first. Resolves when closed. */
  close(): Promise<void>;
}

/** Starts the MX. Rejects when the port cannot be bound. */
export async function startSandboxMx(options: SandboxMxOptions): Promise<SandboxMx> {
  const greylist = new Greylist();
  /** Answers that wait on purpose, and what ends the wait. */
  const slowAnswers = new Map<() => void, () => void>();
  const tlsProtocols = new WeakMap<SMTPServerSession, string>();
  const tell = (line: string) => options.onEvent?.(line);

  const server = new SMTPServer({
    ...SERVER_OPTIONS,
    onSecure(socket, session, callback) {
      const protocol = getTlsProtocol(socket);
      if (protocol !== null) tlsProtocols.set(session, protocol);
      callback();
    },
    onRcptTo(recipient, session, callback) {
      const refusal = findRefusal(recipient, session, greylist);
      if (refusal !== null) tell(`${refusal.responseCode} ${refusal.message} (${visible(recipient.address)})`);
      callback(refusal);
    },
    onData(stream, session, callback) {
      receive(stream, session, { ...options, tls: tlsProtocols.get(session) ?? null }).then(
        ({ line, isSlow, toReport }) => {
          tell(line);
          for (const { kind, reported } of toReport) options.report?.(kind, reported);
          const answer = () => {
            slowAnswers.delete(answer);
            callback(null, "2.6.0 Kept in the sandbox's inbox");
          };
          if (isSlow) slowAnswers.set(answer, options.clock.after(SLOW_ANSWER_MS, answer));
          else answer();
        },
        (error: unknown) => {
          tell(`451 message not kept: ${visible(getErrorMessage(error))}`);
          callback(refuse(451, "4.3.0 The sandbox could not keep the message"));
        },
      );
    },
  });
  // Also reached by a client that drops the connection or fails the handshake: not our fault,
  // but the one who looks at the terminal is its developer.
  server.on("error", (error: Error) => tell(`connection trouble: ${visible(error.message)}`));

  const listener = server.listen(options.port ?? 0, options.host ?? "127.0.0.1");
  await once(listener, "listening");
  return {
    port: (listener.address() as AddressInfo).port,
    close() {
      for (const [answer, cancel] of slowAnswers) {
        cancel();
        answer();
      }
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

// What remains slow is the library's: it greets 100 ms after a connection opens, to catch those
// who talk too soon. A sender that reuses its connections pays that once.
const SERVER_OPTIONS = {
  name: "mx.sandbox",
  banner: "pombo sandbox, takes every message",
  size: MAX_MESSAGE_BYTES,
  rejectOversized: true,
  disabledCommands: ["AUTH"],
  authOptional: true,
  disableReverseLookup: true,
  maxClients: MAX_CLIENTS,
  maxRecipients: MAX_RECIPIENTS,
  socketTimeout: IDLE_TIMEOUT_MS,
  closeTimeout: CLOSE_TIMEOUT_MS,
  // The library can only put its own code in front of a reply (451 is always 4.3.0), so the
  // codes are written in our texts instead.
  hideENHANCEDSTATUSCODES: true,
  // No key or certificate of ours: the certificate that comes with the library serves. Its key
  // is public, which costs nothing here: only this machine can connect, and a sender to an MX
  // does not ask who signed the certificate (RFC 7435: opportunistic). One made at start would
  // cost time and prove nothing more. `logger: false` also keeps the library's warning about
  // it from standard error.
  logger: false,
};

interface ToReport {
  kind: "bounce" | "complaint";
  reported: Reported;
}

const REPORTED: Partial<Record<Behaviour, ToReport["kind"]>> = { "bounce-later": "bounce", complaint: "complaint" };

function findRefusal(recipient: SMTPServerAddress, session: SMTPServerSession, greylist: Greylist) {
  const behaviour = findBehaviour(recipient.address);
  if (behaviour === "bounce") return refuse(550, "5.1.1 No such mailbox: bounce@ always bounces here");
  return behaviour === "defer" && greylist.mustComeBack(getReturnPath(session), recipient.address)
    ? refuse(451, "4.7.1 Greylisted: defer@ takes the message at the third try")
    : null;
}

/** A line for the terminal, and the reports that come back of what was taken. */
async function receive(
  stream: SMTPServerDataStream,
  session: SMTPServerSession,
  options: SandboxMxOptions & { tls: string | null },
) {
  const raw = await readMessage(stream);
  // `rejectOversized` answers 552 whatever is returned here.
  if (raw === null) return { line: "552 message over 25 MB refused", isSlow: false, toReport: [] };
  const verdicts = await verifyMessage(raw, options.lookupTxt, options.clock.now());
  // "none" stands for a message without any signature.
  const signatures = verdicts.filter((verdict) => verdict.result !== "none");
  const dkim = summarize(signatures);
  const { author, subject } = await readAuthorAndSubject(raw);
  const recipients = session.envelope.rcptTo.map((recipient) => recipient.address);
  for (const to of recipients) {
    options.inbox.add({
      envelopeFrom: getReturnPath(session),
      from: author,
      to,
      subject,
      receivedAt: options.clock.now(),
      tls: options.tls,
      dkim,
      signatures,
      raw,
    });
  }
  const line = [
    `received for ${visible(recipients.join(", "))}`,
    `"${visible(subject)}"`,
    options.tls ?? "no TLS",
    describeDkim(dkim, signatures),
  ].join("  ");
  const isSlow = recipients.some((to) => findBehaviour(to) === "slow");
  return { line, isSlow, toReport: listReports(recipients, getReturnPath(session), raw, options.clock.now()) };
}

/** RFC 5321 §4.5.5: nothing is sent back for a message from the null sender. */
function listReports(recipients: string[], returnPath: string, raw: Uint8Array, receivedAt: number): ToReport[] {
  if (returnPath === "") return [];
  return recipients.flatMap((recipient) => {
    const kind = REPORTED[findBehaviour(recipient)];
    return kind === undefined ? [] : [{ kind, reported: { returnPath, recipient, raw, receivedAt } }];
  });
}

/** The whole message, or null when it is over the limit; throws when the sender went away. */
async function readMessage(stream: SMTPServerDataStream): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    // Over the limit the rest is read, to keep in step with the sender, and let go.
    if (stream.sizeExceeded) chunks.length = 0;
    else chunks.push(chunk);
  }
  return stream.sizeExceeded ? null : Buffer.concat(chunks);
}

function describeDkim(dkim: DkimSummary, signatures: DkimVerdict[]): string {
  if (dkim === "none") return "DKIM none";
  const domains = [...new Set(signatures.map((signature) => signature.domain))];
  return `DKIM ${dkim} (${visible(domains.join(", "))})`;
}

function getReturnPath(session: SMTPServerSession): string {
  return session.envelope.mailFrom === false ? "" : session.envelope.mailFrom.address;
}

function getTlsProtocol(socket: Socket): string | null {
  return socket instanceof TLSSocket ? socket.getProtocol() : null;
}

function refuse(responseCode: number, text: string) {
  return Object.assign(new Error(text), { responseCode });
}

/** Text that cannot move the cursor or turn the reading direction of somebody's terminal. */
function visible(text: string): string {
  const clean = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "");
  return clean.length > MAX_EVENT_FIELD ? `${clean.slice(0, MAX_EVENT_FIELD)}…` : clean;
}
