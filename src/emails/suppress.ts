import type { Log } from "../log.ts";
import type { SuppressionStore } from "../suppressions/store.ts";
import type { RefusalWatch, RefusedRecipient } from "./refusals.ts";

// A hard bounce suppresses its recipient, unless its site refuses in masses (refusals.ts): then it is
// kept for the operator, and so are those that were suppressed before the mass could be seen.

export interface SuppressParts {
  suppressions: SuppressionStore;
  refusals: RefusalWatch;
  log: Log;
}

/** What of a hard bounce is written, and what is said once that is durable. */
export interface Suppression {
  /** Inside the transaction. */
  write(): void;
  tell(): void;
}

/** Decides about the recipient of a hard answer that `site` gave at `now`. */
export function suppressFor(
  hard: { site: string; recipient: RefusedRecipient; now: number },
  parts: SuppressParts,
): Suppression {
  const { site, recipient, now } = hard;
  const suppressing = parts.refusals.noteHard(site, recipient, now);
  const row = { channel: "email", reason: "hard_bounce", createdAt: now } as const;
  if (suppressing.kind === "now") {
    return { write: () => parts.suppressions.insert({ ...recipient, ...row }), tell: () => undefined };
  }
  return {
    write() {
      for (const earlier of suppressing.earlier)
        if (parts.suppressions.takeBack(earlier)) parts.suppressions.hold({ ...earlier, ...row, site });
      parts.suppressions.hold({ ...recipient, ...row, site });
    },
    tell: () =>
      parts.log.event("suppressions.held", {
        site,
        count: suppressing.earlier.length + 1,
        detail: "this site refuses recipients in masses: their mail bounced, nobody was suppressed",
      }),
  };
}
