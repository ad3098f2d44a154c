// Mail whose domain was deleted. It would fail at its next attempt, which finds no domain; but that may be hours away,
// so it is failed at once, in batches. Which domains are gone and still have mail stands in the totals, so that this
// goes on after a crash, and after an attempt that was under way.

import { BackgroundTask } from "../../../platform/background-task.ts";
import type { Context } from "../../../platform/context.ts";
import { type EndDeps, endWaiting } from "../events.ts";
import type { QueueStore } from "../queue/store.ts";
import type { DomainOfWorkspace } from "../store/waiting-store.ts";
import { DOMAIN_DELETED } from "./deliver.ts";

/** Emails ended in one transaction. */
const BATCH = 500;
/** While attempts run. */
const AGAIN_MS = 60_000;

export interface DeletedDomainSweepDeps extends EndDeps, Pick<Context, "commit" | "clock" | "log"> {
  queue: QueueStore;
}

/** To be triggered when a domain is gone. */
export function createDeletedDomainSweep(deps: DeletedDomainSweepDeps): BackgroundTask {
  const { emails } = deps;
  return new BackgroundTask({
    ...deps,
    name: "deleted domains",
    async run(stopping) {
      for (const domain of emails.listDeletedDomainsWithMail()) await failAll(domain, stopping, deps);
      return !stopping.aborted && emails.listDeletedDomainsWithMail().length > 0 ? AGAIN_MS : null;
    },
  });
}

async function failAll(domain: DomainOfWorkspace, stopping: AbortSignal, deps: DeletedDomainSweepDeps): Promise<void> {
  let failed = 0;
  let name: string | null = null;
  for (let isMore = true; isMore;) {
    if (stopping.aborted) return;
    const batch = await deps.commit(() => failBatch(domain, deps));
    failed += batch.length;
    name ??= batch[0]?.senderDomain ?? null;
    isMore = batch.length === BATCH;
  }
  if (failed > 0) deps.log.event("domain.deleted_with_mail", { domain: name, failed });
}

function failBatch(domain: DomainOfWorkspace, deps: DeletedDomainSweepDeps) {
  const waiting = deps.emails.listWaitingOfDomain(domain, BATCH);
  const end = { status: "failed", endedAt: deps.clock.now(), failedReason: DOMAIN_DELETED } as const;
  for (const { id } of waiting) endWaiting(id, end, deps);
  return waiting;
}
