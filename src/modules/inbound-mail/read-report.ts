import type { Report } from "../../protocols/dsn/parse-report.ts";
import type { Log } from "../../platform/log.ts";
import { ThreadGone, type ThreadLine } from "../../platform/worker-threads/worker-thread.ts";

// Letters are read on a thread of their own, one at a time: whoever may write to a return path may write
// what a reader chokes on, and then the thread ends and nothing else. A letter that the thread was lost to
// is put off, and comes again; the second time it counts as unreadable, or it would come for five days.

/** What the thread is given. */
export interface GivenReport {
  bytes: Uint8Array;
  /** The address that our message went to, where it is known. */
  recipient: string | null;
}

export type Reading = { kind: "report"; report: Report } | { kind: "unreadable" };

/** Rejects when the letter cannot be read now. */
export type ReadLetter = (given: GivenReport) => Promise<Reading>;

/** Letters remembered that could not be read; the oldest are forgotten. */
const MAX_REMEMBERED = 1_000;

export function createReader(line: Pick<ThreadLine<GivenReport, Report>, "call">, log: Log): ReadLetter {
  const unread = new Set<string>();
  let last: Promise<unknown> = Promise.resolve();

  const read = async (given: GivenReport): Promise<Reading> => {
    try {
      return { kind: "report", report: await line.call(given) };
    } catch (error) {
      // There is no thread at the moment: that says nothing of the letter.
      if (error instanceof ThreadGone && !error.wasGiven) throw error;
      const digest = new Bun.CryptoHasher("sha256").update(given.bytes).digest("hex");
      const isAgain = unread.has(digest);
      const reason = error instanceof Error ? error.message : String(error);
      log.event("inbound.unparsed", { digest, bytes: given.bytes.byteLength, again: isAgain, reason }, "warn");
      if (isAgain) return { kind: "unreadable" };
      unread.add(digest);
      const oldest = unread.values().next();
      if (unread.size > MAX_REMEMBERED && oldest.done === false) unread.delete(oldest.value);
      throw error;
    }
  };
  // One by one, so that only the letter that ends the thread is lost with it.
  return (given) => {
    const reading = last.then(() => read(given));
    last = reading.catch(() => undefined);
    return reading;
  };
}
