// At a start, before anything is claimed: the outcome of what was in flight is unknown, and what waits for routes or
// links that the configuration has no more goes another way, or fails and says why.

import type { Context } from "../../../platform/context.ts";
import type { SkippedRows } from "../../../platform/db/skipped-rows.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import type { Routing } from "../api/routing.ts";
import { buildUncertainBatch } from "../gateway/resolve-uncertain.ts";
import type { Route } from "../gateway/route-settings.ts";
import type { SubmitResponses } from "../gateway/submit-responses.ts";
import type { SmsStores } from "../stores.ts";
import type { FailedSmsWrites } from "./failed-writes.ts";
import type { SegmentRow, ProviderWords } from "./segment-read-store.ts";

const ROUTE_GONE: ProviderWords = {
  providerStatus: null,
  providerCode: null,
  category: "provider_unavailable",
  reason: "Its route was taken out of the configuration",
};

export interface RecoverDeps extends Pick<Context, "commit" | "clock" | "log"> {
  sms: SmsStores;
  routes: ReadonlyMap<string, Route>;
  routing: Routing;
  responses: SubmitResponses;
  failedWrites: Pick<FailedSmsWrites, "run">;
  skipped: Pick<SkippedRows, "run">;
}

export async function recoverMessages(deps: RecoverDeps): Promise<void> {
  const { sms, skipped, routes, log } = deps;
  const found = await markUnknown(deps);
  const unknown = await resolveAll(deps);
  if (found > 0) log.event("sms.recovered", { inFlight: found, unknown });
  if (routes.size === 0) return;
  const links = [...routes.values()].flatMap((route) => route.links.map(({ name }) => name));
  await runAll(() =>
    skipped.run({
      where: "sms unpin",
      find: (limit) => sms.segments.listPinnedElsewhere(links, limit),
      act: (id) => void sms.segments.unpin(id),
      getKey: (id) => id,
    }),
  );
  const strayed = await runAll(() =>
    skipped.run({
      where: "sms reroute",
      find: (limit) => sms.segments.listStrayed([...routes.keys()], limit),
      act: (id) => moveStrayed(id, deps),
      getKey: (id) => id,
    }),
  );
  if (strayed > 0) log.event("sms.routes_gone", { texts: strayed }, "warn");
}

/** Runs batches until one has nothing to do. */
async function runAll(runBatch: () => Promise<number>): Promise<number> {
  let total = 0;
  for (;;) {
    const count = await runBatch();
    total += count;
    if (count === 0) return total;
  }
}

async function markUnknown({ sms, commit, clock, failedWrites }: RecoverDeps): Promise<number> {
  const at = clock.now();
  try {
    return await commit(() => sms.segments.markInFlightUnknown(at, at));
  } catch (error) {
    if (isStorageError(error)) throw error;
  }
  // An internal error keeps one of them from being written.
  const act = (row: SegmentRow) => {
    sms.segments.unknown(row, { now: at, giveUpAt: at });
    return [];
  };
  return runAll(() => failedWrites.run({ where: "sms recover", find: () => sms.segments.inFlight(), act }));
}

function resolveAll(deps: RecoverDeps): Promise<number> {
  // Those that are held have a time of their own, after this one.
  return runAll(() => deps.failedWrites.run(buildUncertainBatch(deps.clock.now(), deps)));
}

function moveStrayed(id: number, { sms, routing, clock }: RecoverDeps): void {
  const message = sms.messages.byId(id);
  const rows = sms.segments.listByMessage(id);
  const to = message === undefined ? null : routing.find(message.recipient);
  const isUntouched = rows.every(({ state, resends }) => state === "ready" && resends === 0);
  // Parts are cut once; only a message of one segment fits every route.
  const isFitting = rows.length === 1 && message?.alphabet === "gsm";
  if (to !== null && isUntouched && isFitting) sms.segments.moveReady(id, { route: to.name, isRefused: false });
  else sms.segments.endReady(id, { state: "failed", now: clock.now() }, ROUTE_GONE);
}
