// The live streams of the dashboard: a browser hears what changes in its workspace, and nothing is written for it.

import type { AnyElysia } from "elysia";
import type { Clock } from "../../platform/clock.ts";
import type { Changes } from "../../platform/db/changes.ts";
import { getStatus } from "../emails/api/serialize.ts";
import type { EmailStore } from "../emails/store/store.ts";
import { liveRoutes } from "./routes.ts";
import { LiveStreams } from "./streams.ts";

export interface Live {
  routes(): AnyElysia;
  /** Ends all streams; a server's stop waits for them. */
  stop(): void;
}

export function createLive(
  { clock }: { clock: Pick<Clock, "after"> },
  emails: Pick<EmailStore, "findState" | "findStateById">,
  changes: Changes,
): Live {
  const findStatus = (id: number) => {
    const state = emails.findStateById(id);
    return state === undefined ? null : getStatus(state);
  };
  const streams = new LiveStreams({ changes, clock, findStatus });
  return {
    routes: () => liveRoutes({ streams, emails }),
    stop: () => streams.close(),
  };
}
