// The list of SMS. Its filter is in the address, so that the way back leads to the same place.

import {
  type ApiError,
  Button,
  call,
  type CallOptions,
  Card,
  type Column,
  type Data,
  EmptyState,
  ErrorNotice,
  Field,
  followMessages,
  Form,
  formatNumber,
  LinkButton,
  Loading,
  Page,
  Select,
  t,
  Table,
  Time,
  useCall,
  useEffect,
  useForm,
  useLocation,
  workspacePath,
} from "../../../kit.ts";
import { useOlder } from "../parts/older.ts";
import { may } from "../parts/rights.ts";
import { useSteady } from "../parts/steady.ts";
import { Line } from "../parts/words.tsx";
import { type SmsStatus, SmsStatusBadge, TONES } from "./status.tsx";

const LIST = "GET /api/v1/sms";
const PER_PAGE = 50;
const DAY_MS = 86_400_000;

type Sms = Data<typeof LIST>[number];
type Query = NonNullable<CallOptions<typeof LIST>["query"]>;

const STATUSES = Object.keys(TONES) as SmsStatus[];
const PERIODS = ["1", "7", "30"] as const;

interface Filter {
  status: string;
  to: string;
  days: string;
}

export function SmsList() {
  const words = t().sms;
  const { path, query: asked, route } = useLocation();
  const filter: Filter = {
    status: STATUSES.find((each) => each === asked["status"]) ?? "",
    to: asked["to"] ?? "",
    days: PERIODS.find((each) => each === asked["days"]) ?? "",
  };
  const query = toQuery(filter);
  const first = useCall(LIST, { query });
  const go = (change: Partial<Filter>) => {
    const search = new URLSearchParams(Object.entries({ ...filter, ...change }).filter(([, value]) => value !== ""));
    route(search.size === 0 ? path : `${path}?${search.toString()}`);
  };
  return (
    <Page title={words.title} intro={words.text} actions={<Actions />}>
      <Filters filter={filter} error={first.error} go={go} />
      <Rows key={JSON.stringify(query)} first={first} query={query} isFiltered={Object.keys(query).length > 1} />
    </Page>
  );
}

function Actions() {
  return (
    <>
      {may("send") && (
        <LinkButton look="primary" icon="send" href={workspacePath("sms/new")}>
          {t().sms.write}
        </LinkButton>
      )}
      <LinkButton href={workspacePath("sms/received")}>{t().sms.received}</LinkButton>
    </>
  );
}

interface FiltersProps {
  filter: Filter;
  /** Of the list: at its field. */
  error: ApiError | null;
  go: (change: Partial<Filter>) => void;
}

function Filters({ filter, error, go }: FiltersProps) {
  const words = t().sms;
  // As people write numbers; the API takes none with spaces.
  const search = useForm(async ({ to = "" }) => go({ to: to.replaceAll(/[\s-]/g, "") }));
  const isFiltered = Object.values(filter).some((value) => value !== "");
  return (
    <div class="filters">
      <Select
        name="status"
        label={words.status}
        value={filter.status}
        options={[
          { value: "", label: words.statusAny },
          ...STATUSES.map((status) => ({ value: status, label: words.statuses[status] })),
        ]}
        onChange={(status) => go({ status })}
      />
      <Select
        name="days"
        label={words.created}
        value={filter.days}
        options={[
          { value: "", label: words.any },
          ...PERIODS.map((days) => ({ value: days, label: words.periods[days] })),
        ]}
        onChange={(days) => go({ days })}
      />
      <Form state={{ ...search, error }} label={words.search}>
        <Field key={filter.to} name="to" type="search" label={words.to} defaultValue={filter.to} autoComplete="off" />
        <Button type="submit" icon="search">
          {words.search}
        </Button>
      </Form>
      {isFiltered && <Button onClick={() => go({ status: "", to: "", days: "" })}>{words.clear}</Button>}
    </div>
  );
}

interface RowsProps {
  first: ReturnType<typeof useCall<typeof LIST>>;
  query: Query;
  isFiltered: boolean;
}

function Rows({ first, query, isFiltered }: RowsProps) {
  const words = t().sms;
  const steady = useSteady("", first.data);
  const list = useOlder({ ...first, data: steady.rows }, (cursor) => call(LIST, { query: { ...query, cursor } }));
  const ids = (list.rows ?? []).slice(0, PER_PAGE).map(({ id }) => id);
  useEffect(() => followMessages(ids), [ids.join()]);
  if (list.rows === undefined) {
    if (list.error === null) return <Loading />;
    // Beside the field already.
    return list.error.status === 422 ? null : <ErrorNotice error={list.error} retry={first.reload} />;
  }
  if (list.rows.length === 0 && list.showOlder === null)
    return (
      <EmptyState icon="chat" title={isFiltered ? words.noneFilter : words.none}>
        {!isFiltered && <p>{words.noneText}</p>}
      </EmptyState>
    );
  const count = formatNumber(steady.hidden);
  return (
    <Card>
      {list.error !== null && <ErrorNotice error={list.error} retry={first.reload} />}
      {steady.hidden > 0 && (
        <div role="status">
          <Button look="primary" onClick={steady.showAll}>
            {words.showNew(steady.hidden >= PER_PAGE ? `${count}+` : count)}
          </Button>
        </div>
      )}
      {list.rows.length === 0 ? (
        <p>{words.noneYet}</p>
      ) : (
        <Table caption={words.title} columns={buildColumns()} rows={list.rows} getKey={({ id }) => id} />
      )}
      {list.showOlder !== null && (
        <Button isBusy={list.isBusy} onClick={list.showOlder}>
          {t().common.older}
        </Button>
      )}
    </Card>
  );
}

function buildColumns(): Column<Sms>[] {
  const words = t().sms;
  return [
    {
      key: "to",
      title: words.to,
      isName: true,
      cell: ({ id, to }) => (
        <a href={workspacePath(`sms/${id}`)}>
          <bdi>{to}</bdi>
        </a>
      ),
    },
    { key: "body", title: words.body, cell: ({ body }) => (body === null ? words.hidden : <Line>{body}</Line>) },
    {
      key: "status",
      title: words.status,
      cell: ({ id, status }) => <SmsStatusBadge id={id} status={status} />,
    },
    { key: "parts", title: words.parts, isNumber: true, cell: ({ segments }) => formatNumber(segments) },
    { key: "created", title: words.created, cell: ({ createdAt }) => <Time value={createdAt} /> },
  ];
}

/** Days up to now, today among them: whole ones of the browser's zone. */
function toQuery({ status, to, days }: Filter): Query {
  const today = new Date().setHours(0, 0, 0, 0);
  const since = days === "" ? "" : new Date(today - (Number(days) - 1) * DAY_MS).toISOString();
  const given = Object.entries({ status, to, since }).filter(([, value]) => value !== "");
  return { limit: String(PER_PAGE), ...Object.fromEntries(given) };
}
