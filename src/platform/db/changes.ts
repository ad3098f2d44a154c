// Notifies whoever watches a workspace of what each transaction changed in it; it writes nothing.

/** Invitations count as members, and the calls of webhooks as webhooks. */
export type ChangeKind =
  | "emails"
  | "sms"
  | "domains"
  | "keys"
  | "webhooks"
  | "members"
  | "suppressions"
  | "requests"
  | "workspace";

/** `id`: the key of the changed row inside; null: several, or it does not matter. Must not throw. */
export type Watcher = (kind: ChangeKind, id: number | null) => void;

interface Change {
  workspaceId: number;
  kind: ChangeKind;
  id: number | null;
}

/** A TransactionListener of every open database. */
export class Changes {
  readonly #watchers = new Map<number, Set<Watcher>>();
  readonly #ofClosure: Change[] = [];
  readonly #ofBatch: Change[] = [];

  /** Calls `watcher` after each COMMIT that changed something of the workspace; the returned function ends that. */
  watch(workspaceId: number, watcher: Watcher): () => void {
    const watchers = this.#watchers.get(workspaceId) ?? new Set();
    this.#watchers.set(workspaceId, watchers.add(watcher));
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(workspaceId) === watchers) this.#watchers.delete(workspaceId);
    };
  }

  /** Inside a closure given to commit(). */
  note(workspaceId: number, kind: ChangeKind, id: number | null = null): void {
    if (this.#watchers.has(workspaceId)) this.#ofClosure.push({ workspaceId, kind, id });
  }

  onRelease(): void {
    if (this.#ofClosure.length > 0) this.#ofBatch.push(...this.#ofClosure.splice(0));
  }

  onRollbackTo(): void {
    this.#ofClosure.length = 0;
  }

  onRollback(): void {
    this.onRollbackTo();
    this.#ofBatch.length = 0;
  }

  onCommit(): void {
    // What other listeners changed before the COMMIT belongs to no closure.
    this.onRelease();
    if (this.#ofBatch.length === 0) return;
    for (const { workspaceId, kind, id } of this.#ofBatch.splice(0))
      for (const watcher of this.#watchers.get(workspaceId) ?? []) watcher(kind, id);
  }
}
