import type { Db } from "../../platform/db/open.ts";
import { AfterCommit } from "../../platform/db/after-commit.ts";
import { timeOf } from "../../platform/http/times.ts";
import { newId } from "../../platform/uuid.ts";
import type { Random } from "../../platform/random.ts";
import type { EventType } from "./schema.ts";
import type { EventStore } from "./store.ts";

// Recording facts. A fact is written in the transaction that makes it true, and fanned out to the
// webhooks that want it in the same one: a crash between the two cannot be seen from outside. Rows
// about emails and texts, of which there are millions, are written only while somebody of the
// workspace wants them, or a webhook that pombo turned off would have; all others always.

/** Something that happened. */
export interface DomainEvent {
  workspaceId: number;
  type: EventType;
  /** The id of what it is about, as the API shows it: events of one resource are delivered in their order, as far as that goes. */
  resource: string;
  /** Unix ms. */
  at: number;
  /** The `data` of the event: what it is about as the API shows it. Called only when the fact is written. */
  data: () => object;
}

/** Tells the room of a fact, inside the transaction that makes it true. */
export type RecordEvent = (fact: DomainEvent) => void;

export interface Recorder {
  record: RecordEvent;
  /** Whether a fact of this type would be written: what it costs to put it in words can be saved. */
  isWanted(workspaceId: number, type: EventType): boolean;
}

export interface RecorderDeps {
  events: EventStore;
  random: Random;
  /** The id of a workspace as the API shows it; null: it is gone, and so are those who would be told. */
  workspaceUid: (workspaceId: number) => string | null;
  subscribers: Subscribers;
  /** Told after the commit: events of this workspace were written. */
  recorded: (workspaceId: number) => void;
}

/** Who wants to be told. */
export interface Subscribers {
  /** The webhooks that want events of this type; empty for none. */
  webhooksFor(workspaceId: number, type: EventType): readonly number[];
  /** Whether a webhook that pombo turned off would want them: its owner may have them delivered once it is on again. */
  isMissed(workspaceId: number, type: EventType): boolean;
  /** Whether somebody listens to all of a workspace's events. */
  isListening(workspaceId: number): boolean;
  /** Inside the transaction: the event is to be delivered to this webhook, from `at` on. */
  enqueue(webhookId: number, eventId: number, at: number): void;
  /** Told after the commit: the webhook has something to deliver. */
  nudge(webhookId: number, at: number): void;
}

/** Types that are written for those who want them alone. */
const ON_DEMAND = /^(email|sms)\./;

export function createRecorder(db: Db, deps: RecorderDeps): Recorder {
  const { events, random, workspaceUid, subscribers, recorded } = deps;
  const facts = new AfterCommit();
  db.listeners.push(facts);

  const isWanted: Recorder["isWanted"] = (workspaceId, type) =>
    !ON_DEMAND.test(type) ||
    subscribers.webhooksFor(workspaceId, type).length > 0 ||
    subscribers.isMissed(workspaceId, type) ||
    subscribers.isListening(workspaceId);
  const record: RecordEvent = (fact) => {
    const { workspaceId, type, at } = fact;
    if (!isWanted(workspaceId, type)) return;
    const webhooks = subscribers.webhooksFor(workspaceId, type);
    const uid = workspaceUid(workspaceId);
    if (uid === null) return;
    const body = { type, timestamp: timeOf(at), workspaceId: uid, data: fact.data() };
    const eventId = events.insert({
      uid: newId(at, random),
      workspaceId,
      type,
      resource: fact.resource,
      body: JSON.stringify(body),
      createdAt: at,
    });
    for (const webhookId of webhooks) subscribers.enqueue(webhookId, eventId, at);
    facts.run(() => {
      for (const webhookId of webhooks) subscribers.nudge(webhookId, at);
      recorded(workspaceId);
    });
  };
  return { record, isWanted };
}
