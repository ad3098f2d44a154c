// The domains of the workspace.

import {
  Badge,
  Button,
  call,
  Card,
  type Column,
  type Data,
  Dialog,
  EmptyState,
  ErrorNotice,
  formatNumber,
  Loading,
  Page,
  t,
  Table,
  Time,
  type Tone,
  useCall,
  useLocation,
  useState,
  workspacePath,
} from "../../../kit.ts";
import { useOlder } from "../parts/older.ts";
import { may } from "../parts/rights.ts";
import { Line } from "../parts/words.tsx";
import { AddDomainForm } from "./add.tsx";

type DomainInList = Data<"GET /api/v1/domains">[number];

const query = { limit: "100" };
/** Two keys, the return path, the policy. */
const RECORDS = 4;

export function Domains() {
  const words = t().domains;
  const { route } = useLocation();
  const first = useCall("GET /api/v1/domains", { query });
  const list = useOlder(first, (cursor) => call("GET /api/v1/domains", { query: { ...query, cursor } }));
  const [isAdding, setAdding] = useState(false);
  const add = may("manage") ? (
    <Button look="primary" icon="plus" onClick={() => setAdding(true)}>
      {t().domain.add}
    </Button>
  ) : undefined;
  return (
    <Page title={words.title} intro={words.text} actions={add}>
      {list.error !== null && <ErrorNotice error={list.error} retry={first.reload} />}
      {list.rows === undefined && list.error === null && <Loading />}
      {list.rows?.length === 0 && (
        <EmptyState icon="globe" title={words.none}>
          <p>{words.noneText}</p>
        </EmptyState>
      )}
      {list.rows !== undefined && list.rows.length > 0 && (
        <Card>
          <Table caption={words.title} columns={buildColumns()} rows={list.rows} getKey={({ id }) => id} />
          {list.showOlder !== null && (
            <Button isBusy={list.isBusy} onClick={list.showOlder}>
              {t().common.older}
            </Button>
          )}
        </Card>
      )}
      {isAdding && (
        <Dialog title={t().domain.add} close={() => setAdding(false)}>
          <AddDomainForm added={(id) => route(workspacePath(`domains/${id}`))} cancel={() => setAdding(false)} />
        </Dialog>
      )}
    </Page>
  );
}

function buildColumns(): Column<DomainInList>[] {
  const words = t().domains;
  return [
    {
      key: "domain",
      title: t().domain.name,
      isName: true,
      cell: ({ id, domain }) => (
        <a href={workspacePath(`domains/${id}`)}>
          <Line>{domain}</Line>
        </a>
      ),
    },
    { key: "state", title: words.state, cell: ({ status }) => <DomainState status={status} /> },
    {
      key: "records",
      title: words.records,
      cell: ({ recordsFound }) =>
        recordsFound === null ? words.unknown : words.recordsOf(formatNumber(recordsFound), formatNumber(RECORDS)),
    },
    { key: "added", title: words.added, cell: ({ createdAt }) => <Time value={createdAt} /> },
  ];
}

const TONES: Record<DomainInList["status"], Tone> = {
  verified: "good",
  pending: "slow",
  failed: "slow",
  warning: "bad",
  suspended: "bad",
};

export function DomainState({ status }: Pick<DomainInList, "status">) {
  return <Badge tone={TONES[status]}>{t().domains[status]}</Badge>;
}
