// Who sent a message: a program with an API key, or a person in the dashboard.

import { eq, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { users } from "../../platform/db/schema/people.ts";
import { apiKeys } from "../../platform/db/schema/schema.ts";
import { prepare } from "../../platform/db/statement.ts";
import { formatKeyName } from "./key.ts";
import type { SentBy } from "./schema.ts";

/** As a message's row has it: at most one of the two. */
export interface SenderKeys {
  keyId: number | null;
  userId: number | null;
}

/** The columns of what nobody asked for. */
export const SENT_BY_NOBODY = { keyId: null, userId: null } as const satisfies SenderKeys;

/** Finds who sent a message by its row. */
export function openSenders({ orm }: Pick<Db, "orm">): (row: SenderKeys) => typeof SentBy.static {
  const p = sql.placeholder;
  const selectKey = prepare(
    orm
      .select({ uid: apiKeys.uid, name: apiKeys.name, prefix: apiKeys.prefix })
      .from(apiKeys)
      .where(eq(apiKeys.id, p("id"))),
  );
  const selectUser = prepare(
    orm
      .select({ uid: users.uid, email: users.email })
      .from(users)
      .where(eq(users.id, p("id"))),
  );
  return ({ keyId, userId }) => {
    if (keyId !== null) {
      const key = selectKey.get({ id: keyId });
      return {
        kind: "api_key",
        id: key?.uid ?? null,
        name: key === undefined ? null : formatKeyName(key.name, key.prefix),
      };
    }
    if (userId === null) return null;
    const user = selectUser.get({ id: userId });
    return { kind: "user", id: user?.uid ?? null, name: user?.email ?? null };
  };
}
