// What the list of emails finds, as a CSV file.

import { csvLine } from "../../../platform/csv.ts";
import type { WorkspaceCaller } from "../../../platform/http/auth.ts";
import { answerCsv, nameCsv } from "../../../platform/http/csv-file.ts";
import { toIsoTime, toIsoTimeOrNull } from "../../../platform/http/times.ts";
import type { Bounce } from "../api/schema.ts";
import { toStatus } from "../api/serialize.ts";
import type { ListedEmail } from "../store/list-store.ts";
import { createEmailReader, type ListDeps } from "./list.ts";
import type { EmailFilterQuery } from "./schema.ts";

export const COLUMNS = [
  "id",
  "createdAt",
  "status",
  "from",
  "to",
  "subject",
  "tag",
  "sentAt",
  "deliveredAt",
  "category",
  "failedReason",
] as const;

/** Of one turn of the event loop: a few milliseconds. */
const PIECE = { limit: 250, lookAt: 1_000 };

export function exportEmails(
  caller: WorkspaceCaller,
  query: EmailFilterQuery,
  { now, requireReader, ...deps }: Omit<ListDeps, "pages"> & { now: number; requireReader: () => void },
): Response {
  const readNext = createEmailReader(caller, query, PIECE, deps);
  return answerCsv({
    filename: nameCsv("emails", now),
    header: csvLine(COLUMNS),
    readPiece() {
      const { emails, isLast } = readNext();
      return { lines: emails.map(toLine), isLast };
    },
    requireReader,
  });
}

function toLine({ email, queue }: ListedEmail): string {
  const cells: Record<(typeof COLUMNS)[number], string | null> = {
    id: email.uid,
    createdAt: toIsoTime(email.createdAt),
    status: toStatus(email.status, queue),
    from: email.sender,
    to: email.recipient,
    subject: email.subject,
    tag: email.tag,
    sentAt: toIsoTimeOrNull(email.sentAt),
    deliveredAt: toIsoTimeOrNull(email.deliveredAt),
    category: email.bounce === null ? null : (JSON.parse(email.bounce) as Bounce).category,
    failedReason: email.failedReason,
  };
  return csvLine(COLUMNS.map((name) => cells[name] ?? ""));
}
