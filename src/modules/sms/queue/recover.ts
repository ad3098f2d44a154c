import type { Commit } from "../../../platform/db/group-commit.ts";
import { isStorageError } from "../../../platform/db/storage-error.ts";
import type { Log } from "../../../platform/log.ts";
import type { SubmitResponses } from "../gateway/submit-responses.ts";
import type { Route } from "../gateway/route-settings.ts";
import type { Routing } from "../api/routing.ts";
import type { SegmentStore, Words } from "./segment-store.ts";
import type { SegmentRow } from "./segment-read-store.ts";
import type { MessageStore } from "./message-store.ts";
import { dueDoubts } from "../gateway/resolve-uncertain.ts";
import type { FailedSmsWrites } from "./failed-writes.ts";
import type { WorkStore } from "./work-store.ts";

// At a start, before anything is claimed: of what was in flight nobody knows the outcome, and what waits for routes
// or links that are not in the configuration any more goes another way, or fails and says why.

const SHARE = 500;
const ROUTE_GONE: Words = {
  providerStatus: null,
  providerCode: null,
  category: "provider_unavailable",
  reason: "Its route was taken out of the configuration",
};

export interface RecoverDeps {
  sms: { segments: SegmentStore; messages: MessageStore; work: WorkStore };
  routes: ReadonlyMap<string, Route>;
  routing: Routing;
  answers: SubmitResponses;
  commit: Commit;
  now: () => number;
  log: Log;
  unwritten: Pick<FailedSmsWrites, "run">;
}

export async function recoverTexts(deps: RecoverDeps): Promise<void> {
  const { sms, commit, routes, log } = deps;
  const found = await markUnknown(deps);
  const unknown = await decideAll(deps);
  if (found > 0) log.event("sms.recovered", { inFlight: found, unknown });
  if (routes.size === 0) return;
  const links = [...routes.values()].flatMap((route) => route.links.map(({ name }) => name));
  await commit(() => sms.work.unpin(links));
  const strayed = await runAll(() => commit(() => moveShare(deps)));
  if (strayed > 0) log.event("sms.routes_gone", { texts: strayed }, "warn");
}

/** Runs shares of work until one has nothing to do. */
async function runAll(share: () => Promise<number>): Promise<number> {
  let total = 0;
  for (;;) {
    const count = await share();
    total += count;
    if (count === 0) return total;
  }
}

async function markUnknown({ sms, commit, now, unwritten }: RecoverDeps): Promise<number> {
  const at = now();
  try {
    return await commit(() => sms.segments.markInFlightUnknown(at, at));
  } catch (error) {
    if (isStorageError(error)) throw error;
  }
  // One of them cannot be written, by a bug.
  const act = (row: SegmentRow) => {
    sms.segments.unknown(row, { now: at, giveUpAt: at });
    return [];
  };
  return runAll(() => unwritten.run({ where: "sms recover", find: () => sms.segments.inFlight(), act }));
}

function decideAll(deps: RecoverDeps): Promise<number> {
  // Those that are held have a time of their own, after this one.
  return runAll(() => deps.unwritten.run(dueDoubts(deps.now(), deps)));
}

function moveShare({ sms, routes, routing, now }: RecoverDeps): number {
  const at = now();
  const ids = sms.work.strayed([...routes.keys()], SHARE);
  for (const id of ids) {
    const message = sms.messages.byId(id);
    const rows = sms.segments.of(id);
    const to = message === undefined ? null : routing.find(message.recipient);
    const isUntouched = rows.every(({ state, resends }) => state === "ready" && resends === 0);
    // Parts are cut once, and only a text that is alone fits every route.
    const isFitting = rows.length === 1 && message?.alphabet === "gsm";
    if (to !== null && isUntouched && isFitting) sms.segments.moveReady(id, { route: to.name, isRefused: false });
    else sms.segments.endReady(id, { state: "failed", now: at }, ROUTE_GONE);
  }
  return ids.length;
}
