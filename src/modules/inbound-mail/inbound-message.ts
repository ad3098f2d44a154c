/**
 * A message that came in by SMTP, between the server that takes it (modules/inbound-mail/server/server.ts) and what is made of it
 * (receive.ts). Its recipients were judged at RCPT (modules/inbound-mail/server/recipients.ts): everything else was refused there.
 */

/** What a recipient's address is for. */
export type Destination =
  /** A signed return path, verified: the email whose id it carries. */
  | { kind: "bounce"; emailUid: string }
  /** fbl@<bounce host>: reports of complaints. Which email one is about stands inside it. */
  | { kind: "complaint" }
  /** Mail for people: `mailbox` is what stood before the @, in lower case. */
  | { kind: "person"; mailbox: "postmaster" | "abuse" };

export interface InboundMessage {
  /** Each different one once, at least one. */
  destinations: Destination[];
  /** The envelope's sender; "" for the null sender `<>`. */
  envelopeFrom: string;
  /** The address the client connected from. */
  clientAddress: string;
  /** What it called itself in EHLO or HELO. */
  helo: string;
  isTls: boolean;
  /** When the last byte came; Unix ms. */
  receivedAt: number;
  /** From the first header field to the last line, CRLF at each line's end, dots unstuffed. */
  bytes: Uint8Array;
}

/**
 * Takes a letter for good: resolves after the commit of all that follows from it, and then alone the
 * client is told 250. Rejects on trouble: the client is told 451 and comes back with the same message.
 */
export type Receive = (letter: InboundMessage) => Promise<void>;
