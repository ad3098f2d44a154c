/**
 * The SMTP server for inbound mail: bounces to signed return paths, reports of complaints, and mail to postmaster and
 * abuse. No code here sends mail, and an unknown recipient is refused at RCPT, so this server can neither relay nor answer
 * strangers with bounces of its own.
 *
 * Steps: a place for the client (connection-limits.ts, client.ts) → the message is routed, read and stored (session.ts)
 * → 250 after the commit. An error of ours answers 451: the client keeps the message and tries again. This file has the
 * sockets; SMTP itself is the library's.
 */
import { createServer, type Server, type Socket } from "node:net";
import { SMTPServer, type SMTPServerSession } from "smtp-server";
import { getNetworks, type HostPort } from "../../../platform/ip/address.ts";
import type { CertificateSource } from "../../../platform/served-certificate.ts";
import { bind } from "../../../protocols/smtp/server/bind.ts";
import { Client } from "../../../protocols/smtp/server/client.ts";
import { GO_WITHIN_MS, TurnedAway } from "../../../protocols/smtp/server/turned-away.ts";
import { WaitUntil } from "../../../protocols/smtp/server/wait-until.ts";
import { InboundSession, type SessionDeps } from "./session.ts";
import { INBOUND_LIMITS, type InboundLimits } from "./limits.ts";
import { type Place, Places } from "./connection-limits.ts";
import { type ClientRefusal, refusal, Refusals } from "./refusals.ts";

export interface InboundDeps extends Omit<SessionDeps, "refusals" | "limits"> {
  listen: HostPort;
  certificate: CertificateSource;
  /** For whom places are kept free. */
  reporters: { timesHeard(address: string): number };
  /** Default: INBOUND_LIMITS. */
  limits?: InboundLimits;
}

const WORDS = {
  use: "where bounces and complaints come in",
  key: "[inbound] listen",
  off: '[inbound] listen = "" turns the inbound mail off',
};

/** Starts to listen. Throws StartError when the address cannot be had. */
export async function startInbound(deps: InboundDeps): Promise<Inbound> {
  const inbound = new Inbound(deps);
  await inbound.open();
  return inbound;
}

export class Inbound {
  /** Where it listens: "127.0.0.1:2525". */
  address = "";
  readonly #deps: InboundDeps;
  readonly #limits: InboundLimits;
  readonly #smtp: SMTPServer;
  readonly #listener: Server;
  /** By their session's id. */
  readonly #clients = new Map<string, Client<Place>>();
  readonly #turnedAway: TurnedAway;
  readonly #leaving: WaitUntil;
  readonly #intake: InboundSession;
  readonly #refusals: Refusals;
  readonly #places: Places;
  readonly #endFollow: () => void;
  #lastId = 0;
  #isStopping = false;

  constructor(deps: InboundDeps) {
    this.#deps = deps;
    this.#limits = deps.limits ?? INBOUND_LIMITS;
    this.#refusals = new Refusals(deps);
    this.#places = new Places(this.#limits);
    this.#turnedAway = new TurnedAway(deps.clock, this.#limits.refusedAtOnce);
    this.#leaving = new WaitUntil(deps.clock);
    this.#intake = new InboundSession({ ...deps, limits: this.#limits, refusals: this.#refusals });
    this.#smtp = new SMTPServer({
      name: deps.hostname,
      heloResponse: "%s",
      size: this.#limits.messageBytes,
      // Else the size is announced and no more.
      rejectOversized: true,
      maxRecipients: this.#limits.recipients,
      maxCommandLength: this.#limits.commandBytes,
      socketTimeout: this.#limits.silenceMs,
      // Nobody signs in here: what is let in is let in by its recipient. Dummies and proxies' commands go too.
      authOptional: true,
      disabledCommands: ["AUTH", "XCLIENT", "XFORWARD", "HELP", "WIZ", "SHELL", "KILL"],
      disableReverseLookup: true,
      hideENHANCEDSTATUSCODES: false,
      logger: false,
      ...deps.certificate.pair,
      onSecure: (socket, session, done) => {
        this.#clients.get(session.id)?.secured(socket);
        done();
      },
      // Not at once: the library goes on after a message in continue(), which at its end forgets a next message that has
      // ended meanwhile, and the session would hang.
      onMailFrom: (_, session, done) => queueMicrotask(() => done(this.#refuseMail(session))),
      onRcptTo: (recipient, _, done) => done(this.#intake.routeRecipient(recipient)),
      onData: (stream, session, done) => {
        const client = this.#clients.get(session.id);
        if (client === undefined) return;
        this.#intake.read(stream, { session, client }, (why) => {
          done(why, why === null ? "Taken" : undefined);
          this.#leaving.changed();
        });
      },
      onClose: (session) => this.#forget(session.id),
    });
    // Clients that break off, or fail the handshake: nothing can be done about it here.
    this.#smtp.on("error", () => undefined);
    this.#listener = createServer((socket) => this.#admit(socket));
    this.#endFollow = deps.certificate.follow((pair) => this.#smtp.updateSecureContext(pair));
  }

  /** Clients connected now. */
  get clientCount(): number {
    return this.#clients.size;
  }

  async open(): Promise<void> {
    try {
      this.address = await bind(this.#listener, this.#deps.listen, WORDS);
    } catch (error) {
      this.#endFollow();
      throw error;
    }
    this.#listener.on("error", (error) => this.#deps.log.error("inbound listener", error));
  }

  /** Takes no more clients, and resolves when those whose message is under way have their reply, `graceMs` later at the most. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    this.#endFollow();
    this.#listener.close();
    for (const client of this.#clients.values()) client.endAfterReply("4.3.2 This server is closing down");
    if (graceMs > 0) {
      await this.#leaving.wait(graceMs, () => ![...this.#clients.values()].some((client) => client.isBusy));
      await this.#leaving.wait(Math.min(graceMs, GO_WITHIN_MS), () => this.#clients.size === 0);
    }
    for (const client of this.#clients.values()) client.destroy();
    this.#turnedAway.destroy();
    this.#refusals.stop();
  }

  #admit(socket: Socket): void {
    const address = socket.remoteAddress ?? "";
    const origin = { networks: getNetworks(address), timesHeard: this.#deps.reporters.timesHeard(address) };
    const place: Place | ClientRefusal = this.#isStopping ? "stopping" : this.#places.take(origin);
    if (typeof place === "string") {
      this.#refusals.client(place);
      return this.#turnedAway.add(socket, `421 ${this.#deps.hostname} Too many connections, come back later`);
    }
    const id = String(++this.#lastId);
    const { clock } = this.#deps;
    const gone = () => this.#forget(id);
    const client = new Client({ place, socket, clock, limits: this.#limits, gone });
    this.#clients.set(id, client);
    this.#smtp.connect(socket, { id });
    for (const connection of this.#smtp.connections) if (connection.id === id) client.follow(connection);
  }

  #refuseMail(session: SMTPServerSession): Error | null {
    if (session.transaction > this.#limits.messages) return refusal(421, "Too many messages in one session");
    return this.#deps.blockedReason() === null
      ? null
      : refusal(451, "Nothing can be kept at the moment, come back later");
  }

  #forget(id: string): void {
    this.#clients.get(id)?.forget();
    this.#clients.delete(id);
    this.#leaving.changed();
  }
}
