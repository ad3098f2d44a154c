// The reference numbers that join the parts of messages.

import { sql } from "drizzle-orm";
import type { Db } from "../../../platform/db/open.ts";
import { smsReferences } from "../../../platform/db/schema/sms.ts";
import { prepare } from "../../../platform/db/statement.ts";

export type ReferenceStore = ReturnType<typeof openReferenceStore>;

/** Counts messages of several parts by their recipient: the parts of two must not be mixed on a phone. */
export function openReferenceStore({ orm }: Db) {
  const next = prepare(
    orm
      .insert(smsReferences)
      .values({ recipient: sql.placeholder("recipient"), last: 0 })
      .onConflictDoUpdate({
        target: smsReferences.recipient,
        set: { last: sql`(${smsReferences.last} + 1) & 65535` },
      })
      .returning({ last: smsReferences.last }),
  );
  return {
    /** The next reference to a number, 0 to 65,535; with 8 bits it is taken mod 256. */
    next(recipient: string): number {
      return next.get({ recipient }).last;
    },
  };
}
