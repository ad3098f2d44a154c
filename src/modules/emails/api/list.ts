import type { WorkspaceCaller } from "../../../platform/http/auth.ts";
import { buildPageMeta, parsePage } from "../../../platform/http/pagination.ts";
import { comparableAddress, parseAddress, requireMailbox } from "../../../protocols/mime/address.ts";
import type { EmailFilter } from "../store/list-store.ts";
import type { EmailInListWithStatus, EmailPageMeta, EmailQuery } from "./schema.ts";
import { showInList, toStatus } from "./serialize.ts";
import type { EmailStore } from "../store/store.ts";

export interface EmailList {
  data: (typeof EmailInListWithStatus.static)[];
  meta: typeof EmailPageMeta.static;
}

/** A page of what the caller sees and the query asks for. */
export function listEmails(caller: WorkspaceCaller, query: EmailQuery, store: Pick<EmailStore, "list">): EmailList {
  const page = parsePage(query);
  const { emails, total, isMinimum } = store.list(caller, toFilter(query), page);
  return {
    data: emails.map(({ email, queue }) => {
      const shown = showInList(email, queue?.attempts ?? null);
      return query.include === undefined ? shown : { ...shown, status: toStatus(email.status, queue) };
    }),
    meta: { ...buildPageMeta(total, page), ...(isMinimum ? { totalIsMinimum: true } : {}) },
  };
}

function toFilter({ status, to, from }: EmailQuery): EmailFilter {
  return { status: status ?? null, to: comparable(to), from: comparable(from) };
}

function comparable(address: string | undefined): string | null {
  return address === undefined ? null : comparableAddress(requireMailbox(parseAddress(address)));
}
