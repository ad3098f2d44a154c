import type { Log } from "../platform/log.ts";

/** Logs how many outcomes are not recorded: the storage failed until the end of a stop. */
export function reportUnrecorded(counts: { emails: number; webhooks: number; texts: number }, log: Log): void {
  if (counts.emails + counts.webhooks + counts.texts === 0) return;
  const words =
    "The database could not be written: the outcome of these emails, webhook calls and SMS is not recorded. The next " +
    "start continues with them. Emails that may have been delivered go out again, marked possibleDuplicate; calls are made again; " +
    "SMS are treated as if their responses were lost.";
  log.event("pombo.unrecorded", { ...counts, words }, "warn");
}
