/** What a stranger's mail server may ask of this one. Bytes, milliseconds, counts. */
export interface InboundLimits {
  /** Largest message, announced as SIZE. A bounce rarely has more than the header of what it returns. */
  messageBytes: number;
  /** Of a message that is refused already so much is read, for the sake of those who listen only at its end; then the connection ends. */
  readOnBytes: number;
  /** Of messages that are coming in or being kept, in open places and in kept ones. */
  openBytes: number;
  keptBytes: number;
  /** RFC 5321 §4.5.3.1.4 asks for 512, and extensions add to it. */
  commandBytes: number;
  /** Places for anybody, and places kept for networks that took mail or brought a report (connection-limits.ts). */
  openClients: number;
  keptClients: number;
  /** From one IPv4 address or one /64 of IPv6; further numbers: from one /24 or /48, and so on. */
  clientsOfNetwork: readonly number[];
  /** Refused clients that are being told so. */
  refusedAtOnce: number;
  recipients: number;
  /** Of a session. */
  messages: number;
  commands: number;
  errors: number;
  /** From a reply to the end of the next command, however it drips in; of a message, from one byte to the next. */
  silenceMs: number;
  /** From the go-ahead to the final dot. */
  messageMs: number;
  sessionMs: number;
  /** For keeping a message. RFC 5321 §4.5.3.2.6: the client waits for ten minutes. */
  receiveMs: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const MINUTE_MS = 60_000;

export const INBOUND_LIMITS: InboundLimits = {
  messageBytes: 2 * MIB,
  readOnBytes: 8 * MIB,
  openBytes: 32 * MIB,
  keptBytes: 32 * MIB,
  commandBytes: 2 * KIB,
  openClients: 60,
  keptClients: 40,
  clientsOfNetwork: [10],
  refusedAtOnce: 500,
  recipients: 5,
  messages: 100,
  commands: 1_000,
  errors: 20,
  silenceMs: MINUTE_MS,
  messageMs: 5 * MINUTE_MS,
  sessionMs: 15 * MINUTE_MS,
  receiveMs: MINUTE_MS,
};
