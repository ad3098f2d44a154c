// SMS that were received: what people wrote to a number of the workspace.

import {
  Button,
  call,
  Card,
  type Column,
  type Data,
  EmptyState,
  ErrorNotice,
  LinkButton,
  Loading,
  Page,
  t,
  Table,
  Time,
  useCall,
  workspacePath,
} from "../../../kit.ts";
import { useOlder } from "../parts/older.ts";

const LIST = "GET /api/v1/sms/inbound";
const query = { limit: "50" };

type Received = Data<typeof LIST>[number];

export function ReceivedSms() {
  const words = t().sms;
  const first = useCall(LIST, { query });
  const list = useOlder(first, (cursor) => call(LIST, { query: { ...query, cursor } }));
  return (
    <Page
      title={words.received}
      intro={words.receivedText}
      back={
        <LinkButton look="bare" icon="back" href={workspacePath("sms")}>
          {words.title}
        </LinkButton>
      }
    >
      {list.error !== null && <ErrorNotice error={list.error} retry={first.reload} />}
      {list.rows === undefined && list.error === null && <Loading />}
      {list.rows?.length === 0 && (
        <EmptyState icon="chat" title={words.receivedNone}>
          <p>{words.receivedNoneText}</p>
        </EmptyState>
      )}
      {list.rows !== undefined && list.rows.length > 0 && (
        <Card>
          <Table caption={words.received} columns={buildColumns()} rows={list.rows} getKey={({ id }) => id} />
          {list.showOlder !== null && (
            <Button isBusy={list.isBusy} onClick={list.showOlder}>
              {t().common.older}
            </Button>
          )}
        </Card>
      )}
    </Page>
  );
}

function buildColumns(): Column<Received>[] {
  const words = t().sms;
  return [
    { key: "from", title: words.from, isName: true, cell: ({ from }) => <bdi>{from}</bdi> },
    { key: "body", title: words.body, cell: ({ body }) => (body === null ? words.hidden : <bdi>{body}</bdi>) },
    { key: "to", title: words.to, cell: ({ to }) => <bdi>{to}</bdi> },
    { key: "received", title: words.receivedAt, cell: ({ receivedAt }) => <Time value={receivedAt} /> },
  ];
}
