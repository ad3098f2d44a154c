import type { Recorder } from "../events/record.ts";
import type { EventType } from "../events/schema.ts";
import { showState } from "./api/serialize.ts";
import type { EmailStore } from "./store/store.ts";

/** A change of an email, told inside the transaction that makes it. */
export interface EmailChange {
  id: number;
  workspaceId: number;
  type: Extract<EventType, `email.${string}`>;
  /** Unix ms. */
  at: number;
}

export type TellOfEmail = (change: EmailChange) => void;

/** Tells of emails as their rows are at that moment; nothing is read for those whom nobody wants to hear of. */
export function createEmailEvents(emails: EmailStore, recorder: Recorder): TellOfEmail {
  return ({ id, workspaceId, type, at }) => {
    if (!recorder.isWanted(workspaceId, type)) return;
    const found = emails.stateById(id);
    if (found === undefined) return;
    recorder.record({ workspaceId, type, resource: found.email.uid, at, data: () => showState(found) });
  };
}
