// Parses reports on a thread of their own, one at a time: anybody may write to a return path what kills a parser, and then
// only that thread ends. A message that killed it is refused for now and comes again; the second time it counts as
// unreadable, or it would come for five days.

import type { Report } from "../../protocols/dsn/parse-report.ts";
import type { Log } from "../../platform/log.ts";
import { ThreadGone, type ThreadClient } from "../../platform/worker-threads/worker-thread.ts";
import { getErrorMessage } from "../../platform/errors.ts";
import { putLast } from "../../platform/put-last.ts";

export interface GivenReport {
  bytes: Uint8Array;
  /** The address that our message went to, where it is known. */
  recipient: string | null;
}

export type Reading = { kind: "report"; report: Report } | { kind: "unreadable" };

/** Rejects when the message cannot be parsed now. */
export type ReadReport = (given: GivenReport) => Promise<Reading>;

/** Messages remembered that could not be parsed; the oldest are forgotten. */
const MAX_REMEMBERED = 1_000;

export function createReportReader(line: Pick<ThreadClient<GivenReport, Report>, "call">, log: Log): ReadReport {
  const unread = new Map<string, true>();
  let last: Promise<unknown> = Promise.resolve();

  const read = async (given: GivenReport): Promise<Reading> => {
    try {
      return { kind: "report", report: await line.call(given) };
    } catch (error) {
      // There is no thread at the moment, which says nothing about the message.
      if (error instanceof ThreadGone && !error.wasGiven) throw error;
      const digest = new Bun.CryptoHasher("sha256").update(given.bytes).digest("hex");
      const isAgain = unread.has(digest);
      const reason = getErrorMessage(error);
      log.event("inbound.unparsed", { digest, bytes: given.bytes.byteLength, again: isAgain, reason }, "warn");
      if (isAgain) return { kind: "unreadable" };
      putLast(unread, digest, true, MAX_REMEMBERED);
      throw error;
    }
  };
  // One by one, so that only the message that ends the thread is lost with it.
  return (given) => {
    const reading = last.then(() => read(given));
    last = reading.catch(() => undefined);
    return reading;
  };
}
