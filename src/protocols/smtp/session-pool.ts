/**
 * The sessions that wait for a next message, and the way new ones are opened. A session is kept
 * per site, TLS policy, source address and access (a relay's), 5 s idle and 300 s in all (R30): a limit of time and
 * not of messages, as a limit by count gathers the traffic at the slowest MX. One timer serves all
 * idle sessions; it is set for the first to expire. A caller that acquires a session owns it until it is
 * released or destroyed.
 */
import { isIPv6 } from "node:net";
import type { Clock } from "../../platform/clock.ts";
import { ExpiringNames } from "./expiring-names.ts";
import type { Dial } from "../socks5/dial.ts";
import { openSession, type OpenResult, type SmtpSession } from "./session/session.ts";
import type { Submission, TlsMode } from "./session/greeting.ts";
import type { SessionTimeouts } from "./session/timeouts.ts";
import type { Dialogue } from "./session/transcript.ts";
import { tlsPolicy, type FindTlsPolicy, type TlsPolicy } from "./tls-policy.ts";

export const IDLE_MS = 5_000;
export const SESSION_LIFE_MS = 300_000;
const MAX_IDLE_SESSIONS = 500;
/** R13: where no other host is left, the greeting may take as long as RFC 5321 asks. */
const LAST_GREETING_MS = 300_000;

export interface PoolOptions {
  /** Measures how long sessions take and live; should not jump. */
  clock: Clock;
  /** Dates what came of an attempt; default: `clock`. */
  wall?: Pick<Clock, "now">;
  heloName: string;
  /** The source IPv4 address, or null for the system's choice. */
  localAddress: string | null;
  /** The same for IPv6. */
  localIpv6?: string | null;
  /** Of every site without an access of its own: 25 everywhere but in tests. */
  port: number;
  timeouts: SessionTimeouts;
  findTlsPolicy?: FindTlsPolicy;
  maxIdle?: number;
}

/** How a site is reached where the operator says so, instead of as any MX: a relay. */
export interface Access extends Submission {
  /** Tells its sessions from those with other credentials at the same site; holds no secret. */
  id: string;
  port: number;
  policy: TlsPolicy;
}

/** Where sessions leave from, other than by the pool's own addresses. */
export interface WayOut {
  name: string;
  heloName: string;
  /** The source IPv4 address; null: `dial` decides. */
  localAddress: string | null;
  dial?: Dial;
}

interface Idle {
  session: SmtpSession;
  /** Unix ms. */
  expiresAt: number;
}

export class SessionPool {
  /** Hosts whose TLS failed (R17). */
  readonly withoutTls: ExpiringNames;
  /** Addresses that could not be connected to just now. */
  readonly unreachable: ExpiringNames;
  readonly findTlsPolicy: FindTlsPolicy;
  readonly #options: PoolOptions;
  readonly #idle = new Map<string, Idle[]>();
  readonly #closings = new Set<Promise<void>>();
  #idleCount = 0;
  #isClosed = false;
  #timerAt = Infinity;
  #cancelTimer: (() => void) | null = null;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.withoutTls = new ExpiringNames(options.clock);
    this.unreachable = new ExpiringNames(options.clock);
    this.findTlsPolicy = options.findTlsPolicy ?? tlsPolicy;
  }

  get idleCount(): number {
    return this.#idleCount;
  }

  /** By the clock of its sessions. */
  get steadyNow(): number {
    return this.#options.clock.now();
  }

  /** Unix ms. */
  now(): number {
    return (this.#options.wall ?? this.#options.clock).now();
  }

  /** Under which sessions to one site are interchangeable (R12, R30). */
  key(site: string, policy: TlsPolicy, access?: Access): string {
    return `${site} ${policy.mode} ${this.#options.localAddress ?? "*"} ${access?.id ?? ""}`;
  }

  /** Opens a new session; it belongs to the caller. */
  open(target: {
    host: string;
    address: string;
    tls: TlsMode;
    isLast: boolean;
    access?: Access | undefined;
    egress?: WayOut | undefined;
    begun?: ((dialogue: Dialogue) => void) | undefined;
    signal?: AbortSignal;
  }): Promise<OpenResult> {
    const { isLast, access, egress, ...host } = target;
    const { timeouts, clock, heloName, localAddress, localIpv6 = null } = this.#options;
    const greetingMs = isLast ? Math.max(LAST_GREETING_MS, timeouts.greetingMs) : timeouts.greetingMs;
    const own = { localAddress: isIPv6(host.address) ? localIpv6 : localAddress, heloName, dial: undefined };
    const from = egress ?? own;
    return openSession({
      ...host,
      ...(access === undefined ? {} : { submission: access }),
      port: access?.port ?? this.#options.port,
      localAddress: from.localAddress,
      heloName: from.heloName,
      dial: from.dial,
      clock,
      timeouts: { ...timeouts, greetingMs },
    });
  }

  /** A usable idle session, the one used last, or null. It belongs to the caller now. */
  acquire(key: string): SmtpSession | null {
    const waiting = this.#idle.get(key);
    for (let idle = waiting?.pop(); idle !== undefined; idle = waiting?.pop()) {
      this.#idleCount -= 1;
      if (!idle.session.isUsable) idle.session.destroy();
      else if (idle.expiresAt <= this.#options.clock.now()) this.#quit(idle.session);
      else return idle.session;
    }
    this.#idle.delete(key);
    return null;
  }

  /** Takes a session back, for the next message or to close it: after `maxMessages`, where the site has a limit (R31). */
  release(key: string, session: SmtpSession, maxMessages: number | null = null): void {
    if (!session.isUsable) return session.destroy();
    if (session.isPutOff) return this.#quit(session);
    if (maxMessages !== null && session.messageCount >= maxMessages) return this.#quit(session);
    const now = this.#options.clock.now();
    const expiresAt = Math.min(now + IDLE_MS, session.openedAt + SESSION_LIFE_MS);
    const isFull = this.#idleCount >= (this.#options.maxIdle ?? MAX_IDLE_SESSIONS);
    if (this.#isClosed || isFull || expiresAt <= now) return this.#quit(session);
    const waiting = this.#idle.get(key);
    if (waiting === undefined) this.#idle.set(key, [{ session, expiresAt }]);
    else waiting.push({ session, expiresAt });
    this.#idleCount += 1;
    this.#setTimer(expiresAt);
  }

  /** Says QUIT on all idle sessions and waits for their end; sessions released later are closed too. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    for (const { session } of [...this.#idle.values()].flat()) this.#quit(session);
    this.#idle.clear();
    this.#idleCount = 0;
    await Promise.all(this.#closings);
  }

  #quit(session: SmtpSession): void {
    const closing = session.quit().finally(() => this.#closings.delete(closing));
    this.#closings.add(closing);
  }

  /** An early timer only looks and sets itself again, so a release costs no timer while one is set. */
  #setTimer(at: number): void {
    if (this.#timerAt <= at) return;
    this.#cancelTimer?.();
    this.#timerAt = at;
    this.#cancelTimer = this.#options.clock.after(Math.max(0, at - this.#options.clock.now()), () => {
      this.#timerAt = Infinity;
      this.#cancelTimer = null;
      this.#sweep();
    });
  }

  #sweep(): void {
    const now = this.#options.clock.now();
    let nextAt = Infinity;
    for (const [key, waiting] of this.#idle) {
      const kept: Idle[] = [];
      for (const idle of waiting) {
        if (!idle.session.isUsable) idle.session.destroy();
        else if (idle.expiresAt <= now) this.#quit(idle.session);
        else kept.push(idle);
      }
      this.#idleCount -= waiting.length - kept.length;
      for (const idle of kept) nextAt = Math.min(nextAt, idle.expiresAt);
      if (kept.length === 0) this.#idle.delete(key);
      else this.#idle.set(key, kept);
    }
    if (nextAt !== Infinity) this.#setTimer(nextAt);
  }
}
