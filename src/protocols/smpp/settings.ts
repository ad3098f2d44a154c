// How one link to an SMSC is made and kept, and what its parts need.

import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";

/** What every part of a link needs. */
export interface LinkContext {
  settings: LinkSettings;
  /** Its `now` should not jump (`steadyClock`): the link measures with it and stores no time. */
  clock: Clock;
  /** Gives a number in [0, 1). */
  unit: () => number;
  log: Log;
  /** The addresses of a host's name, in the order to be tried; rejects or is empty when there are none. */
  lookUp: (host: string) => Promise<string[]>;
}

export interface LinkSettings {
  /** For the log and the operator. */
  name: string;
  /** A name or an IP address. */
  host: string;
  port: number;
  /** `verified`: its certificate must be valid and name `tlsName`. `unverified`: in laboratories only. */
  tls: "verified" | "unverified" | "none";
  /** The name asked for and expected in its certificate; null: `host`. */
  tlsName: string | null;
  /** The authorities its certificate may come from, as PEM; null: the usual ones. */
  tlsCa: string | null;
  /** At most 15 characters. */
  systemId: string;
  /** At most 64; the standard says 8, and vendors hand out longer ones. */
  password: string;
  /** At most 12. */
  systemType: string;
  /** `pair`: a transmitter and a receiver, for operators that take no transceiver. */
  bindMode: "transceiver" | "pair" | "transmitter" | "receiver";
  /** Submits without a committed answer, at most; raised by configuration only. */
  window: number;
  /** Segments a second, at most. */
  ratePerSecond: number;
  /** Looking up the name, connecting and TLS. */
  connectTimeoutMs: number;
  bindTimeoutMs: number;
  /** Without anything received for this long we ask with enquire_link. */
  enquireMs: number;
  enquireTimeoutMs: number;
  /** After it a submit's outcome is unknown. */
  responseTimeoutMs: number;
  /** Nothing received for this long ends the connection. */
  silenceMs: number;
  /** A PDU that stays incomplete, and reading that stays paused, end it too. */
  halfPduMs: number;
  pauseLimitMs: number;
  /** Before we unbind: for the answers that are missing. */
  drainMs: number;
  /** For the answer to unbind, and for the peer to close after one. */
  unbindMs: number;
}

/** All but whose link it is. */
export const LINK_DEFAULTS = {
  tls: "verified",
  tlsName: null,
  tlsCa: null,
  systemType: "",
  bindMode: "transceiver",
  window: 10,
  ratePerSecond: 50,
  connectTimeoutMs: 10_000,
  bindTimeoutMs: 30_000,
  enquireMs: 30_000,
  enquireTimeoutMs: 10_000,
  responseTimeoutMs: 30_000,
  silenceMs: 300_000,
  halfPduMs: 10_000,
  pauseLimitMs: 10_000,
  drainMs: 30_000,
  unbindMs: 5_000,
} as const satisfies Omit<LinkSettings, "name" | "host" | "port" | "systemId" | "password">;

const MAX_SYSTEM_ID = 15;
const MAX_PASSWORD = 64;
const MAX_SYSTEM_TYPE = 12;
const PRINTABLE = /^[\x20-\x7e]*$/;

/** Throws on settings that could never bind; the configuration refuses them before. */
export function assertSettings(settings: LinkSettings): void {
  const texts = [
    { name: "systemId", value: settings.systemId, max: MAX_SYSTEM_ID },
    { name: "password", value: settings.password, max: MAX_PASSWORD },
    { name: "systemType", value: settings.systemType, max: MAX_SYSTEM_TYPE },
  ];
  for (const { name, value, max } of texts) {
    if (value.length > max || !PRINTABLE.test(value)) throw new Error(`${name}: at most ${max} ASCII characters`);
  }
  if (!Number.isInteger(settings.window) || settings.window < 1) throw new Error("window: at least 1");
  if (!(settings.ratePerSecond >= 1)) throw new Error("ratePerSecond: at least 1");
}
