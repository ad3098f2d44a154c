import { createHmac } from "node:crypto";
import { and, eq, gte, inArray, lt, type SQL, sql } from "drizzle-orm";
import type { Db } from "../../platform/db/open.ts";
import { matches, prepare, toPlaceholders } from "../../platform/db/statement.ts";
import { heldSuppressions, SUPPRESSION_CHANNELS, suppressions } from "../../platform/db/schema/schema.ts";
import type { Position } from "../../platform/http/pagination.ts";
import type { Channel, Reason } from "./address.ts";
import { type KindFilter, mergePages, openSuppressionPages } from "./page-store.ts";

export type SuppressionRow = typeof suppressions.$inferSelect;
type HeldRow = typeof heldSuppressions.$inferSelect;
/** Without a list: of all mail. */
export type NewSuppression = Omit<SuppressionRow, "id" | "isErased" | "list"> & { list?: string };
type SuppressedAddress = Pick<SuppressionRow, "workspaceId" | "channel" | "address">;
type SuppressionKey = SuppressedAddress & { list?: string };

/** Null: all. */
export interface SuppressionFilter extends KindFilter {
  /** In the form compared. */
  address: string | null;
  /** Only addresses that begin so. */
  prefix: string | null;
}

export interface SuppressionChange {
  type: "suppression.created" | "suppression.deleted";
  row: NewSuppression & { isErased?: boolean };
}

export type SuppressionStore = ReturnType<typeof openSuppressionStore>;

/**
 * Prepares the statements of the suppressions. Addresses go in and come out in the form compared; of an erased one only a
 * hash under `erasureKey` is stored, by which it is found again.
 */
export function openSuppressionStore(db: Db, erasureKey: Uint8Array) {
  const { orm } = db;
  const select = prepare(
    orm
      .select()
      .from(suppressions)
      .where(matches(suppressions, "workspaceId", "channel", "address", "list")),
  );
  const insertRow = prepare(
    orm
      .insert(suppressions)
      .values(toPlaceholders(suppressions, "workspaceId", "channel", "address", "list", "reason", "createdAt"))
      .onConflictDoNothing(),
  );
  const pages = openSuppressionPages(db);

  // Accepting an email asks for its recipient: in a workspace without an erased one, by one statement.
  const selectErased = prepare(
    orm.selectDistinct({ id: suppressions.workspaceId }).from(suppressions).where(sql.raw("is_erased = 1")), // in the words of its index, or that is not used
  );
  /** Workspaces with erased suppressions; null: not known yet. One too many only costs time. */
  let withErased: Set<number> | null = null;
  const listWithErased = () => (withErased ??= new Set(selectErased.all().map(({ id }) => id)));
  /** The same for one address, channel and workspace, and only there. */
  const hash = ({ workspaceId, channel, address }: SuppressedAddress) =>
    createHmac("sha256", erasureKey).update(`${workspaceId} ${channel} ${address}`).digest("base64url");
  const find = (key: SuppressionKey): SuppressionRow | undefined => {
    const { list = "" } = key;
    const row = select.get({ ...key, list });
    if (row !== undefined) return row;
    return listWithErased().has(key.workspaceId) ? select.get({ ...key, list, address: hash(key) }) : undefined;
  };

  /** Called for each change, inside its transaction. */
  let followed: ((change: SuppressionChange) => void) | null = null;
  const changed = (change: SuppressionChange) => {
    db.changes.note(change.row.workspaceId, "suppressions");
    followed?.(change);
  };
  const lift = (workspaceId: number, addresses: string[], isMeant: SQL | undefined): boolean => {
    const isOfAddress = and(eq(suppressions.workspaceId, workspaceId), inArray(suppressions.address, addresses));
    const rows = orm.delete(suppressions).where(and(isOfAddress, isMeant)).returning().all();
    for (const row of rows) changed({ type: "suppression.deleted", row });
    return rows.length > 0;
  };

  return {
    /** From now on `run` is called for each suppression that is made or lifted, inside its transaction. */
    followChanges(run: (change: SuppressionChange) => void): void {
      followed = run;
    },

    /** Why the address (in its comparable form) gets no mail, or none of `list`, from this workspace; null when it does. */
    reasonFor(workspaceId: number, address: string, list?: string): Reason | null {
      const key = { workspaceId, channel: "email", address } as const;
      const found = find(key) ?? (list === undefined ? undefined : find({ ...key, list }));
      return found?.reason ?? null;
    },
    /** The same for SMS to a phone number in E.164. */
    reasonForNumber: (workspaceId: number, address: string): Reason | null =>
      find({ workspaceId, channel: "sms", address })?.reason ?? null,

    /** Whether a complaint has suppressed the address, or one that likely leads to the same mailbox. */
    hasComplained(workspaceId: number, address: string): boolean {
      if (find({ workspaceId, channel: "email", address })?.reason === "complaint") return true;
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

    find,

    /** Those of an address for all mail and for each list, also when it was erased; the newest first. */
    listOfAddress(of: SuppressedAddress): SuppressionRow[] {
      const { workspaceId, channel, address } = of;
      const isOfAddress = inArray(suppressions.address, [address, hash(of)]);
      const isIn = and(eq(suppressions.workspaceId, workspaceId), eq(suppressions.channel, channel));
      // For an order SQLite would walk all of the workspace's.
      const rows = orm.select().from(suppressions).where(and(isIn, isOfAddress)).all();
      return rows.toSorted((a, b) => b.createdAt - a.createdAt || b.id - a.id);
    },

    /** A page of a workspace's suppressions, newest first, and one row more when there are more. */
    list({ address, prefix, ...of }: SuppressionFilter, before: Position | null, limit: number): SuppressionRow[] {
      if (address === null && prefix === null) return pages.ofKinds(of, before, limit);
      const { workspaceId } = of;
      // Of an erased address only the whole is known.
      const whole = address ?? prefix ?? "";
      if (!whole.startsWith(prefix ?? "")) return [];
      const hashes = SUPPRESSION_CHANNELS.map((channel) => hash({ workspaceId, channel, address: whole }));
      if (address !== null) return pages.ofAddresses({ ...of, addresses: [address, ...hashes] }, before, limit);
      const erased = pages.ofAddresses({ ...of, addresses: hashes }, before, limit);
      return mergePages([...pages.ofPrefix({ ...of, prefix: whole }, before, limit), ...erased], limit);
    },

    /** Whether more addresses of the workspace begin so than a page by a prefix reads. */
    isBroad: (workspaceId: number, prefix: string): boolean => pages.isBroad(workspaceId, prefix),

    /** Suppresses; the first reason stays. False: it was suppressed already. */
    insert(row: NewSuppression): boolean {
      if (find(row) !== undefined) return false;
      const isNew = insertRow.run({ list: "", ...row }).changes > 0;
      if (isNew) changed({ type: "suppression.created", row });
      return isNew;
    },

    /** Lifts the suppressions of an address, of one channel or of all: for one list, or those of all mail. False: there was none. */
    delete(of: Omit<SuppressionKey, "channel"> & { channel: Channel | null }): boolean {
      const { workspaceId, address, list = "" } = of;
      const channels = of.channel === null ? SUPPRESSION_CHANNELS : [of.channel];
      const hashes = channels.map((channel) => hash({ workspaceId, channel, address }));
      const isMeant = and(inArray(suppressions.channel, channels), eq(suppressions.list, list));
      return lift(workspaceId, [address, ...hashes], isMeant);
    },

    /**
     * Replaces an address by its hash, and deletes its suppressions that are held for the operator. Returns their number.
     */
    erase({ workspaceId, address }: Omit<SuppressedAddress, "channel">): number {
      const isOfAddress = and(eq(suppressions.workspaceId, workspaceId), eq(suppressions.address, address));
      const rows = orm.select().from(suppressions).where(isOfAddress).all();
      for (const row of rows) {
        const erased = { address: hash(row), isErased: true };
        orm.update(suppressions).set(erased).where(eq(suppressions.id, row.id)).run();
        listWithErased().add(workspaceId);
      }
      const { workspaceId: owner, address: held } = heldSuppressions;
      const isHeld = and(eq(owner, workspaceId), eq(held, address));
      return (
        rows.length + orm.delete(heldSuppressions).where(isHeld).returning({ id: heldSuppressions.id }).all().length
      );
    },

    /** Keeps for the operator what would have suppressed an address; the first reason stays. */
    hold(row: Omit<typeof heldSuppressions.$inferInsert, "id">): void {
      orm.insert(heldSuppressions).values(row).onConflictDoNothing().run();
    },

    /** The suppression of an address that is held for the operator. */
    findHeld: ({ workspaceId, channel, address }: SuppressedAddress): HeldRow | undefined =>
      orm
        .select()
        .from(heldSuppressions)
        .where(
          and(
            eq(heldSuppressions.workspaceId, workspaceId),
            eq(heldSuppressions.channel, channel),
            eq(heldSuppressions.address, address),
          ),
        )
        .get(),

    /** Takes back a suppression for this reason, to be held instead. False: there is none. */
    takeBack: (of: SuppressedAddress & { reason: Reason }): boolean =>
      lift(of.workspaceId, [of.address], and(eq(suppressions.channel, of.channel), eq(suppressions.reason, of.reason))),
  };
}
