import { and, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { matches, prepare, toPlaceholders } from "../../platform/db/statement.ts";
import { idempotency } from "../../platform/db/schema/schema.ts";
import { removeOldest } from "../../platform/db/batches.ts";

/** Whose key it is and for what: the same key means another thing elsewhere. */
export interface IdempotencyScope {
  workspaceId: number;
  /** Of the API key; 0: the whole workspace. */
  domainId: number;
  operation: "emails" | "emails.batch" | "sms" | "smtp" | "smtp.recipient";
  key: string;
}

export interface StoredAnswer {
  requestHash: Buffer;
  /** The body of the 202, byte for byte. */
  response: string;
}

export type IdempotencyStore = ReturnType<typeof openIdempotencyStore>;

export function openIdempotencyStore(db: Db) {
  const { orm } = db;
  const isKey = matches(idempotency, "workspaceId", "domainId", "operation", "key");
  const select = prepare(
    orm
      .select({
        requestHash: idempotency.requestHash,
        response: idempotency.response,
        createdAt: idempotency.createdAt,
      })
      .from(idempotency)
      .where(isKey),
  );
  const remove = prepare(orm.delete(idempotency).where(isKey));
  const insert = prepare(orm.insert(idempotency).values(toPlaceholders(idempotency)));
  const replace = prepare(
    orm
      .update(idempotency)
      .set({ response: sql`REPLACE(${idempotency.response}, ${sql.placeholder("from")}, ${sql.placeholder("to")})` })
      .where(
        and(
          matches(idempotency, "createdAt", "workspaceId"),
          sql`INSTR(${idempotency.response}, ${sql.placeholder("from")}) > 0`,
        ),
      ),
  );

  return {
    /** The answer first given under this key after `notBefore`; an older one is forgotten. Inside a transaction. */
    find(scope: IdempotencyScope, notBefore: number): StoredAnswer | null {
      const row = select.get({ ...scope });
      if (row === undefined) return null;
      if (row.createdAt >= notBefore) return row;
      remove.run({ ...scope });
      return null;
    },
    insert(scope: IdempotencyScope, answer: StoredAnswer, createdAt: number): void {
      insert.run({ ...scope, ...answer, createdAt });
    },
    /** Replaces words in the answers of one moment. Inside a transaction. */
    replaceInAnswers(at: { workspaceId: number; createdAt: number }, from: string, to: string): void {
      replace.run({ ...at, from, to });
    },
    /** Removes a batch of what is older than `notBefore`; true when there may be more. */
    purge: (notBefore: number): boolean => removeOldest(orm, idempotency, notBefore),
  };
}
