// Who gets no messages: looked up by address and reason, added, lifted, imported and exported.

import {
  Badge,
  Button,
  call,
  type CallOptions,
  Card,
  type Column,
  type Data,
  download,
  EmptyState,
  ErrorNotice,
  Field,
  Form,
  Loading,
  Page,
  type Resource,
  Select,
  t,
  Table,
  Time,
  useCall,
  useForm,
  useLocation,
  useState,
} from "../../../kit.ts";
import { useOlder } from "../parts/older.ts";
import { may } from "../parts/rights.ts";
import { AddDialog, LiftDialog } from "./dialogs.tsx";
import { ImportDialog } from "./import.tsx";
import { isolate, Line } from "../parts/words.tsx";

const LIST = "GET /api/v1/suppressions";
const FILE = "/api/v1/suppressions.csv";

type Suppression = Data<typeof LIST>[number];
type Reason = Suppression["reason"];
type Query = NonNullable<CallOptions<typeof LIST>["query"]>;

const REASONS = Object.keys({
  hard_bounce: 0,
  complaint: 0,
  unsubscribe: 0,
  opt_out: 0,
  invalid_number: 0,
  manual: 0,
} satisfies Record<Reason, 0>) as Reason[];

export function Suppressions() {
  const words = t().suppressions;
  const { path, query: asked, route } = useLocation();
  const q = asked["q"] ?? "";
  const reason = REASONS.find((each) => each === asked["reason"]);
  const filter: Query = { ...(q === "" ? {} : { q }), ...(reason === undefined ? {} : { reason }) };
  const query: Query = { ...filter, limit: "50" };
  const first = useCall(LIST, { query });
  const [dialog, setDialog] = useState<"add" | "import" | null>(null);
  const [lifted, setLifted] = useState<Suppression | null>(null);
  // A change of one's own may be on a page that is not the first.
  const [changes, setChanges] = useState(0);
  const changed = () => setChanges((count) => count + 1);
  const go = (change: { q?: string; reason?: string }) => {
    const search = new URLSearchParams(
      Object.entries({ q, reason: reason ?? "", ...change }).filter(([, value]) => value),
    );
    route(search.size === 0 ? path : `${path}?${search.toString()}`);
  };
  const search = useForm(async (values) => go({ q: (values["q"] ?? "").trim() }));
  const isFiltered = q !== "" || reason !== undefined;
  return (
    <Page title={words.title} intro={words.text} actions={<Actions filter={filter} open={setDialog} />}>
      <div class="filters">
        <Select
          name="reason"
          label={words.reason}
          value={reason ?? ""}
          options={[
            { value: "", label: words.reasonAny },
            ...REASONS.map((each) => ({ value: each, label: words.reasons[each] })),
          ]}
          onChange={(chosen) => go({ reason: chosen })}
        />
        <Form state={{ ...search, error: first.error }} label={words.searchGo}>
          <Field key={q} name="q" type="search" label={words.search} defaultValue={q} autoComplete="off" />
          <Button type="submit" icon="search">
            {words.searchGo}
          </Button>
        </Form>
        {isFiltered && <Button onClick={() => go({ q: "", reason: "" })}>{words.searchClear}</Button>}
      </div>
      <List
        key={`${changes} ${JSON.stringify(filter)}`}
        first={first}
        query={query}
        isFiltered={isFiltered}
        lift={may("send") ? setLifted : null}
      />
      {dialog === "add" && <AddDialog close={() => setDialog(null)} />}
      {dialog === "import" && <ImportDialog close={() => setDialog(null)} />}
      {lifted !== null && (
        <LiftDialog of={lifted} address={findAddress(lifted, q)} done={changed} close={() => setLifted(null)} />
      )}
    </Page>
  );
}

function Actions({ filter, open }: { filter: Query; open: (dialog: "add" | "import") => void }) {
  const words = t().suppressions;
  const search = new URLSearchParams(filter).toString();
  const file = useForm(() => download(search === "" ? FILE : `${FILE}?${search}`, "suppressions.csv"));
  return (
    <>
      {file.error !== null && <ErrorNotice error={file.error} />}
      <Button isBusy={file.isBusy} onClick={() => file.submit({})}>
        {search === "" ? words.export : words.exportFiltered}
      </Button>
      {may("send") && <Button onClick={() => open("import")}>{words.import}</Button>}
      {may("send") && (
        <Button look="primary" icon="plus" onClick={() => open("add")}>
          {words.add}
        </Button>
      )}
    </>
  );
}

interface ListProps {
  first: Resource<typeof LIST>;
  query: Query;
  isFiltered: boolean;
  lift: ((suppression: Suppression) => void) | null;
}

function List({ first, query, isFiltered, lift }: ListProps) {
  const words = t().suppressions;
  const list = useOlder({ ...first, data: first.data?.map(identify) }, async (cursor) => {
    const { data, meta } = await call(LIST, { query: { ...query, cursor } });
    return { data: data.map(identify), meta };
  });
  if (list.rows === undefined) {
    if (list.error === null) return <Loading />;
    // Beside the field already.
    return list.error.status === 422 ? null : <ErrorNotice error={list.error} retry={first.reload} />;
  }
  if (list.rows.length === 0)
    return (
      <EmptyState icon="shield" title={isFiltered ? words.noneFilter : words.none}>
        {!isFiltered && <p>{words.noneText}</p>}
      </EmptyState>
    );
  return (
    <Card>
      {list.error !== null && list.error.status !== 422 && <ErrorNotice error={list.error} retry={first.reload} />}
      <Table
        caption={words.title}
        columns={buildColumns(query.q ?? "", lift)}
        rows={list.rows}
        getKey={({ id }) => id}
      />
      {list.showOlder !== null && (
        <Button isBusy={list.isBusy} onClick={list.showOlder}>
          {t().common.older}
        </Button>
      )}
    </Card>
  );
}

function identify(suppression: Suppression): Suppression & { id: string } {
  const { channel, list, address, suppressedAt } = suppression;
  return { ...suppression, id: `${channel} ${list ?? ""} ${address} ${suppressedAt}` };
}

const ERASED = ["erased@erased.invalid", "+99900000000"];

/** The address that lifts it; of an erased one the whole that was searched for, or nothing. */
function findAddress({ address }: Suppression, searched: string): string {
  return ERASED.includes(address) ? searched : address;
}

function buildColumns(searched: string, lift: ListProps["lift"]): Column<Suppression & { id: string }>[] {
  const words = t().suppressions;
  const actions: Column<Suppression & { id: string }> = {
    key: "actions",
    title: words.actions,
    isActions: true,
    cell: (row) => {
      const address = findAddress(row, searched);
      return address === "" ? null : (
        <Button look="bare" aria-label={words.liftNamed(isolate(address))} onClick={() => lift?.(row)}>
          {words.lift}
        </Button>
      );
    },
  };
  return [
    {
      key: "address",
      title: words.address,
      isName: true,
      cell: ({ address }) => <Line>{ERASED.includes(address) ? words.erased : address}</Line>,
    },
    { key: "reason", title: words.reason, cell: ({ reason }) => <Badge>{words.reasons[reason]}</Badge> },
    { key: "list", title: words.list, cell: ({ list }) => (list === null ? words.listAll : <bdi>{list}</bdi>) },
    { key: "channel", title: words.channel, cell: ({ channel }) => words.channels[channel] },
    { key: "since", title: words.since, cell: ({ suppressedAt }) => <Time value={suppressedAt} /> },
    ...(lift === null ? [] : [actions]),
  ];
}
