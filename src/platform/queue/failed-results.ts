import type { Clock } from "../clock.ts";
import { FailedWrites } from "../db/failed-writes.ts";
import type { Log } from "../log.ts";
import type { HealthIssue } from "../health-issue.ts";
import type { JobHandler } from "./handler.ts";
import type { Job } from "./job.ts";

/** With more of them, which is no bug of one row any more, nothing is begun: each would be in doubt after a start. */
const TOO_MANY = 1_000;

/** Ends of attempts that a bug keeps from being written, by their rows, which are in flight meanwhile. */
export class FailedResults extends FailedWrites<number> {
  readonly #handler: Pick<JobHandler, "nameOf">;
  readonly #log: Log;

  constructor({ clock, handler, log }: { clock: Clock; handler: Pick<JobHandler, "nameOf">; log: Log }) {
    super(clock);
    this.#handler = handler;
    this.#log = log;
  }

  get isTooMany(): boolean {
    return this.size >= TOO_MANY;
  }

  get issue(): HealthIssue | null {
    const { first, size } = this;
    if (first === null) return null;
    const what = size === 1 ? "one delivery" : `${size} deliveries`;
    const end = this.isTooMany ? "There are so many that nothing more is sent." : "All others go on.";
    const reason =
      `By a bug in pombo the end of ${what} could not be written down (the first: ${this.nameOf(first.key)}; see ` +
      `"internal_error" in the log). Meanwhile they are not sent again, and writing is tried once a minute. ${end} What remains ` +
      "needs another version: pombo update, whose start tries them again, marked possibleDuplicate where one may have been delivered.";
    return { component: "worker", reason, since: first.since, isAdvisory: true };
  }

  /** `where`: what of the attempt could not be written. */
  tellBug(where: "dot" | "record", { id, attempt }: Pick<Job, "id" | "attempt">, cause: unknown): void {
    const what = new Error(`the ${where} of attempt ${attempt} of row ${id} cannot be written`, { cause });
    this.#log.error(where, what, { id: this.nameOf(id) });
  }

  /** As the operator knows it; never throws. */
  nameOf(id: number): string {
    try {
      return this.#handler.nameOf?.(id) ?? `row ${id}`;
    } catch {
      return `row ${id}`;
    }
  }
}
