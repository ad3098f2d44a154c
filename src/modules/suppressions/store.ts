import { and, desc, eq, gte, lt, type SQL, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { matches, prepare, toPlaceholders } from "../../platform/db/statement.ts";
import { heldSuppressions, suppressions } from "../../platform/db/schema/schema.ts";
import { NEWEST } from "../../platform/db/batches.ts";
import type { Position } from "../../platform/http/pagination.ts";
import type { Channel, Reason } from "./address.ts";

export type SuppressionRow = typeof suppressions.$inferSelect;
export type NewSuppression = Omit<SuppressionRow, "id">;
type SuppressionKey = Pick<SuppressionRow, "workspaceId" | "channel" | "address">;

export interface SuppressionChange {
  type: "suppression.created" | "suppression.deleted";
  row: NewSuppression;
}

export type SuppressionStore = ReturnType<typeof openSuppressionStore>;

/** Prepares the statements of the suppressions. Addresses go in and come out in the form compared. */
export function openSuppressionStore(db: Db) {
  const { orm } = db;
  const p = sql.placeholder;
  const select = prepare(
    orm
      .select()
      .from(suppressions)
      .where(matches(suppressions, "workspaceId", "channel", "address")),
  );
  const insertRow = prepare(
    orm
      .insert(suppressions)
      .values(toPlaceholders(suppressions, "workspaceId", "channel", "address", "reason", "createdAt"))
      .onConflictDoNothing(),
  );
  const selectPage = (...filters: SQL[]) =>
    prepare(
      orm
        .select()
        .from(suppressions)
        .where(and(eq(suppressions.workspaceId, p("workspaceId")), ...filters))
        .orderBy(desc(suppressions.createdAt), desc(suppressions.id))
        .limit(p("limit")),
    );
  // Two statements for one page: for what is older, and for the rest of the cursor's own millisecond, in which an
  // import or apply may have put any number. In one, with OR or a row value, SQLite walks all of that.
  const isOlder = lt(suppressions.createdAt, p("createdAt"));
  const isRest = [eq(suppressions.createdAt, p("createdAt")), lt(suppressions.id, p("id"))];
  const isOfChannel = eq(suppressions.channel, p("channel"));
  const ofAll = { rest: selectPage(...isRest), older: selectPage(isOlder) };
  const ofChannel = { rest: selectPage(isOfChannel, ...isRest), older: selectPage(isOfChannel, isOlder) };

  /** Called for each change, inside its transaction. */
  let changed: ((change: SuppressionChange) => void) | null = null;
  const lift = ({ workspaceId, address }: Omit<SuppressionKey, "channel">, isMeant: SQL | undefined): boolean => {
    const isOfAddress = and(eq(suppressions.workspaceId, workspaceId), eq(suppressions.address, address));
    const rows = orm.delete(suppressions).where(and(isOfAddress, isMeant)).returning().all();
    for (const row of rows) changed?.({ type: "suppression.deleted", row });
    return rows.length > 0;
  };

  return {
    /** From now on `run` is called for each suppression that is made or lifted, inside its transaction. */
    followChanges(run: (change: SuppressionChange) => void): void {
      changed = run;
    },

    /** Why the address (in its comparable form) gets no mail from this workspace; null when it does. */
    reasonFor: (workspaceId: number, address: string): Reason | null =>
      select.get({ workspaceId, channel: "email", address })?.reason ?? null,
    /** The same for SMS to a phone number in E.164. */
    reasonForNumber: (workspaceId: number, address: string): Reason | null =>
      select.get({ workspaceId, channel: "sms", address })?.reason ?? null,

    /** Whether a complaint has suppressed the address, or one that likely leads to the same mailbox. */
    hasComplained(workspaceId: number, address: string): boolean {
      const at = address.lastIndexOf("@");
      const domain = address.slice(at);
      // RFC 5233; Yahoo's disposable addresses have a hyphen. In ASCII `+` comes before `-`, and `.` follows it.
      const [name = ""] = /^.[^+-]*/.exec(address.slice(0, at)) ?? [];
      const isPlain = eq(suppressions.address, name + domain);
      const isTagged = and(
        gte(suppressions.address, `${name}+`),
        lt(suppressions.address, `${name}.`),
        sql`substr(${suppressions.address}, ${-domain.length}) = ${domain}`,
      );
      // One statement each: for both together SQLite walks all of the workspace's.
      return [isPlain, isTagged].some((isIt) => {
        const isComplaint = and(eq(suppressions.workspaceId, workspaceId), eq(suppressions.reason, "complaint"), isIt);
        return orm.select({ id: suppressions.id }).from(suppressions).where(isComplaint).get() !== undefined;
      });
    },

    find: (key: SuppressionKey) => select.get({ ...key }),

    /** A page of a workspace's suppressions, newest first, and one row more when there are more. */
    list(of: { workspaceId: number; channel: Channel | null }, before: Position | null, limit: number) {
      const { workspaceId, channel } = of;
      const page = { workspaceId, channel, ...(before ?? NEWEST) };
      const { rest, older } = channel === null ? ofAll : ofChannel;
      const first = before === null ? [] : rest.all({ ...page, limit: limit + 1 });
      const missing = limit + 1 - first.length;
      return missing === 0 ? first : [...first, ...older.all({ ...page, limit: missing })];
    },

    /** Suppresses; the first reason stays. False: it was suppressed already. */
    insert(row: NewSuppression): boolean {
      const isNew = insertRow.run({ ...row }).changes > 0;
      if (isNew) changed?.({ type: "suppression.created", row });
      return isNew;
    },

    /** Lifts the suppressions of an address, of one channel or of all. False: there was none. */
    delete(of: Omit<SuppressionKey, "channel"> & { channel: Channel | null }): boolean {
      return lift(of, of.channel === null ? undefined : eq(suppressions.channel, of.channel));
    },

    /** Keeps for the operator what would have suppressed an address; the first reason stays. */
    hold(row: Omit<typeof heldSuppressions.$inferInsert, "id">): void {
      orm.insert(heldSuppressions).values(row).onConflictDoNothing().run();
    },

    /** Takes back a suppression for this reason, to be held instead. False: there is none. */
    takeBack: (of: SuppressionKey & { reason: Reason }): boolean =>
      lift(of, and(eq(suppressions.channel, of.channel), eq(suppressions.reason, of.reason))),
  };
}
