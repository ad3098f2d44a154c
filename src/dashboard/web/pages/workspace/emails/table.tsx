// Emails in a table whose statuses are live.

import { type Column, type Data, followMessages, t, Table, Time, useEffect, workspacePath } from "../../../kit.ts";
import { StatusBadge } from "../parts/status.tsx";
import { Line } from "../parts/words.tsx";

type Email = Data<"GET /api/v1/emails">[number];

export function EmailTable({ emails }: { emails: Email[] }) {
  const words = t().emails;
  const ids = emails.map(({ id }) => id);
  useEffect(() => followMessages(ids), [ids.join()]);
  const columns: Column<Email>[] = [
    {
      key: "subject",
      title: words.subject,
      isName: true,
      cell: ({ id, subject }) => (
        <a href={workspacePath(`emails/${id}`)}>
          <Line>{subject}</Line>
        </a>
      ),
    },
    { key: "to", title: words.to, cell: ({ to }) => <Line>{to}</Line> },
    { key: "status", title: words.status, cell: ({ id, status }) => <StatusBadge id={id} status={status} /> },
    { key: "created", title: words.created, cell: ({ createdAt }) => <Time value={createdAt} /> },
  ];
  return <Table caption={words.title} columns={columns} rows={emails} getKey={({ id }) => id} />;
}
