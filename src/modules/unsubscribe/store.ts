import { eq, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { emailExtras, emails } from "../../platform/db/schema/schema.ts";
import { prepare } from "../../platform/db/statement.ts";
import { readUnsubscribe } from "../emails/content/unsubscribe.ts";

/** The sender and list that the link in an email is about. */
export interface Subscription {
  workspaceId: number;
  /** In the form compared. */
  address: string;
  list: string;
  /** Of the sender. */
  domain: string;
}

export type SubscriptionStore = ReturnType<typeof openSubscriptionStore>;

/** The lists that emails belong to. */
export function openSubscriptionStore({ orm }: Db) {
  const select = prepare(
    orm
      .select({
        workspaceId: emails.workspaceId,
        address: emails.recipientAddress,
        domain: emails.senderDomain,
        isErased: emails.isErased,
        unsubscribe: emailExtras.unsubscribe,
      })
      .from(emails)
      // The first email of a group has it for all.
      .innerJoin(emailExtras, eq(emailExtras.emailId, sql`COALESCE(${emails.groupId}, ${emails.id})`))
      .where(eq(emails.uid, sql.placeholder("uid"))),
  );
  return {
    /** Null: the email is gone, its recipient was erased, or it has no list here. */
    find(uid: string): Subscription | null {
      const found = select.get({ uid });
      if (found === undefined || found.isErased) return null;
      const { workspaceId, address, domain } = found;
      const list = readUnsubscribe(found.unsubscribe)?.list ?? null;
      return list === null ? null : { workspaceId, address, domain, list };
    },
  };
}
