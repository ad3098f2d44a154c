/** What a stranger's mail server may ask of this one. Bytes, milliseconds, counts. */
export interface InboundLimits {
  /** Largest message, announced as SIZE. A bounce rarely has more than the header of what it returns. */
  messageBytes: number;
  /** Of a message that is refused already so much is read, for the sake of those who listen only at its end; then the connection ends. */
  readOnBytes: number;
  /** Of all messages that are coming in or being kept. */
  heldBytes: number;
  /** Of them, those of clients from networks that never brought a report. */
  strangersBytes: number;
  /** RFC 5321 §4.5.3.1.4 asks for 512, and extensions add to it. */
  commandBytes: number;
  clients: number;
  /** Of them, from networks that never brought a report nor took mail (reporters.ts). */
  strangers: number;
  /** From one IPv4 address or one /64 of IPv6; from one /24 or /48; from one /16 or /32. */
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
  heldBytes: 64 * MIB,
  strangersBytes: 32 * MIB,
  commandBytes: 2 * KIB,
  clients: 100,
  strangers: 60,
  clientsOfNetwork: [10, 20, 40],
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
