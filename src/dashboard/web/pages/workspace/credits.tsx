// SMS credits: how many are left, and what changed them.

import {
  Button,
  call,
  Card,
  type Column,
  type Data,
  EmptyState,
  ErrorNotice,
  formatNumber,
  LinkButton,
  Loading,
  Page,
  t,
  Table,
  Time,
  useCall,
  workspacePath,
} from "../../kit.ts";
import { useOlder } from "./parts/older.ts";
import { may } from "./parts/rights.ts";

const LIST = "GET /api/v1/workspace/credits";

type Entry = Data<typeof LIST>[number];

const query = { limit: "50" };

export function Credits() {
  const words = t().credits;
  const workspace = useCall("GET /api/v1/workspace", { query: { include: "usage" } });
  const first = useCall(LIST, { query });
  const list = useOlder({ ...first, data: first.data && identify(first.data) }, async (cursor) => {
    const { data, meta } = await call(LIST, { query: { ...query, cursor } });
    return { data: identify(data), meta };
  });
  const balance = workspace.data?.usage?.usage.smsCreditsBalance;
  const write = may("send") && (
    <LinkButton look="primary" icon="send" href={workspacePath("sms/new")}>
      {words.write}
    </LinkButton>
  );
  return (
    <Page title={words.title} intro={words.text} actions={write}>
      {list.error !== null && <ErrorNotice error={list.error} retry={first.reload} />}
      {list.rows === undefined && list.error === null && <Loading />}
      {list.rows?.length === 0 && (
        <EmptyState icon="coins" title={words.none}>
          <p>{words.noneText}</p>
        </EmptyState>
      )}
      {list.rows !== undefined && list.rows.length > 0 && (
        <Card>
          {balance !== undefined && (
            <dl class="meters">
              <div class="meter">
                <dt>{words.left}</dt>
                <dd>
                  <strong>{formatNumber(balance)}</strong>
                </dd>
              </div>
            </dl>
          )}
          <Table caption={words.entries} columns={buildColumns()} rows={list.rows} getKey={({ id }) => id} />
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

/** Entries have no id; no two are alike but write-offs of one SMS within a millisecond. */
function identify(entries: Entry[]): (Entry & { id: string })[] {
  const counts = new Map<string, number>();
  return entries.map((entry) => {
    const same = JSON.stringify(entry);
    const count = counts.get(same) ?? 0;
    counts.set(same, count + 1);
    return { ...entry, id: `${count} ${same}` };
  });
}

function buildColumns(): Column<Entry>[] {
  const words = t().credits;
  return [
    { key: "what", title: words.what, isName: true, cell: (entry) => <What entry={entry} /> },
    {
      key: "change",
      title: words.change,
      isNumber: true,
      cell: ({ amount }) => formatNumber(amount, { signDisplay: "exceptZero" }),
    },
    { key: "balance", title: words.balance, isNumber: true, cell: ({ balance }) => formatNumber(balance) },
    { key: "when", title: words.when, cell: ({ createdAt }) => <Time value={createdAt} /> },
  ];
}

function What({ entry }: { entry: Entry }) {
  const described = describe(entry);
  return entry.smsId === null ? (
    <span>{described}</span>
  ) : (
    <a href={workspacePath(`sms/${entry.smsId}`)}>{described}</a>
  );
}

function describe({ kind, amount, segments }: Entry): string {
  const words = t().credits;
  if (kind === "grant") return amount < 0 ? words.deducted : words.granted;
  return words.kinds[kind](segments ?? 0);
}
