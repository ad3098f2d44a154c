// Link events, the only input that changes message rows from a link, and the link as its receivers see it.

import type { Inbound } from "../../../protocols/smpp/pdu/pdu.ts";
import type { Origin } from "../../../protocols/smpp/session/events.ts";
import type { Receipt } from "../receipts/parse.ts";
import type { LinkChange } from "./link-status.ts";
import type { Route } from "./route-settings.ts";
import type { Submission } from "./submission.ts";

/** A link as the dispatcher sees it. */
export interface DispatchTarget {
  readonly name: string;
  readonly route: Route;
  /** How many may be sent now. */
  readonly free: number;
  /** How many once so many of its places are given back; 0 where that is not worth a claim. */
  freeWith(settled: number): number;
  /** Takes what is committed as in flight. */
  send(submissions: Submission[]): void;
  /**
   * Submits that came back without a response, and are not written down yet. Until they are, nothing is claimed for the
   * link: a part must not overtake the one before it, nor more be uncertain after a crash than a window.
   */
  returned: number;
}

export type LinkEvent =
  /** About to be written, as this PDU. */
  | { kind: "submitted"; link: DispatchTarget; submission: Submission; pdu: Buffer }
  /** Not written: `reason` null, it may be claimed again; else it never can be written. */
  | { kind: "unsent"; link: DispatchTarget; submission: Submission; reason: string | null }
  /** `settle` gives its place in the window back, after the commit; `isPresent`: of the present session. */
  | {
      kind: "responded";
      link: DispatchTarget;
      submission: Submission;
      status: number;
      messageId: string;
      pdu: Buffer;
      settle: () => void;
      isPresent: () => boolean;
    }
  /** No response in time, or the connection is gone: the outcome is uncertain. */
  | { kind: "timed_out" | "lost"; link: DispatchTarget; submission: Submission }
  /** A receipt, or a subscriber's message (`receipt` null). `acknowledge`: 0 once it is committed. */
  | {
      kind: "received";
      link: DispatchTarget;
      message: Inbound;
      receipt: Receipt | null;
      origin: Origin;
      acknowledge: (status: number) => void;
    }
  | { kind: "changed"; link: DispatchTarget; change: LinkChange };

export type ReceivedEvent = Extract<LinkEvent, { kind: "received" }>;

export interface LinkListener {
  /** There is room in the window. */
  ready(link: DispatchTarget): void;
  emit(event: LinkEvent): void;
}
