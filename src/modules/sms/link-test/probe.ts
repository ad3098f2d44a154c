import type { Inbound } from "../../../protocols/smpp/pdu/pdu.ts";
import type { SubmitSm } from "../../../protocols/smpp/pdu/submit-sm.ts";
import type { Receipt } from "../receipts/parse.ts";

// Texts that are nobody's, beside those of the database: an operator tries a link with them. They take their places in
// its window and of its rate as all others do; what becomes of them is told to their guest and kept nowhere.

export interface Probe {
  readonly submit: SubmitSm;
  readonly guest: LinkTestObserver;
}

export interface LinkTestObserver {
  /** The link that it is a guest of. */
  readonly link: string;
  /** The next of its texts, as many as there is room for. */
  take(room: number): Probe[];
  /** It was not written: `reason` null, it may be taken again; else it never can be. */
  unsent(probe: Probe, reason: string | null): void;
  written(probe: Probe, pdu: Buffer): void;
  answered(probe: Probe, answer: { status: number; messageId: string; bytes: Buffer }): void;
  /** No answer in time, or the connection is gone. */
  unanswered(probe: Probe, outcome: "unanswered" | "lost"): void;
  /** Something happened to a link. */
  linkChanged(link: string): void;
}

/** A receipt that may be a guest's; one of the two is called, once. */
export interface OfferedReceipt {
  route: string;
  receipt: Receipt;
  message: Pick<Inbound, "source" | "destination" | "bytes">;
  /** It is the guest's. */
  taken: () => void;
  /** It goes its usual way. */
  pass: () => void;
}

export function isOfGuest(segment: object): segment is Probe {
  return "guest" in segment;
}
