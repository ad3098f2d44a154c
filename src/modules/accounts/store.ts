import { and, asc, count, eq, isNotNull } from "drizzle-orm";
import { isOlder, newestFirst } from "../../platform/db/batches.ts";
import type { Db } from "../../platform/db/open.ts";
import { passkeys, recoveryCodes, users } from "../../platform/db/schema/people.ts";
import type { Position } from "../../platform/http/pagination.ts";

export type UserRow = typeof users.$inferSelect;
export type PasskeyRow = typeof passkeys.$inferSelect;

/** What may change in a user. */
export type UserChange = Partial<Omit<UserRow, "id" | "uid" | "createdAt">>;

const NO_TOTP = { totpSecret: null, totpConfirmedAt: null, totpLastStep: null };
const NO_FACTORS = { passwordHash: null, ...NO_TOTP };

export type UserStore = ReturnType<typeof openUserStore>;

/** Users, their passkeys and recovery codes. */
export function openUserStore({ orm }: Db) {
  const isCode = (userId: number, hash: string) => and(eq(recoveryCodes.userId, userId), eq(recoveryCodes.hash, hash));

  const deleteFactors = (userId: number): void => {
    orm.delete(passkeys).where(eq(passkeys.userId, userId)).run();
    orm.delete(recoveryCodes).where(eq(recoveryCodes.userId, userId)).run();
    orm.update(users).set(NO_FACTORS).where(eq(users.id, userId)).run();
  };
  return {
    insert: (row: typeof users.$inferInsert): UserRow => orm.insert(users).values(row).returning().get(),
    byId: (id: number): UserRow | undefined => orm.select().from(users).where(eq(users.id, id)).get(),
    byUid: (uid: string): UserRow | undefined => orm.select().from(users).where(eq(users.uid, uid)).get(),
    /** The address is in its comparable form. */
    byEmail: (email: string): UserRow | undefined => orm.select().from(users).where(eq(users.email, email)).get(),
    /** A page of them, newest first, and one row more when there are more. */
    page: (before: Position | null, limit: number): UserRow[] =>
      orm
        .select()
        .from(users)
        .where(isOlder(users, before))
        .orderBy(...newestFirst(users))
        .limit(limit + 1)
        .all(),
    countOperators: (): number =>
      orm.select({ count: count() }).from(users).where(eq(users.isOperator, true)).get()?.count ?? 0,
    update: (id: number, change: UserChange): UserRow =>
      orm.update(users).set(change).where(eq(users.id, id)).returning().get(),
    /** The authenticator apps of all people, whose secrets cannot be read any more; how many. */
    removeAllTotp: (): number =>
      orm.update(users).set(NO_TOTP).where(isNotNull(users.totpSecret)).returning({ id: users.id }).all().length,
    /** All that proves who the person is. */
    deleteFactors,
    /** Sessions, links and memberships are removed before. */
    delete(id: number): void {
      deleteFactors(id);
      orm.delete(users).where(eq(users.id, id)).run();
    },

    insertPasskey: (row: typeof passkeys.$inferInsert): PasskeyRow =>
      orm.insert(passkeys).values(row).returning().get(),
    passkeyByCredential: (credentialId: string): PasskeyRow | undefined =>
      orm.select().from(passkeys).where(eq(passkeys.credentialId, credentialId)).get(),
    passkeys: (userId: number): PasskeyRow[] =>
      orm.select().from(passkeys).where(eq(passkeys.userId, userId)).orderBy(asc(passkeys.id)).all(),
    usePasskey(id: number, counter: number, now: number): void {
      orm.update(passkeys).set({ counter, lastUsedAt: now }).where(eq(passkeys.id, id)).run();
    },
    deletePasskey(id: number): void {
      orm.delete(passkeys).where(eq(passkeys.id, id)).run();
    },
    countPasskeys: (userId: number): number =>
      orm.select({ count: count() }).from(passkeys).where(eq(passkeys.userId, userId)).get()?.count ?? 0,

    /** In place of those that there were. */
    replaceRecoveryCodes(userId: number, hashes: readonly string[]): void {
      orm.delete(recoveryCodes).where(eq(recoveryCodes.userId, userId)).run();
      for (const hash of hashes) orm.insert(recoveryCodes).values({ userId, hash }).run();
    },
    countRecoveryCodes: (userId: number): number =>
      orm.select({ count: count() }).from(recoveryCodes).where(eq(recoveryCodes.userId, userId)).get()?.count ?? 0,
    hasRecoveryCode: (userId: number, hash: string): boolean =>
      orm.select().from(recoveryCodes).where(isCode(userId, hash)).get() !== undefined,
    /** Whether there was such a code; it is gone then. */
    useRecoveryCode: (userId: number, hash: string): boolean =>
      orm.delete(recoveryCodes).where(isCode(userId, hash)).returning({ hash: recoveryCodes.hash }).all().length === 1,
  };
}
