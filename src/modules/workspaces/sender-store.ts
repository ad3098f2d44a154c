// A workspace's sender ids, of which one is the default as long as there are any.

import { and, asc, eq, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { senderIds } from "../../platform/db/schema/sms.ts";
import { prepare } from "../../platform/db/statement.ts";
import { validationError } from "../../platform/http/errors.ts";

/** The operator sees them all in one record. */
const MAX_SENDER_IDS = 100;

export type SenderIdRow = typeof senderIds.$inferSelect;

export type SenderIdStore = ReturnType<typeof openSenderIdStore>;

export function openSenderIdStore({ orm }: Db) {
  const isNamed = (workspaceId: number, name: string) =>
    and(eq(senderIds.workspaceId, workspaceId), eq(senderIds.name, name));
  const selectAll = prepare(
    orm
      .select()
      .from(senderIds)
      .where(eq(senderIds.workspaceId, sql.placeholder("workspaceId")))
      .orderBy(asc(senderIds.createdAt), asc(senderIds.name)),
  );
  return {
    /** A workspace's sender ids, the oldest first. */
    of: (workspaceId: number): SenderIdRow[] => selectAll.all({ workspaceId }),
    /** Whose a name or number is: of a shared one several workspaces. */
    listOwners: (name: string): number[] =>
      orm
        .select({ workspaceId: senderIds.workspaceId })
        .from(senderIds)
        .where(eq(senderIds.name, name))
        .orderBy(asc(senderIds.workspaceId))
        .all()
        .map(({ workspaceId }) => workspaceId),
    /** One that is not the default. */
    insert(row: Omit<SenderIdRow, "isDefault" | "priority">): void {
      orm
        .insert(senderIds)
        .values({ ...row, isDefault: false })
        .run();
    },
    /** False: there is none. */
    delete: (workspaceId: number, name: string): boolean =>
      orm.delete(senderIds).where(isNamed(workspaceId, name)).returning({ name: senderIds.name }).all().length > 0,
    /** Null: the workspace's own. */
    setPriority(workspaceId: number, name: string, priority: SenderIdRow["priority"]): void {
      orm.update(senderIds).set({ priority }).where(isNamed(workspaceId, name)).run();
    },
    /** Makes one the workspace's default in place of another. */
    setDefault(workspaceId: number, name: string): void {
      orm
        .update(senderIds)
        .set({ isDefault: false })
        .where(and(eq(senderIds.workspaceId, workspaceId), eq(senderIds.isDefault, true)))
        .run();
      orm.update(senderIds).set({ isDefault: true }).where(isNamed(workspaceId, name)).run();
    },
  };
}

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
  store: SenderIdStore,
): AddedSenderId {
  const { workspaceId, name, now } = given;
  const all = store.of(workspaceId);
  const known = all.find((each) => each.name === name);
  if (known === undefined) {
    if (all.length >= MAX_SENDER_IDS) throw tooMany();
    store.insert({ workspaceId, name, createdAt: now });
  }
  const isDefault = given.isDefault || all.length === 0 || known?.isDefault === true;
  if (isDefault && known?.isDefault !== true) store.setDefault(workspaceId, name);
  const priority = given.priority === undefined ? (known?.priority ?? null) : given.priority;
  if (priority !== (known?.priority ?? null)) store.setPriority(workspaceId, name, priority);
  return { name, isDefault, priority, isNew: known === undefined };
}

/** Inside a transaction: takes one away; was it the default, the oldest of the others is now. False: there is none. */
export function removeSenderId(workspaceId: number, name: string, store: SenderIdStore): boolean {
  if (!store.delete(workspaceId, name)) return false;
  const rest = store.of(workspaceId);
  const [oldest] = rest;
  if (oldest !== undefined && rest.every(({ isDefault }) => !isDefault)) store.setDefault(workspaceId, oldest.name);
  return true;
}

function tooMany() {
  const hint = "Delete one that is not needed.";
  return validationError([
    { path: ["name"], message: `exceeds the limit of ${MAX_SENDER_IDS} sender ids for a workspace`, hint },
  ]);
}
