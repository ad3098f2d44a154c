// How long each step of a session may take.

/** The longest wait for each step, in milliseconds (R13; RFC 5321 §4.5.3.2, with a shorter connect and greeting because other hosts wait). */
export const DEFAULT_TIMEOUTS = {
  connectMs: 15_000,
  greetingMs: 60_000,
  /** The answer to STARTTLS, and then the handshake. */
  tlsMs: 60_000,
  /** The answers to EHLO, AUTH, MAIL, RCPT and RSET. */
  commandMs: 300_000,
  dataMs: 120_000,
  /** Without any progress while the content is being written. */
  blockMs: 180_000,
  /** The answer to the final dot; a shorter wait than RFC 5321's ten minutes makes duplicates. */
  dotMs: 600_000,
  quitMs: 5_000,
};

export type SessionTimeouts = typeof DEFAULT_TIMEOUTS;

/** The whole of opening a session, and the whole of one message, each end within this (R13). */
export const MAX_SESSION_STEP_MS = 30 * 60_000;
