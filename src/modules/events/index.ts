// The events module: records what happens, for subscribers and for listeners over the API.

import type { AnyElysia } from "elysia";
import type { Context } from "../../platform/context.ts";
import type { Db } from "../../platform/db/open.ts";
import type { VerifyKey } from "../../platform/http/auth.ts";
import type { Keyring } from "../../platform/keyring/keyring.ts";
import { createEventCursors } from "./cursor.ts";
import { Listeners } from "./listeners.ts";
import { createRecorder, type EventSubscriber, type Recorder, type RecorderDeps } from "./record.ts";
import { eventRoutes } from "./routes.ts";

export interface Events extends Recorder {
  subscribe(subscriber: EventSubscriber): void;
  createRoutes(verifyKey: VerifyKey): AnyElysia;
  /** Ends the waiting of all listeners. */
  stop(): void;
}

export function createEvents(
  { clock, random, commit }: Pick<Context, "clock" | "random" | "commit">,
  stores: Pick<RecorderDeps, "events" | "workspaces">,
  { db, keyring }: { db: Db; keyring: Pick<Keyring, "hmacKey"> },
): Events {
  const listeners = new Listeners(clock);
  const subscribers: EventSubscriber[] = [listeners];
  const cursors = createEventCursors(keyring.hmacKey("event-cursor"));
  return {
    ...createRecorder(db, { ...stores, random, subscribers }),
    subscribe: (subscriber) => void subscribers.push(subscriber),
    createRoutes: (verifyKey) => eventRoutes({ events: stores.events, listeners, cursors, verifyKey, commit }),
    stop: () => listeners.close(),
  };
}
