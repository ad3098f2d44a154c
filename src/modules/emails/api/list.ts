import type { WorkspaceCaller } from "../../../platform/http/auth.ts";
import { buildPageMeta, parsePage } from "../../../platform/http/pagination.ts";
import { comparableAddress, parseAddress, requireMailbox } from "../../../protocols/mime/address.ts";
import type { EmailQuery } from "./schema.ts";
import { showInList, toStatus } from "./serialize.ts";
import type { EmailStore } from "../store/store.ts";

/** A page of what the caller sees and the query asks for. */
export function listEmails(caller: WorkspaceCaller, query: EmailQuery, store: Pick<EmailStore, "list">) {
  const page = parsePage(query);
  const filter = {
    status: query.status ?? null,
    to: toComparable(query.to),
    from: toComparable(query.from),
    tag: query.tag ?? null,
    group: query.groupId?.toLowerCase() ?? null,
  };
  const { emails, total, isMinimum } = store.list(caller, filter, page);
  return {
    data: emails.map((listed) => {
      const shown = showInList(listed);
      return query.include === undefined ? shown : { ...shown, status: toStatus(listed.email.status, listed.queue) };
    }),
    meta: { ...buildPageMeta(total, page), ...(isMinimum ? { totalIsMinimum: true } : {}) },
  };
}

function toComparable(address: string | undefined): string | null {
  return address === undefined ? null : comparableAddress(requireMailbox(parseAddress(address)));
}
