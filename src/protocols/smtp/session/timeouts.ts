// How long each step of a session may take.

/** The longest wait for each step, in milliseconds. */
export interface SessionTimeouts {
  connectMs: number;
  greetingMs: number;
  /** The answer to STARTTLS, and then the handshake. */
  tlsMs: number;
  /** The answers to EHLO, AUTH, MAIL, RCPT and RSET. */
  commandMs: number;
  dataMs: number;
  /** Without any progress while the content is being written. */
  blockMs: number;
  /** The answer to the final dot; a shorter wait than RFC 5321's ten minutes makes duplicates. */
  dotMs: number;
  quitMs: number;
}

/** R13; RFC 5321 §4.5.3.2, with a shorter connect and greeting because other hosts wait. */
export const DEFAULT_TIMEOUTS: SessionTimeouts = {
  connectMs: 15_000,
  greetingMs: 60_000,
  tlsMs: 60_000,
  commandMs: 300_000,
  dataMs: 120_000,
  blockMs: 180_000,
  dotMs: 600_000,
  quitMs: 5_000,
};

/** The whole of opening a session, and the whole of one message, each end within this (R13). */
export const MAX_SESSION_STEP_MS = 30 * 60_000;
