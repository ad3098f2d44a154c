// Who changed what in the workspace.

import {
  Button,
  call,
  Card,
  type Column,
  type Data,
  EmptyState,
  ErrorNotice,
  Loading,
  Page,
  t,
  Table,
  Time,
  useCall,
} from "../../kit.ts";
import { useOlder } from "./parts/older.ts";
import { Line } from "./parts/words.tsx";

type Change = Data<"GET /api/v1/workspace/audit">[number];

const query = { limit: "50" };

export function Audit() {
  const words = t().audit;
  const first = useCall("GET /api/v1/workspace/audit", { query });
  const list = useOlder(first, (cursor) => call("GET /api/v1/workspace/audit", { query: { ...query, cursor } }));
  return (
    <Page title={words.title} intro={words.text}>
      {list.error !== null && <ErrorNotice error={list.error} retry={first.reload} />}
      {list.rows === undefined && list.error === null && <Loading />}
      {list.rows?.length === 0 && <EmptyState icon="list" title={words.none} />}
      {list.rows !== undefined && list.rows.length > 0 && (
        <Card>
          <Table caption={words.title} columns={buildColumns()} rows={list.rows} getKey={({ id }) => id} />
          {list.showOlder !== null && (
            <Button isBusy={list.isBusy} onClick={list.showOlder}>
              {words.more}
            </Button>
          )}
        </Card>
      )}
    </Page>
  );
}

function buildColumns(): Column<Change>[] {
  const words = t().audit;
  return [
    { key: "what", title: words.what, isName: true, cell: (change) => <What change={change} /> },
    { key: "who", title: words.who, cell: ({ actor }) => <Line>{nameActor(actor)}</Line> },
    { key: "where", title: words.where, cell: ({ network }) => network ?? words.here },
    { key: "when", title: words.when, cell: ({ at }) => <Time value={at} /> },
  ];
}

function What({ change: { action, target, detail } }: { change: Change }) {
  const actions: Record<string, string> = t().auditAction;
  return (
    <span class="what">
      {actions[action] ?? action}
      {target !== null && (
        <>
          {": "}
          <bdi>{target}</bdi>
        </>
      )}
      {detail !== null && <span class="small soft">{describeDetail(detail)}</span>}
    </span>
  );
}

/** Roles before and after; ids tell a person nothing. */
function describeDetail(detail: object): string {
  const roles: Record<string, string> = t().roles;
  const { before, after, role } = detail as Record<string, unknown>;
  const name = (value: unknown) => (typeof value === "string" ? (roles[value] ?? value) : "");
  if (typeof before === "string" && typeof after === "string") return `${name(before)} → ${name(after)}`;
  return name(role);
}

function nameActor({ kind, name }: Change["actor"]): string {
  const words = t().audit;
  if (kind === "operator") return words.actorOperator;
  return kind === "anonymous" ? words.actorAnonymous : name;
}
