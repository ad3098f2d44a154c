// One bind that is kept up: connect, bind, and when that ends, wait (reconnect-delay.ts) and begin anew, until `stop`.

import { Backoff, type Ending } from "./reconnect-delay.ts";
import type { Role } from "./session/bind.ts";
import { dial } from "./session/connect.ts";
import { SmppSession } from "./session/session.ts";
import type { SessionEnd, SessionEvents } from "./session/events.ts";
import type { LinkContext } from "./settings.ts";
import { hex } from "./pdu/status.ts";

export interface PersistentSessionOptions extends LinkContext {
  role: Role;
  /** Events of the session, but for its bind and its end: `bound` and `unbound`. */
  events: Omit<SessionEvents, "bound" | "closed">;
  bound(session: SmppSession): void;
  /** It is not bound any more, or could not be. Told after each attempt, also the last. */
  unbound(end: Unbound): void;
}

export interface Unbound {
  role: Role;
  reason: string;
  /** The status a bind was refused with, or null. */
  refusedWith: number | null;
  /** When it is tried again; null: never, we are closing. */
  retryInMs: number | null;
}

/** So many attempts in a row without a healthy time are worth somebody's attention. */
const ALERT_AFTER = 5;

export class PersistentSession {
  readonly #options: PersistentSessionOptions;
  readonly #backoff: Backoff;
  readonly #aborter = new AbortController();
  #session: SmppSession | null = null;
  /** Null while it is not bound. */
  #boundAt: number | null = null;
  #attempt = 0;
  #cancelRetry: (() => void) | null = null;

  constructor(options: PersistentSessionOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.unit);
  }

  get role(): Role {
    return this.#options.role;
  }

  /** Null while there is none; it may still be binding. */
  get session(): SmppSession | null {
    return this.#session;
  }

  get isBound(): boolean {
    return this.#boundAt !== null;
  }

  start(): void {
    void this.#connect();
  }

  /** No further attempt. A session that is there ends by its own `unbind` or `destroy`. */
  stop(): void {
    this.#cancelRetry?.();
    this.#aborter.abort();
  }

  async #connect(): Promise<void> {
    const dialled = await dial({ ...this.#options, attempt: this.#attempt++ }, this.#aborter.signal);
    if (dialled.kind === "failed") return this.#ended({ reason: dialled.reason, refused: null });
    // It may have been closed since, and that is reported once.
    if (dialled.socket.destroyed || this.#aborter.signal.aborted) {
      dialled.socket.destroy();
      return this.#ended({ reason: "the connection was lost", refused: null });
    }
    const events: SessionEvents = {
      ...this.#options.events,
      bound: () => this.#bound(),
      closed: (end) => this.#ended(end),
    };
    this.#session = new SmppSession({ ...this.#options, socket: dialled.socket, events });
  }

  #bound(): void {
    const { clock, log, settings, role } = this.#options;
    this.#boundAt = clock.now();
    log.event("smpp.bound", { link: settings.name, role });
    if (this.#session !== null) this.#options.bound(this.#session);
  }

  #ended({ reason, refused }: SessionEnd): void {
    const { clock, role } = this.#options;
    const ending: Ending =
      refused === null || refused.verdict === "trouble"
        ? { kind: "lost", boundMs: this.#boundAt === null ? 0 : clock.now() - this.#boundAt }
        : { kind: refused.verdict === "settings" ? "refused" : "lingering" };
    this.#session = null;
    this.#boundAt = null;
    const isOver = this.#aborter.signal.aborted;
    const retryInMs = isOver ? null : this.#backoff.after(ending);
    if (retryInMs !== null) {
      this.#logEnd(reason, refused, retryInMs);
      this.#cancelRetry = clock.after(retryInMs, () => void this.#connect());
    }
    this.#options.unbound({ role, reason, refusedWith: refused?.status ?? null, retryInMs });
  }

  #logEnd(reason: string, refused: SessionEnd["refused"], retryInMs: number): void {
    const { log, settings, role } = this.#options;
    const { failures } = this.#backoff;
    const isWorthAttention = refused?.verdict === "settings" || failures === ALERT_AFTER;
    log.event(
      "smpp.unbound",
      {
        link: settings.name,
        role,
        reason,
        status: refused === null ? null : hex(refused.status),
        attempts: failures,
        retryInS: Math.ceil(retryInMs / 1_000),
      },
      isWorthAttention ? "warn" : "info",
    );
  }
}
