const KIB = 1024;
const MIB = 1024 * KIB;
const MINUTE_MS = 60_000;

/** How much another mail server may ask of this one. Bytes, milliseconds, counts. */
export const INBOUND_LIMITS = {
  /** Largest message, announced as SIZE. A bounce rarely has more than the header of what it returns. */
  messageBytes: 2 * MIB,
  /** This much of a message that is refused already is still read, for the sake of those who listen only at its end; then the connection ends. */
  readOnBytes: 8 * MIB,
  /** Of messages that are coming in or being kept, in open places and in kept ones. */
  openBytes: 32 * MIB,
  keptBytes: 32 * MIB,
  /** RFC 5321 §4.5.3.1.4 asks for 512, and extensions add to it. */
  commandBytes: 2 * KIB,
  /** Places for anybody, and places kept for networks that took mail or brought a report (connection-limits.ts). */
  openClients: 60,
  keptClients: 40,
  /** From one IPv4 address or one /64 of IPv6; further numbers: from one /24 or /48, and so on. */
  clientsOfNetwork: [10] as readonly number[],
  /** Refused clients that are being told so. */
  refusedAtOnce: 500,
  recipients: 5,
  /** Messages in one session. */
  messages: 100,
  commands: 1_000,
  errors: 20,
  /** From a reply to the end of the next command, however it drips in; of a message, from one byte to the next. */
  silenceMs: MINUTE_MS,
  /** From the go-ahead to the final dot. */
  messageMs: 5 * MINUTE_MS,
  sessionMs: 15 * MINUTE_MS,
  /** For keeping a message. RFC 5321 §4.5.3.2.6: the client waits for ten minutes. */
  receiveMs: MINUTE_MS,
};

export type InboundLimits = typeof INBOUND_LIMITS;
