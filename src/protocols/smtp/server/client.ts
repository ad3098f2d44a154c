import type { Socket } from "node:net";
import type { SMTPServer } from "smtp-server";
import type { Clock } from "../../../platform/clock.ts";

/** A connection as the library has it. */
type Connection = SMTPServer["connections"] extends Set<infer Each> ? Each : never;

/** Ends a connection that the client keeps open: the library ends most after five seconds. */
const END_WITHIN_MS = 10_000;

/** How much a client may ask of a server. Milliseconds, counts. */
export interface ClientLimits {
  commands: number;
  errors: number;
  /** From a reply to the end of the next command, however it drips in. */
  silenceMs: number;
  /** From the go-ahead to the final dot, or between two calls of keepsPace. */
  messageMs: number;
  /** Until it ends, or is let stay. */
  sessionMs: number;
}

/** A reply of the library: `context` is its own word for what it is about. */
export interface LibraryReply {
  code: number;
  text: string | string[] | null | undefined;
  context: string | false | undefined;
}

export interface ClientDeps<P extends { release(): void }> {
  /** Given back once the connection is gone. */
  place: P;
  socket: Socket;
  clock: Clock;
  limits: ClientLimits;
  /** Replaces what the library says; absent: it stays. */
  reword?: (reply: LibraryReply) => LibraryReply;
  /** Called when the connection had to be ended by force, whether or not it also emits its end. */
  gone: () => void;
}

/**
 * One connected client, and what it may still do: every reply is counted, and until the next it has its time.
 * The library knows neither, so its replies pass through here on their way.
 *
 * talking → (DATA) reading → (final dot) keeping → (reply) talking. A client that is to go gets its 421 at once while
 * talking or reading; while its message is being stored it gets that reply first, since the message may be durable by
 * then.
 */
export class Client<P extends { release(): void }> {
  readonly place: P;
  readonly #deps: ClientDeps<P>;
  readonly #sockets: Socket[];
  #connection: Connection | null = null;
  #phase: "talking" | "reading" | "keeping" = "talking";
  #replies = 0;
  #errors = 0;
  #isEnding = false;
  /** Said to it after the reply that it waits for. */
  #farewell: string | null = null;
  #cancelSilence = () => {};
  #cancelMessage = () => {};
  #cancelSession: () => void;
  #cancelEnd = () => {};

  constructor(deps: ClientDeps<P>) {
    const { place, socket, clock, limits } = deps;
    this.place = place;
    this.#deps = deps;
    this.#sockets = [socket];
    this.#cancelSession = clock.after(limits.sessionMs, () => this.end("4.4.2 This session has taken too long"));
  }

  /** Has the message, or the reply to it, still to come. */
  get isBusy(): boolean {
    return this.#phase !== "talking" && !this.#isEnding;
  }

  /** It is being dismissed. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** From now on the connection's replies are counted. */
  follow(connection: Connection): void {
    this.#connection = connection;
    const send = connection.send.bind(connection);
    connection.send = (code, text, context) => {
      const reply = { code, text, context };
      const said = this.#isEnding ? reply : (this.#deps.reword?.(reply) ?? reply);
      send(said.code, said.text, said.context);
      // RFC 5321 §4.5.3.1.10: a client may well name them all, and sends the others in another message.
      this.#count(said.code >= 400 && context !== "TOO_MANY_RECIPIENTS");
    };
  }

  /** It may stay as long as it says something. */
  stays(): void {
    this.#cancelSession();
    this.#cancelSession = () => {};
  }

  /** Its errors so far do not count: it does what it is here for. */
  forgetErrors(): void {
    this.#errors = 0;
  }

  /** TLS runs on top of the connection. */
  secured(socket: Socket): void {
    this.#sockets.unshift(socket);
  }

  /** DATA: the message comes now. */
  startsMessage(): void {
    this.#phase = "reading";
    this.#cancelSilence();
    this.#cancelMessage = this.#deps.clock.after(this.#deps.limits.messageMs, () => {
      this.end("4.4.2 This message has taken too long");
    });
  }

  /** Of the message that comes in so much has come that it may take its time again. */
  keepsPace(): void {
    if (this.#phase !== "reading") return;
    this.#cancelMessage();
    this.startsMessage();
  }

  /** The final dot has come. */
  waits(): void {
    this.#phase = "keeping";
    this.#cancelMessage();
  }

  /** The message is over: its reply is the next one. */
  isAnswered(): void {
    this.#cancelMessage();
    this.#phase = "talking";
  }

  /** Says that this is the end (421) and ends the connection, at once unless a message is being kept. */
  end(words: string): void {
    if (this.#phase === "keeping") this.#farewell = words;
    else this.leave(421, words);
  }

  /** The same, once the message that is under way has its reply. */
  endAfterReply(words: string): void {
    if (this.isBusy) this.#farewell = words;
    else this.leave(421, words);
  }

  /** Drops the connection. */
  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** The connection is gone. */
  forget(): void {
    this.#isEnding = true;
    this.place.release();
    this.#cancelSession();
    this.#cancelSilence();
    this.#cancelMessage();
    this.#cancelEnd();
  }

  #count(isError: boolean): void {
    if (this.#isEnding) return;
    this.#replies += 1;
    if (isError) this.#errors += 1;
    this.#cancelSilence();
    if (this.#farewell !== null) return this.leave(421, this.#farewell);
    if (this.#errors >= this.#deps.limits.errors) return this.leave(421, "4.7.0 Too many errors");
    if (this.#replies >= this.#deps.limits.commands) return this.leave(421, "4.7.0 Too many commands");
    if (this.#phase !== "talking") return;
    this.#cancelSilence = this.#deps.clock.after(this.#deps.limits.silenceMs, () => {
      this.leave(421, "4.4.2 Nothing was said for too long");
    });
  }

  /** Says these words and ends the connection at once. */
  leave(code: number, words: string): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    // `false`: the words begin with their enhanced code.
    this.#connection?.send(code, words, false);
    this.#connection?.close();
    this.#cancelEnd = this.#deps.clock.after(END_WITHIN_MS, () => {
      this.destroy();
      this.#deps.gone();
    });
  }
}
