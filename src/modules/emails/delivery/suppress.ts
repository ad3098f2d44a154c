// A hard bounce suppresses its recipient, unless its site refuses in masses (refusal-watch.ts): then it is
// kept for the operator, and so are those that were suppressed before the mass could be seen.

import type { Log } from "../../../platform/log.ts";
import type { SuppressionStore } from "../../suppressions/store.ts";
import type { RefusalWatch, RefusedRecipient } from "./refusal-watch.ts";

export interface SuppressDeps {
  suppressions: SuppressionStore;
  refusals: RefusalWatch;
  log: Log;
}

/** The consequence of a hard bounce. */
export interface Suppression {
  /** Inside the transaction. */
  write(): void;
  /** Once it is durable. */
  log(): void;
}

/** Of the hard answer that `site` gave at `now` about a recipient. */
export function suppressFor(
  hard: { site: string; recipient: RefusedRecipient; now: number },
  deps: SuppressDeps,
): Suppression {
  const { site, recipient, now } = hard;
  const { suppressions, refusals } = deps;
  refusals.noteHard(site, recipient.workspaceId, now);
  const row = { channel: "email", reason: "hard_bounce", createdAt: now } as const;
  /** Null: nobody was held. */
  let held: { earlier: RefusedRecipient[]; count: number } | null = null;
  return {
    write() {
      // Decided here and not before: a transaction that could not be kept is tried again a second later, and
      // by then the answers of others may have shown that the site refuses in masses.
      const suppressing = refusals.decide(site, recipient, now);
      held = null;
      if (suppressing.kind === "now") {
        suppressions.insert({ ...recipient, ...row });
        return;
      }
      const { earlier } = suppressing;
      const taken = earlier.filter((each) => suppressions.takeBack({ ...each, ...row }));
      for (const each of [...taken, recipient]) suppressions.hold({ ...each, ...row, site });
      held = { earlier, count: taken.length + 1 };
    },
    log() {
      if (held === null) return;
      refusals.forget(site, held.earlier);
      deps.log.event("suppressions.held", {
        site,
        count: held.count,
        detail: "this site refuses recipients in masses: their mail bounced, nobody was suppressed",
      });
    },
  };
}
