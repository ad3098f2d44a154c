import { validationError } from "../../platform/http/errors.ts";
import type { SenderIdRow, SenderIdStore } from "./sender-store.ts";

// A workspace's sender ids, of which one is the default as long as there are any.

/** The operator sees them all in one record. */
const MAX_SENDER_IDS = 100;

export interface AddedSenderId {
  name: string;
  isDefault: boolean;
  priority: SenderIdRow["priority"];
  isNew: boolean;
}

/**
 * Inside a transaction: gives a workspace a sender id, or makes one that it has the default or of another priority
 * (absent: as it is, of a new one the workspace's). Throws 422 when it has too many.
 */
export function addSenderId(
  given: {
    workspaceId: number;
    name: string;
    isDefault: boolean;
    priority?: SenderIdRow["priority"] | undefined;
    now: number;
  },
  senderIds: SenderIdStore,
): AddedSenderId {
  const { workspaceId, name, now } = given;
  const all = senderIds.of(workspaceId);
  const known = all.find((each) => each.name === name);
  if (known === undefined) {
    if (all.length >= MAX_SENDER_IDS) throw tooMany();
    senderIds.insert({ workspaceId, name, createdAt: now });
  }
  const isDefault = given.isDefault || all.length === 0 || known?.isDefault === true;
  if (isDefault && known?.isDefault !== true) senderIds.setDefault(workspaceId, name);
  const priority = given.priority === undefined ? (known?.priority ?? null) : given.priority;
  if (priority !== (known?.priority ?? null)) senderIds.setPriority(workspaceId, name, priority);
  return { name, isDefault, priority, isNew: known === undefined };
}

/** Inside a transaction: takes one away; was it the default, the oldest of the others is now. False: there is none. */
export function removeSenderId(workspaceId: number, name: string, senderIds: SenderIdStore): boolean {
  if (!senderIds.delete(workspaceId, name)) return false;
  const rest = senderIds.of(workspaceId);
  const [oldest] = rest;
  if (oldest !== undefined && rest.every(({ isDefault }) => !isDefault)) senderIds.setDefault(workspaceId, oldest.name);
  return true;
}

function tooMany() {
  const hint = "Delete one that is not needed.";
  return validationError([
    { path: ["name"], message: `exceeds the limit of ${MAX_SENDER_IDS} sender ids for a workspace`, hint },
  ]);
}
