const KIB = 1024;
const MIB = 1024 * KIB;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

/** How much a program that hands in mail may ask. Bytes, milliseconds, counts. What an operator may set is in `[submission]`. */
export const SUBMISSION_LIMITS = {
  /** All messages that come in or are being kept may have so many together, beside their first octets. */
  inFlightBytes: 64 * MIB,
  /** Every client has room for so many. */
  firstBytes: 64 * KIB,
  /** A message of so many leaves much garbage. */
  worthCollectingBytes: 4 * MIB,
  /** For room; then the client is asked to come again, which some never do. */
  roomMs: 30 * SECOND_MS,
  /** A message must bring so many octets within messageMs. */
  paceBytes: 256 * KIB,
  /** AUTH PLAIN with a long user name, and a path of 256 octets with its parameters. */
  commandBytes: 4 * KIB,
  commands: Infinity,
  errors: 100,
  silenceMs: 5 * MINUTE_MS,
  messageMs: 5 * MINUTE_MS,
  /** Until a client has authenticated. */
  sessionMs: 2 * MINUTE_MS,
  /** For keeping a message. RFC 5321 §4.5.3.2.6: the client waits for ten minutes. */
  acceptMs: 2 * MINUTE_MS,
  /** Clients that are refused, while they are told so. */
  refusedAtOnce: 500,
};

export type SubmissionLimits = typeof SUBMISSION_LIMITS & {
  messageBytes: number;
  recipients: number;
  clients: number;
  clientsPerAddress: number;
};
