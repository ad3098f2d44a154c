// One client's messages: RCPT is routed (recipients.ts) → the raw bytes are read (content.ts) → `receive`,
// and 250 only when that has resolved, which is after the commit.

import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from "smtp-server";
import type { Context } from "../../../platform/context.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import type { Client } from "../../../protocols/smtp/server/client.ts";
import type { Place } from "./connection-limits.ts";
import { Content } from "./content.ts";
import type { Destination, InboundMessage, Receive } from "../inbound-message.ts";
import type { InboundLimits } from "./limits.ts";
import { FAULTS, type InboundCounts, refusal, type Refusals } from "./refusals.ts";
import { route, type RouteDeps } from "./recipients.ts";

export interface SessionDeps extends RouteDeps, Pick<Context, "clock" | "log"> {
  receive: Receive;
  /** Why nothing may be accepted now; null: it may. */
  blockedReason: () => string | null;
  counts: InboundCounts;
  refusals: Refusals;
  limits: InboundLimits;
}

export class InboundSession {
  readonly #deps: SessionDeps;
  /** Destinations of messages under way, as RCPT found them. */
  readonly #destinations = new WeakMap<SMTPServerAddress, Destination>();

  constructor(deps: SessionDeps) {
    this.#deps = deps;
  }

  /** Null: mail to this recipient is taken. */
  routeRecipient(recipient: SMTPServerAddress): Error | null {
    const { clock, log, refusals } = this.#deps;
    try {
      const routed = route(recipient.address, this.#deps, clock.now());
      if (typeof routed === "object") {
        this.#destinations.set(recipient, routed);
        return null;
      }
      refusals.recipient(routed);
      // The same reply for every unknown recipient, which says no more.
      return refusal(550, "There is no such mailbox here");
    } catch (error) {
      // A 550 would be believed for good.
      refusals.recipient("unavailable");
      if (!isStorageError(error)) log.error("inbound recipient", error);
      return refusal(451, "The mailbox cannot be looked up at the moment, come back later");
    }
  }

  /** Calls `done` once, after the final dot; not at all when the connection ends before. Null: the message is kept. */
  read(
    stream: SMTPServerDataStream,
    { session, client }: { session: SMTPServerSession; client: Client<Place> },
    done: (why: Error | null) => void,
  ): void {
    const { limits, refusals } = this.#deps;
    const content = new Content(limits, client.place);
    client.startsMessage();
    stream.on("data", (piece: Uint8Array) => {
      content.add(piece);
      if (content.receivedBytes <= limits.readOnBytes) return;
      const fault = content.fault ?? "too_large";
      refusals.message(fault);
      stream.removeAllListeners("data");
      stream.resume();
      const { code, enhanced, words } = FAULTS[fault];
      client.leave(code, `${enhanced} ${words}`);
    });
    // Broken off: nothing of it was taken, and nobody waits for a reply.
    stream.on("error", () => content.letGo());
    stream.on("close", () => {
      if (!stream.readableEnded) content.letGo();
    });
    stream.on("end", () => {
      client.waits();
      void this.#keep(content, session).then((why) => {
        client.isAnswered();
        done(why);
      });
    });
  }

  /** Never rejects. */
  async #keep(content: Content, session: SMTPServerSession): Promise<Error | null> {
    const { clock, limits, counts, log, refusals, blockedReason, receive } = this.#deps;
    const bytes = content.end();
    if (bytes === null) {
      const fault = content.fault ?? "bare_line_end";
      refusals.message(fault);
      const { code, words } = FAULTS[fault];
      return refusal(code, words);
    }
    if (blockedReason() !== null) {
      content.letGo();
      return this.#refuseForNow();
    }
    const message = this.#buildMessage(bytes, session);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const cancel = clock.after(limits.receiveMs, () => resolve(false));
    void Promise.try(() => receive(message))
      .then(
        () => resolve(true),
        // The receiver has logged why.
        () => resolve(false),
      )
      // Its memory counts as long as somebody works on it, also when nobody waits any more.
      .finally(() => content.letGo());
    const isKept = await promise;
    cancel();
    if (!isKept) return this.#refuseForNow();
    const kinds = [...new Set(message.destinations.map(({ kind }) => kind))];
    for (const kind of kinds) counts.message(kind);
    const { isTls: tls, clientAddress: client } = message;
    log.event("inbound.message", { for: kinds.join(" "), bytes: bytes.length, tls, client });
    return null;
  }

  #buildMessage(bytes: Uint8Array, session: SMTPServerSession): InboundMessage {
    const { mailFrom, rcptTo } = session.envelope;
    const destinations = new Map<string, Destination>();
    for (const recipient of rcptTo) {
      const destination = this.#destinations.get(recipient);
      if (destination !== undefined) destinations.set(JSON.stringify(destination), destination);
    }
    return {
      destinations: [...destinations.values()],
      envelopeFrom: mailFrom === false ? "" : mailFrom.address,
      clientAddress: session.remoteAddress,
      helo: session.hostNameAppearsAs,
      isTls: session.secure,
      receivedAt: this.#deps.clock.now(),
      bytes,
    };
  }

  #refuseForNow(): Error {
    this.#deps.refusals.message("unavailable");
    return refusal(451, "The message could not be kept, come back later");
  }
}
