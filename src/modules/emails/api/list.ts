import type { WorkspaceCaller } from "../../../platform/http/auth.ts";
import { buildPageMeta, parsePage } from "../../../platform/http/pagination.ts";
import { comparableAddress, parseAddress } from "../../../protocols/mime/address.ts";
import type { EmailFilter } from "../store/list-store.ts";
import type { EmailInListWithStatus, EmailPageMeta, EmailQuery } from "./schema.ts";
import { showInList } from "./serialize.ts";
import { statusOf } from "./status.ts";
import type { EmailStore } from "../store/store.ts";

export interface EmailList {
  data: (typeof EmailInListWithStatus.static)[];
  meta: typeof EmailPageMeta.static;
}

/** A page of what the caller sees and the query asks for. */
export function listEmails(caller: WorkspaceCaller, query: EmailQuery, store: Pick<EmailStore, "list">): EmailList {
  const page = parsePage(query);
  const { emails, total, isMinimum } = store.list(caller, filterOf(query), page);
  return {
    data: emails.map(({ email, queue }) => {
      const shown = showInList(email, queue?.attempts ?? null);
      return query.include === undefined ? shown : { ...shown, status: statusOf(email.status, queue) };
    }),
    meta: { ...buildPageMeta(total, page), ...(isMinimum ? { totalIsMinimum: true } : {}) },
  };
}

function filterOf({ status, to, from }: EmailQuery): EmailFilter {
  return { status: status ?? null, to: comparable(to), from: comparable(from) };
}

function comparable(address: string | undefined): string | null {
  if (address === undefined) return null;
  const parsed = parseAddress(address);
  if (parsed.kind !== "mailbox") throw new Error(`an address passed its schema and not its parser: ${parsed.message}`);
  return comparableAddress(parsed.mailbox);
}
