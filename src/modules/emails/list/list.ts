// A page of the list of emails, by its number or by a cursor.

import { domainToASCII } from "node:url";
import type { WorkspaceCaller } from "../../../platform/http/auth.ts";
import { buildPageMeta, type ListPages, parsePage, type Position } from "../../../platform/http/pagination.ts";
import { comparableAddress, parseAddress, requireMailbox } from "../../../protocols/mime/address.ts";
import type { DomainStore } from "../../domains/store.ts";
import { showInList, toStatus } from "../api/serialize.ts";
import { type ListedEmail, MAX_LOOKED_AT } from "../store/list-store.ts";
import type { EmailStore } from "../store/store.ts";
import { type EmailFilterQuery, type EmailPageMeta, type EmailQuery, START } from "./schema.ts";
import type { EmailSearch, Look, LookWindow } from "./search-store.ts";

const LIST = "emails";

export interface ListDeps {
  emails: Pick<EmailStore, "list" | "look" | "readListed">;
  domains: Pick<DomainStore, "byName">;
  pages: Pick<ListPages, "read" | "write">;
}

/** A page of what the caller sees and the query asks for. */
export function listEmails(caller: WorkspaceCaller, query: EmailQuery, deps: ListDeps) {
  const { emails, meta } = findPage(caller, query, deps);
  return {
    data: emails.map((listed) => {
      const shown = showInList(listed);
      return query.include === undefined ? shown : { ...shown, status: toStatus(listed.email.status, listed.queue) };
    }),
    meta,
  };
}

function findPage(
  caller: WorkspaceCaller,
  query: EmailQuery,
  deps: ListDeps,
): { emails: ListedEmail[]; meta: EmailPageMeta } {
  const { emails, pages } = deps;
  const page = parsePage(query);
  const isSearched = [query.since, query.until, query.domain, query.category, query.subject].some(
    (asked) => asked !== undefined,
  );
  const buildMeta = (total: number, isMinimum: boolean) => ({
    ...buildPageMeta(total, page),
    ...(isMinimum ? { totalIsMinimum: true } : {}),
  });
  const read = (found: Position[]) => emails.readListed(found.map(({ id }) => id));
  const buildNext = (next: Position | null | undefined) => {
    const cursor = next === null || next === undefined ? null : pages.write(next, LIST);
    return { has_more: cursor !== null, next_cursor: cursor };
  };
  if (query.cursor !== undefined) {
    const before = query.cursor === START ? null : pages.read(query.cursor, LIST);
    const { found, end } = openLook(caller, query, deps)({ before, limit: page.limit + 1 });
    const shown = found.slice(0, page.limit);
    const meta = buildPageMeta(shown.length, { page: 1, limit: page.limit });
    const next = buildNext(found.length > page.limit ? shown.at(-1) : end);
    return { emails: read(shown), meta: { ...meta, totalIsMinimum: true, ...next } };
  }
  if (!isSearched) {
    const { emails: listed, total, isMinimum } = emails.list(caller, readSearch(query), page);
    return { emails: listed, meta: buildMeta(total, isMinimum) };
  }
  const { found, end } = openLook(caller, query, deps)({ before: null, limit: MAX_LOOKED_AT });
  const behind = page.offset + page.limit;
  return {
    emails: read(found.slice(page.offset, behind)),
    meta: { ...buildMeta(found.length, end !== null), ...buildNext(found.length > behind ? found[behind - 1] : end) },
  };
}

/** Reads what a query finds from the newest on, a look at a time; what is accepted meanwhile is not in it. */
export function createEmailReader(
  caller: WorkspaceCaller,
  query: EmailFilterQuery,
  { limit, lookAt }: { limit: number; lookAt: number },
  deps: Omit<ListDeps, "pages">,
) {
  const look = openLook(caller, query, deps);
  let before: Position | null = null;
  return (): { emails: ListedEmail[]; isLast: boolean } => {
    const { found, end } = look({ before, limit: limit + 1, lookAt });
    const shown = found.slice(0, limit);
    before = (found.length > limit ? shown.at(-1) : end) ?? null;
    return { emails: deps.emails.readListed(shown.map(({ id }) => id)), isLast: before === null };
  };
}

/** The store's `look` for what the query asks for, in the domain that it names. */
function openLook(
  caller: WorkspaceCaller,
  query: EmailFilterQuery,
  { emails, domains }: Omit<ListDeps, "pages">,
): (window: LookWindow) => Look {
  const search = readSearch(query);
  if (query.domain === undefined) return (window) => emails.look(caller, search, window);
  const { workspaceId, domainId } = caller;
  const named = domains.byName(workspaceId, domainToASCII(query.domain));
  if (named === undefined || (domainId !== null && domainId !== named.id)) return () => ({ found: [], end: null });
  return (window) => emails.look({ workspaceId, domainId: named.id }, search, window);
}

function readSearch(query: EmailFilterQuery): EmailSearch {
  return {
    status: query.status ?? null,
    to: toComparable(query.to),
    from: toComparable(query.from),
    tag: query.tag ?? null,
    group: query.groupId?.toLowerCase() ?? null,
    since: toTime(query.since),
    until: toTime(query.until),
    category: query.category ?? null,
    subject: query.subject ?? null,
  };
}

function toTime(value: string | undefined): number | null {
  return value === undefined ? null : Date.parse(value);
}

function toComparable(address: string | undefined): string | null {
  return address === undefined ? null : comparableAddress(requireMailbox(parseAddress(address)));
}
