// Which machines stand by. Each of them writes standby/NODE.json in the bucket again and again; the one that works looks
// whether those objects change, by its own steady clock, and has a health issue for one that has fallen silent: if this
// machine is lost too, nobody takes over.

import { BackgroundTask } from "../../platform/background-task.ts";
import type { Clock } from "../../platform/clock.ts";
import type { HealthIssue } from "../../platform/health-issue.ts";
import type { Log } from "../../platform/log.ts";
import type { Registry } from "../../platform/metrics/registry.ts";
import type { LeaseRecord } from "./lease.ts";
import type { Bucket } from "./lease-object.ts";

/** How often a machine that stands by says so. */
export const ANNOUNCE_MS = 20_000;
const LOOK_MS = 30_000;
/** A start takes a restore. */
const MISSING_MS = 180_000;
/** Somebody who has not mended it by then has another plan. */
const FORGET_MS = 7 * 86_400_000;
const FOLDER = "standby";

interface Announcement {
  host: string;
  /** Unix ms by that machine's clock. */
  at: number;
}

type PresenceBucket = Pick<Bucket, "list" | "get" | "put" | "remove">;
const nameOf = (node: string) => `${FOLDER}/${node}.json`;

/** Rejects where the bucket cannot be written to. */
export async function announce(bucket: Pick<Bucket, "put">, node: string, said: Announcement): Promise<void> {
  await bucket.put(nameOf(node), `${JSON.stringify(said)}\n`, {});
}

export interface PresenceWatchDeps {
  bucket: PresenceBucket;
  /** This node, which works. */
  node: string;
  /** Monotonic: never adjusted. */
  steady: Clock;
  clock: Pick<Clock, "now">;
  log: Pick<Log, "error">;
}

interface Seen extends Announcement {
  text: string;
  /** By the steady clock. */
  changedAt: number;
}

/** The machine that works runs one of these. */
export class PresenceWatch {
  readonly #deps: PresenceWatchDeps;
  readonly #seen = new Map<string, Seen>();
  readonly #task: BackgroundTask;
  /** The last holder of the lease; null once the bucket names its machine as one that should stand by. */
  #before: LeaseRecord | null;

  /** `before`: the lease before this term; its machine is expected to stand by from now on. */
  constructor(before: LeaseRecord | null, deps: PresenceWatchDeps) {
    this.#before = before === null || before.node === deps.node ? null : before;
    this.#deps = deps;
    this.#task = new BackgroundTask({
      name: "standby presence",
      clock: deps.steady,
      log: deps.log,
      run: async () => {
        // The next run reads again. The lease itself reports a bucket that is away.
        await this.look().catch(() => undefined);
        return LOOK_MS;
      },
    });
  }

  start(): void {
    this.#task.start();
  }

  stop(): Promise<void> {
    return this.#task.stop();
  }

  /** Looks once. Rejects where the bucket cannot be read. */
  async look(): Promise<void> {
    const { bucket, node, steady, clock } = this.#deps;
    if (this.#before !== null) {
      const { node: lost, host } = this.#before;
      if ((await bucket.get(nameOf(lost))) === null) await announce(bucket, lost, { host, at: clock.now() });
      this.#before = null;
    }
    const names = (await bucket.list(`${FOLDER}/`)).filter((name) => name !== nameOf(node));
    for (const name of this.#seen.keys()) if (!names.includes(name)) this.#seen.delete(name);
    for (const name of names) {
      const text = (await bucket.get(name))?.text;
      if (text === undefined || text === this.#seen.get(name)?.text) continue;
      const said = parse(text);
      if (said !== null) this.#seen.set(name, { ...said, text, changedAt: steady.now() });
    }
    for (const [name, { at, changedAt }] of this.#seen)
      if (this.#isMissing(changedAt) && clock.now() - at > FORGET_MS) await bucket.remove(name);
  }

  /** Machines that stand by now. */
  get count(): number {
    return [...this.#seen.values()].filter(({ changedAt }) => !this.#isMissing(changedAt)).length;
  }

  get issue(): HealthIssue | null {
    const missing = [...this.#seen].filter(([, { changedAt }]) => this.#isMissing(changedAt));
    const [first] = missing;
    if (first === undefined) return null;
    const { steady, clock } = this.#deps;
    const [name, { changedAt }] = first;
    const hosts = missing.map(([, { host }]) => host).join(" and ");
    const end =
      this.count === 0
        ? "If this machine is lost too, nobody takes over. "
        : `Machines that still stand by: ${this.count}. `;
    return {
      component: "standby",
      kind: "missing",
      reason:
        `${hosts} does not stand by. ${end}Look there: systemctl status pombo, journalctl -u pombo -n 30. ` +
        `If it is gone for good, delete ${name} below the replica's url.`,
      since: Math.round(clock.now() - (steady.now() - changedAt)),
      isAdvisory: true,
    };
  }

  #isMissing(changedAt: number): boolean {
    return this.#deps.steady.now() - changedAt > MISSING_MS;
  }
}

/** Registers the metrics of the machine that works. */
export function registerStandby(registry: Registry, standbys: PresenceWatch, term: () => number | null): void {
  registry.read(
    { name: "pombo_standbys", help: "Machines that stand by and could take over.", type: "gauge" },
    () => standbys.count,
  );
  registry.read(
    { name: "pombo_standby_term", help: "The lease's term: one more at each takeover.", type: "gauge" },
    term,
  );
}

/** Null: it is not one. */
function parse(text: string): Announcement | null {
  try {
    const { host, at } = JSON.parse(text) as Partial<Announcement>;
    return typeof host === "string" && typeof at === "number" ? { host, at } : null;
  } catch {
    return null;
  }
}
