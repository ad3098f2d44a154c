// Records events, each in the transaction that makes it true; subscribers are called in the same one, so that a crash
// between the two cannot be seen from outside. Events of emails and SMS, of which there are millions, are recorded only
// while a subscriber wants them, all others always.

import { AfterCommit } from "../../platform/db/after-commit.ts";
import type { Db } from "../../platform/db/open.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import type { Random } from "../../platform/random.ts";
import { newId } from "../../platform/uuid.ts";
import type { EventType } from "./schema.ts";
import type { EventStore } from "./store.ts";

/** Something that happened. */
export interface DomainEvent {
  workspaceId: number;
  type: EventType;
  /** The id of its subject, as the API shows it: events of one resource are delivered in their order, as far as possible. */
  resource: string;
  /** Unix ms. */
  at: number;
  /** The subject as the API shows it: `data` of the event. Called only when the event is recorded. */
  data: () => object;
}

/** Inside the transaction that makes the event true. */
export type RecordEvent = (event: DomainEvent) => void;

export interface RecordedEvent extends Pick<DomainEvent, "workspaceId" | "type" | "at"> {
  id: number;
  uid: string;
}

/** Is given events as they are recorded. */
export interface EventSubscriber {
  /** Whether events of this type must be recorded for it. */
  isInterested(workspaceId: number, type: EventType): boolean;
  /** Inside the transaction; what it returns is called after the commit. */
  receive(event: RecordedEvent): (() => void) | null;
}

export interface Recorder {
  /** Null: nobody is interested, or the workspace is gone. */
  record: (event: DomainEvent) => RecordedEvent | null;
  /** Whether an event of this type would be recorded: saves the cost of preparing it. */
  isWanted: (workspaceId: number, type: EventType) => boolean;
}

export interface RecorderDeps {
  events: EventStore;
  workspaces: { byId(id: number): { uid: string } | undefined };
  random: Random;
  subscribers: readonly EventSubscriber[];
}

const ON_DEMAND = /^(email|sms)\./;

export function createRecorder(db: Db, { events, workspaces, random, subscribers }: RecorderDeps): Recorder {
  const afterCommit = new AfterCommit();
  db.listeners.push(afterCommit);
  const isWanted = (workspaceId: number, type: EventType) =>
    !ON_DEMAND.test(type) || subscribers.some((subscriber) => subscriber.isInterested(workspaceId, type));
  return {
    isWanted,
    record({ workspaceId, type, resource, at, data }) {
      if (!isWanted(workspaceId, type)) return null;
      const workspace = workspaces.byId(workspaceId);
      if (workspace === undefined) return null;
      const uid = newId(at, random);
      const body = JSON.stringify({ type, timestamp: toIsoTime(at), workspaceId: workspace.uid, data: data() });
      const id = events.insert({ uid, workspaceId, type, resource, body, createdAt: at });
      const event = { id, uid, workspaceId, type, at };
      for (const subscriber of subscribers) {
        const committed = subscriber.receive(event);
        if (committed !== null) afterCommit.run(committed);
      }
      return event;
    },
  };
}
