// A message that came in by SMTP, between the server that takes it (server/server.ts) and what follows from it
// (receive.ts). Unknown recipients were refused at RCPT (server/recipients.ts).

/** The purpose of a recipient's address. */
export type Destination =
  /** A signed return path, verified: the email whose id it carries. */
  | { kind: "bounce"; emailUid: string }
  /** u+<token>@<bounce host>, verified: its sender wants no more mail of the list of the email with this id. */
  | { kind: "unsubscribe"; emailUid: string }
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
  /** Its name in EHLO or HELO. */
  helo: string;
  isTls: boolean;
  /** When the last byte came; Unix ms. */
  receivedAt: number;
  /** From the first header field to the last line, CRLF at each line's end, dots unstuffed. */
  bytes: Uint8Array;
}

/**
 * Takes a message for good: resolves after the commit of everything that follows from it; only then the client gets its
 * 250. Rejects on an error: the client gets a 451 and comes back with the same message.
 */
export type Receive = (message: InboundMessage) => Promise<void>;
