import type { Clock } from "../../../platform/clock.ts";
import type { Commit } from "../../../platform/db/group-commit.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import type { Log } from "../../../platform/log.ts";
import type { DeliveryStore } from "./delivery-store.ts";
import type { WebhookJobStore } from "./job-store.ts";
import type { WebhookStore } from "../store.ts";

// The slow end of a deleted webhook: its row goes with the answer, its calls still to be made and its
// deliveries, of which there may be hundreds of thousands, a share at a time with pauses in which others
// are served. `webhook_gone` says until then that there is something to do, also at the next start.

/** Rows of each kind that one transaction removes. */
const SHARE = 500;
const PAUSE_MS = 20;
/** After trouble with the storage. */
const AGAIN_MS = 60_000;

export interface DeletedWebhookSweepDeps {
  webhooks: Pick<WebhookStore, "gone" | "forget">;
  jobs: Pick<WebhookJobStore, "removeOf">;
  deliveries: Pick<DeliveryStore, "removeOf">;
  commit: Commit;
  clock: Pick<Clock, "after">;
  log: Log;
  /** Nothing of this webhook is left. */
  removed: (webhookId: number) => void;
}

export class DeletedWebhookSweep {
  readonly #deps: DeletedWebhookSweepDeps;
  #isStarted = false;
  #isRunning = false;
  /** Something was deleted while a share was being removed, which may not have seen it. */
  #isAsked = false;
  #cancel: () => void = () => undefined;

  constructor(deps: DeletedWebhookSweepDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#isStarted = true;
    this.look();
  }

  stop(): void {
    this.#isStarted = false;
    this.#cancel();
  }

  /** There may be something to remove. Before the start nothing is done: the start looks. */
  look(): void {
    this.#isAsked = true;
    if (!this.#isStarted || this.#isRunning) return;
    this.#isRunning = true;
    this.#cancel();
    this.#removeShare();
  }

  #removeShare(): void {
    const { commit, clock, log, removed } = this.#deps;
    this.#isAsked = false;
    commit(() => removeShare(this.#deps)).then(
      (share) => {
        if (share.kind === "removed") removed(share.id);
        const isOver = share.kind === "nothing" && !this.#isAsked;
        if (isOver || !this.#isStarted) this.#isRunning = false;
        else this.#cancel = clock.after(PAUSE_MS, () => this.#removeShare());
      },
      (error: unknown) => {
        if (!isStorageError(error)) log.error("webhook removal", error);
        this.#isRunning = false;
        if (this.#isStarted) this.#cancel = clock.after(AGAIN_MS, () => this.look());
      },
    );
  }
}

type Share = { kind: "nothing" } | { kind: "more" } | { kind: "removed"; id: number };

function removeShare({ webhooks, jobs, deliveries }: DeletedWebhookSweepDeps): Share {
  const id = webhooks.gone();
  if (id === null) return { kind: "nothing" };
  const isMore = [jobs.removeOf(id, SHARE), deliveries.removeOf(id, SHARE)];
  if (isMore.includes(true)) return { kind: "more" };
  webhooks.forget(id);
  return { kind: "removed", id };
}
