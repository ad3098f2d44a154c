// The recipients of a send to several: each has an email of its own.

import { Card, type Column, type Data, followMessages, t, Table, useEffect, workspacePath } from "../../../kit.ts";
import { StatusBadge } from "../parts/status.tsx";
import { Line } from "../parts/words.tsx";

type Recipient = NonNullable<Data<"GET /api/v1/emails/:id">["recipients"]>[number];

/** `shownId`: the email whose page this is. */
export function Recipients({ recipients, shownId }: { recipients: Recipient[]; shownId: string }) {
  const words = t().email;
  const ids = recipients.map(({ id }) => id);
  useEffect(() => followMessages(ids), [ids.join()]);
  const columns: Column<Recipient>[] = [
    {
      key: "address",
      title: words.recipient,
      isName: true,
      cell: ({ id, address }) =>
        id === shownId ? (
          <Line>{address}</Line>
        ) : (
          <a href={workspacePath(`emails/${id}`)}>
            <Line>{address}</Line>
          </a>
        ),
    },
    { key: "kind", title: words.kind, cell: ({ kind }) => words.kinds[kind] },
    { key: "status", title: t().emails.status, cell: ({ id, status }) => <StatusBadge id={id} status={status} /> },
  ];
  return (
    <Card title={words.recipients}>
      <Table caption={words.recipients} columns={columns} rows={recipients} getKey={({ id }) => id} />
    </Card>
  );
}
