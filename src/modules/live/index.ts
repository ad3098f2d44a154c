// The live streams: a browser hears what changes in its workspace, and whoever watches an email its attempts as they
// happen. Nothing is written for either.

import type { AnyElysia } from "elysia";
import type { Clock } from "../../platform/clock.ts";
import type { Changes } from "../../platform/db/changes.ts";
import type { VerifyKey } from "../../platform/http/auth.ts";
import { getStatus, showState } from "../emails/api/serialize.ts";
import type { RunningAttempts } from "../emails/delivery/running-attempts.ts";
import type { EmailStore } from "../emails/store/store.ts";
import type { MessageStore } from "../sms/queue/message-store.ts";
import { liveRoutes, type LiveRoutesDeps } from "./routes.ts";
import { sharedLiveRoutes, type SharedRoutesDeps } from "./shared-routes.ts";
import { RecentChanges } from "./recent-changes.ts";
import { LiveStreams } from "./streams.ts";
import type { MessageKind } from "./workspace-source.ts";

export interface Live {
  routes(): AnyElysia[];
  /** Ends all streams; a server's stop waits for them. */
  stop(): void;
}

interface LiveStores extends Pick<LiveRoutesDeps, "domains"> {
  emails: Pick<EmailStore, "findState" | "findStateById">;
  sms: { messages: Pick<MessageStore, "byId" | "byUid"> };
}

export interface LiveDeps extends Pick<SharedRoutesDeps, "openShare" | "watchDomain"> {
  changes: Changes;
  attempts: Pick<RunningAttempts, "watch">;
  verifyKey: VerifyKey;
}

export function createLive(
  { clock, steady }: { clock: Pick<Clock, "after">; steady: Clock },
  { emails, sms, domains }: LiveStores,
  deps: LiveDeps,
): Live {
  const findStatus = (kind: MessageKind, id: number) => {
    if (kind === "sms") return sms.messages.byId(id)?.status ?? null;
    const state = emails.findStateById(id);
    return state === undefined ? null : getStatus(state);
  };
  const findNow = (id: number) => {
    const state = emails.findStateById(id);
    if (state === undefined) return null;
    const { status, nextAttemptAt, lastReply, failedReason } = showState(state);
    return { status, nextAttemptAt, lastReply, failedReason };
  };
  const streams = new LiveStreams(clock);
  const recentChanges = new RecentChanges(deps.changes, steady);
  const all = { ...deps, recentChanges, streams, emails, sms, domains, clock, findStatus, findNow };
  return {
    routes: () => [liveRoutes(all), sharedLiveRoutes(all)],
    stop() {
      streams.close();
      recentChanges.stop();
    },
  };
}
