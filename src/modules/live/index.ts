// The live streams of the dashboard: a browser hears what changes in its workspace, and nothing is written for it.

import type { AnyElysia } from "elysia";
import type { Clock } from "../../platform/clock.ts";
import type { Changes } from "../../platform/db/changes.ts";
import { getStatus } from "../emails/api/serialize.ts";
import type { EmailStore } from "../emails/store/store.ts";
import { type LiveDeps, liveRoutes, sharedLiveRoutes } from "./routes.ts";
import { LiveStreams } from "./streams.ts";

export interface Live {
  routes(): AnyElysia[];
  /** Ends all streams; a server's stop waits for them. */
  stop(): void;
}

interface LiveSources extends Pick<LiveDeps, "domains" | "openShare"> {
  emails: Pick<EmailStore, "findState" | "findStateById">;
  /** A domain's page is open, until the returned function is called. */
  watchDomain: (domainId: number) => () => void;
}

export function createLive(
  { clock }: { clock: Pick<Clock, "after"> },
  { emails, ...sources }: LiveSources,
  changes: Changes,
): Live {
  const findStatus = (id: number) => {
    const state = emails.findStateById(id);
    return state === undefined ? null : getStatus(state);
  };
  const streams = new LiveStreams({ changes, clock, findStatus, watchDomain: sources.watchDomain });
  const deps = { ...sources, streams, emails };
  return {
    routes: () => [liveRoutes(deps), sharedLiveRoutes(deps)],
    stop: () => streams.close(),
  };
}
