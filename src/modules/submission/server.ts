// The ports where programs hand in mail (RFC 6409): with STARTTLS, and with TLS from the first byte (RFC 8314). This file has
// the sockets; SMTP itself is the library's, and session.ts decides. These ports take no bounces, and the port for bounces
// takes no password.

import { createServer, type Server, type Socket } from "node:net";
import { SMTPServer, type SMTPServerSession } from "smtp-server";
import { getNetwork, type HostPort } from "../../platform/ip/address.ts";
import { isBesideIPv4, withoutMissingIPv6 } from "../../platform/ip/both-families.ts";
import type { CertificateSource } from "../../platform/served-certificate.ts";
import { bind } from "../../protocols/smtp/server/bind.ts";
import { Client } from "../../protocols/smtp/server/client.ts";
import { GO_WITHIN_MS, TurnedAway } from "../../protocols/smtp/server/turned-away.ts";
import { WaitUntil } from "../../protocols/smtp/server/wait-until.ts";
import { AUTH_FIRST, createRewording, STOPPING } from "./replies.ts";
import { type SessionDeps, SubmissionSession, type Submitter } from "./session.ts";

export interface SubmissionDeps extends SessionDeps {
  listen: HostPort[];
  listenTls: HostPort[];
  hostname: string;
  certificate: CertificateSource;
}

/** Dummies and commands of proxies. */
const DISABLED = ["XCLIENT", "XFORWARD", "HELP", "WIZ", "SHELL", "KILL"];

interface Port {
  smtp: SMTPServer;
  listener: Server;
}

interface Connected extends Submitter {
  isSecure: boolean;
}

/** Starts to listen. Throws StartError when an address cannot be had. */
export async function startSubmission(deps: SubmissionDeps): Promise<SubmissionServer> {
  const server = new SubmissionServer(deps);
  try {
    await server.open();
  } catch (error) {
    await server.stop(0);
    throw error;
  }
  return server;
}

export class SubmissionServer {
  /** Where it listens, 127.0.0.1:2587. */
  readonly addresses: string[] = [];
  readonly tlsAddresses: string[] = [];
  readonly #deps: SubmissionDeps;
  readonly #session: SubmissionSession;
  readonly #ports: Port[] = [];
  /** By their session's id, the oldest first. */
  readonly #clients = new Map<string, Connected>();
  readonly #ofNetwork = new Map<string, number>();
  readonly #turnedAway: TurnedAway;
  readonly #leaving: WaitUntil;
  readonly #endFollow: () => void;
  #lastId = 0;
  #isStopping = false;

  constructor(deps: SubmissionDeps) {
    this.#deps = deps;
    this.#session = new SubmissionSession(deps);
    this.#turnedAway = new TurnedAway(deps.clock, deps.limits.refusedAtOnce);
    this.#leaving = new WaitUntil(deps.clock);
    this.#endFollow = deps.certificate.follow((pair) => {
      for (const { smtp } of this.#ports) smtp.updateSecureContext(pair);
    });
  }

  get clientCount(): number {
    return this.#clients.size;
  }

  async open(): Promise<void> {
    const { listen, listenTls } = this.#deps;
    this.addresses.push(...(await this.#openPorts(listen, "starttls")));
    this.tlsAddresses.push(...(await this.#openPorts(listenTls, "implicit")));
  }

  /** Takes no more clients, and resolves when those whose message is under way have their reply, `graceMs` later at the most. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    this.#endFollow();
    for (const { listener } of this.#ports) listener.close();
    for (const { client } of this.#clients.values()) client.endAfterReply(STOPPING);
    if (graceMs > 0) {
      await this.#leaving.wait(graceMs, () => ![...this.#clients.values()].some(({ client }) => client.isBusy));
      await this.#leaving.wait(Math.min(graceMs, GO_WITHIN_MS), () => this.#clients.size === 0);
    }
    for (const { client } of this.#clients.values()) client.destroy();
    this.#turnedAway.destroy();
  }

  async #openPorts(all: HostPort[], tls: "starttls" | "implicit"): Promise<string[]> {
    const opened: string[] = [];
    for (const at of withoutMissingIPv6(all))
      opened.push(await this.#openPort({ ...at, isOnlyIPv6: isBesideIPv4(at, all) }, tls));
    return opened;
  }

  async #openPort(at: HostPort & { isOnlyIPv6: boolean }, tls: "starttls" | "implicit"): Promise<string> {
    const smtp = this.#createSmtp(tls);
    const listener = createServer((socket) => this.#admit(socket, smtp));
    this.#ports.push({ smtp, listener });
    const key = tls === "starttls" ? "[submission] listen" : "[submission] listen_tls";
    const address = await bind(listener, at, {
      use: "where programs hand in mail",
      key,
      isList: true,
      off: `${key} = [] closes it`,
    });
    listener.on("error", (error) => this.#deps.log.error("submission listener", error));
    return address;
  }

  #createSmtp(tls: "starttls" | "implicit"): SMTPServer {
    const { hostname, limits, certificate, mayAuthenticateInClear } = this.#deps;
    const smtp = new SMTPServer({
      name: hostname,
      heloResponse: "%s",
      size: limits.messageBytes,
      // Else the size is announced and no more.
      rejectOversized: true,
      maxRecipients: limits.recipients,
      maxCommandLength: limits.commandBytes,
      socketTimeout: limits.silenceMs,
      secure: tls === "implicit",
      needsUpgrade: tls === "implicit",
      authMethods: ["PLAIN", "LOGIN"],
      authRequiredMessage: AUTH_FIRST,
      allowInsecureAuth: mayAuthenticateInClear,
      // Libraries upgrade where they can, and none trusts the sandbox's certificate.
      hideSTARTTLS: mayAuthenticateInClear,
      maxAllowedUnauthenticatedCommands: 20,
      // Programs give whatever their machine is called, and it is not used.
      lenientAddressParsing: true,
      disabledCommands: DISABLED,
      disableReverseLookup: true,
      hideENHANCEDSTATUSCODES: true,
      hideDSN: true,
      hideREQUIRETLS: true,
      logger: false,
      ...certificate.pair,
      onConnect: (session, done) => {
        this.#allow(session);
        done();
      },
      onSecure: (socket, session, done) => {
        const connected = this.#clients.get(session.id);
        if (connected !== undefined && !connected.isSecure) {
          connected.isSecure = true;
          connected.client.secured(socket);
          // RFC 3207 §4.2: what was said before is forgotten.
          connected.key = null;
          connected.caller = null;
        }
        this.#allow(session);
        done();
      },
      onAuth: (given, session, done) => {
        const connected = this.#clients.get(session.id);
        const why = connected === undefined ? null : this.#session.authenticate(given, connected);
        if (why !== null) done(why);
        else done(null, { user: connected?.caller?.keyId ?? 0 });
      },
      // Not at once: the library goes on after a message in continue(), which at its end forgets a next message that has
      // ended meanwhile, and the session would hang.
      onMailFrom: (_, session, done) =>
        queueMicrotask(() =>
          this.#withClient(session, (submitter) => this.#session.beginMessage(session, submitter, done)),
        ),
      onRcptTo: (recipient, session, done) =>
        this.#withClient(session, (submitter) => done(this.#session.addRecipient(recipient, submitter))),
      onData: (stream, session, done) =>
        this.#withClient(session, (submitter) =>
          this.#session.receive(stream, { session, submitter }, (why, words) => {
            done(why, words);
            this.#leaving.changed();
          }),
        ),
      onClose: (session) => this.#forget(session.id),
    });
    // Clients that break off, or fail the handshake: nothing can be done about it here.
    smtp.on("error", () => undefined);
    return smtp;
  }

  /** AUTH is only offered where a password may go. */
  #allow(session: SMTPServerSession): void {
    const mayAuthenticate = session.secure || this.#deps.mayAuthenticateInClear;
    (session as SMTPServerSession & { disabledCommands?: string[] }).disabledCommands = mayAuthenticate
      ? DISABLED
      : [...DISABLED, "AUTH"];
  }

  /** Without its client the connection has ended. */
  #withClient({ id }: SMTPServerSession, use: (submitter: Submitter) => void): void {
    const connected = this.#clients.get(id);
    if (connected !== undefined) use(connected);
  }

  #admit(socket: Socket, smtp: SMTPServer): void {
    const address = socket.remoteAddress ?? "";
    const network = getNetwork(address) ?? address;
    const { limits, clock, mayAuthenticateInClear } = this.#deps;
    if (this.#isStopping) return this.#turnAway(socket, STOPPING);
    if ((this.#ofNetwork.get(network) ?? 0) >= limits.clientsPerAddress)
      return this.#turnAway(socket, "4.7.0 Too many connections from your address, come back later");
    if (this.#clients.size >= limits.clients && !this.#makeRoom())
      return this.#turnAway(socket, "4.3.2 Too many connections, come back later");
    const id = String(++this.#lastId);
    this.#count(network, 1);
    const place = { release: once(() => this.#count(network, -1)) };
    const connected: Connected = {
      client: new Client({
        place,
        socket,
        clock,
        limits,
        gone: () => this.#forget(id),
        reword: createRewording(limits, () => connected.isSecure || mayAuthenticateInClear),
      }),
      network,
      key: null,
      caller: null,
      isSecure: false,
    };
    this.#clients.set(id, connected);
    smtp.connect(socket, { id });
    for (const connection of smtp.connections) if (connection.id === id) connected.client.follow(connection);
  }

  /** A client that has been there longest without a password goes for one that may have one. False: too many are still going. */
  #makeRoom(): boolean {
    const { clients, refusedAtOnce } = this.#deps.limits;
    if (this.#clients.size >= clients + refusedAtOnce) return false;
    for (const { caller, client } of this.#clients.values()) {
      if (caller !== null || client.isEnding) continue;
      client.end("4.7.0 Authenticate sooner: others wait for this place");
      client.place.release();
      return true;
    }
    return false;
  }

  #turnAway(socket: Socket, words: string): void {
    this.#deps.counts.refused(421);
    this.#turnedAway.add(socket, `421 ${words}`);
  }

  #count(network: string, by: 1 | -1): void {
    const count = (this.#ofNetwork.get(network) ?? 0) + by;
    if (count === 0) this.#ofNetwork.delete(network);
    else this.#ofNetwork.set(network, count);
  }

  #forget(id: string): void {
    this.#clients.get(id)?.client.forget();
    this.#clients.delete(id);
    this.#leaving.changed();
  }
}

function once(run: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    run();
  };
}
