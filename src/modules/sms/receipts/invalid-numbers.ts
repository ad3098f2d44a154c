// Suppresses numbers that the network calls no subscriber's, for the workspace that sent to them.
// Where a route says so in masses, a table of the network is broken rather than all those numbers: the operator decides.

import type { Context } from "../../../platform/context.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import type { RefusalWatch } from "../../emails/delivery/refusal-watch.ts";
import type { SuppressionStore } from "../../suppressions/store.ts";

/** A message's first last word by receipt. */
export interface FinalReceipt {
  route: string;
  workspaceId: number;
  /** In E.164. */
  address: string;
  /** The network says that there is no such subscriber. */
  isInvalid: boolean;
  at: number;
}

type Recipient = Pick<FinalReceipt, "workspaceId" | "address">;

export interface InvalidNumbersDeps extends Pick<Context, "commit" | "log"> {
  /** Whether a site refuses in masses, each workspace for itself; a route is a site here. */
  refusals: RefusalWatch;
  suppressions: Pick<SuppressionStore, "insert" | "hold" | "takeBack">;
  /** Inside a transaction: of a deleted workspace nothing more is written. */
  isThere: (workspaceId: number) => boolean;
}

export class InvalidNumbers {
  readonly #deps: InvalidNumbersDeps;

  constructor(deps: InvalidNumbersDeps) {
    this.#deps = deps;
  }

  /**
   * Outside of transactions: the receipt is durable, and all of its transaction is counted before any is decided on.
   * A crash before that is written costs one more message, whose receipt says the same.
   */
  note({ route, workspaceId, address, isInvalid, at }: FinalReceipt): void {
    const { refusals } = this.#deps;
    const site = `sms:${route}`;
    if (!isInvalid) return refusals.noteReply(site, workspaceId, at);
    refusals.noteHard(site, workspaceId, at);
    void this.#suppress(site, { workspaceId, address }, at);
  }

  async #suppress(site: string, recipient: Recipient, now: number): Promise<void> {
    const { refusals, suppressions, isThere, commit, log } = this.#deps;
    const row = { channel: "sms", reason: "invalid_number" } as const;
    try {
      const held = await commit(() => {
        if (!isThere(recipient.workspaceId)) return null;
        const decided = refusals.decide(site, recipient, now);
        if (decided.kind === "now") {
          suppressions.insert({ ...recipient, ...row, createdAt: now });
          return null;
        }
        const taken = decided.earlier.filter((each) => suppressions.takeBack({ ...each, ...row }));
        for (const each of [...taken, recipient]) suppressions.hold({ ...each, ...row, createdAt: now, site });
        return { earlier: decided.earlier, count: taken.length + 1 };
      });
      if (held === null) return;
      refusals.forget(site, held.earlier);
      log.event("suppressions.held", {
        site,
        count: held.count,
        detail: "this route reports very many unknown numbers: nobody was suppressed",
      });
    } catch (error) {
      // The guard reports storage errors.
      if (!isStorageError(error)) log.error("sms suppress", error);
    }
  }
}
