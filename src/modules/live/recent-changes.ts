// Watches a workspace a little longer than its readers do. A page opens another stream when other messages come on its
// screen: what changed between the two, or was not told by the first, is told by the second.

import type { Clock } from "../../platform/clock.ts";
import type { ChangeKind, Changes, Watcher } from "../../platform/db/changes.ts";

/** Streams tell once a second; the next is open well within the rest. */
const KEPT_MS = 5_000;

interface Watched {
  readers: number;
  changedAt: Map<ChangeKind, number>;
  unwatch: () => void;
  keepOn: () => void;
}

export class RecentChanges {
  readonly #changes: Pick<Changes, "watch">;
  readonly #clock: Pick<Clock, "after" | "now">;
  readonly #watched = new Map<number, Watched>();

  /** `clock`: a steady one. */
  constructor(changes: Pick<Changes, "watch">, clock: Pick<Clock, "after" | "now">) {
    this.#changes = changes;
    this.#clock = clock;
  }

  /** As Changes.watch does; `recent` changed in the last seconds, while somebody watched. */
  watch(workspaceId: number, watcher: Watcher): { recent: ChangeKind[]; unwatch: () => void } {
    const watched = this.#watched.get(workspaceId) ?? this.#begin(workspaceId);
    watched.keepOn();
    watched.readers += 1;
    const since = this.#clock.now() - KEPT_MS;
    const recent = Array.from(watched.changedAt).flatMap(([kind, at]) => (at >= since ? [kind] : []));
    const end = this.#changes.watch(workspaceId, watcher);
    const unwatch = () => {
      end();
      watched.readers -= 1;
      if (watched.readers === 0) watched.keepOn = this.#clock.after(KEPT_MS, () => this.#end(workspaceId));
    };
    return { recent, unwatch };
  }

  /** Once all have left. */
  stop(): void {
    for (const { keepOn } of this.#watched.values()) keepOn();
    for (const workspaceId of Array.from(this.#watched.keys())) this.#end(workspaceId);
  }

  #begin(workspaceId: number): Watched {
    const changedAt = new Map<ChangeKind, number>();
    const unwatch = this.#changes.watch(workspaceId, (kind) => void changedAt.set(kind, this.#clock.now()));
    const watched: Watched = { readers: 0, changedAt, unwatch, keepOn: () => {} };
    this.#watched.set(workspaceId, watched);
    return watched;
  }

  #end(workspaceId: number): void {
    this.#watched.get(workspaceId)?.unwatch();
    this.#watched.delete(workspaceId);
  }
}
