// What programs asked of the API. What comes while somebody reads waits behind a button, so that no row moves under the eyes.

import {
  Badge,
  Button,
  call,
  type CallOptions,
  Card,
  type Column,
  type Data,
  EmptyState,
  ErrorNotice,
  formatNumber,
  Loading,
  type Meta,
  Page,
  Select,
  t,
  Table,
  Time,
  useCall,
  useLocation,
  useState,
} from "../../../kit.ts";
import { useOlder } from "../parts/older.ts";
import { Line } from "../parts/words.tsx";
import { RequestDialog } from "./dialog.tsx";

const LIST = "GET /api/v1/workspace/requests";

type Logged = Data<typeof LIST>[number];
type Query = NonNullable<CallOptions<typeof LIST>["query"]>;
interface Answer {
  data: Logged[];
  meta: Meta<typeof LIST>;
}

const STATUSES = ["2xx", "failed"] as const;

export function Requests() {
  const words = t().requests;
  const { path, query: asked, route } = useLocation();
  const status = STATUSES.find((each) => each === asked["status"]);
  const keyId = asked["keyId"] ?? "";
  const keys = useCall("GET /api/v1/auth/keys", { query: { limit: "100" } });
  const go = (change: { status?: string; keyId?: string }) => {
    const search = new URLSearchParams(
      Object.entries({ status: status ?? "", keyId, ...change }).filter(([, value]) => value),
    );
    route(search.size === 0 ? path : `${path}?${search.toString()}`);
  };
  const isFiltered = status !== undefined || keyId !== "";
  const query: Query = {
    limit: "50",
    ...(status === undefined ? {} : { status }),
    ...(keyId === "" ? {} : { keyId }),
  };
  const known = (keys.data ?? []).map(({ id, name, prefix }) => ({ value: id, label: `${name} (svc_${prefix}…)` }));
  const gone =
    keyId === "" || known.some(({ value }) => value === keyId) ? [] : [{ value: keyId, label: words.keyGone }];
  return (
    <Page title={words.title} intro={words.text}>
      <div class="filters">
        <Select
          name="status"
          label={words.status}
          value={status ?? ""}
          options={[
            { value: "", label: words.statusAny },
            { value: "2xx", label: words.succeeded },
            { value: "failed", label: words.failed },
          ]}
          onChange={(chosen) => go({ status: chosen })}
        />
        <Select
          name="keyId"
          label={words.key}
          value={keyId}
          options={[{ value: "", label: words.keyAny }, ...known, ...(keys.data === undefined ? [] : gone)]}
          onChange={(chosen) => go({ keyId: chosen })}
        />
        {isFiltered && <Button onClick={() => go({ status: "", keyId: "" })}>{words.clear}</Button>}
      </div>
      <List key={JSON.stringify(query)} query={query} isFiltered={isFiltered} />
    </Page>
  );
}

function List({ query, isFiltered }: { query: Query; isFiltered: boolean }) {
  const words = t().requests;
  const { data, meta, error, reload } = useCall(LIST, { query });
  const [held, setHeld] = useState<Answer | null>(null);
  const latest = data === undefined || meta === undefined ? null : { data, meta };
  // The first that is not empty stays until somebody asks for the newer ones.
  const shown = held ?? latest;
  if (held === null && latest !== null && latest.data.length > 0) setHeld(latest);
  if (shown === null || latest === null)
    return error === null ? <Loading /> : <ErrorNotice error={error} retry={reload} />;
  if (shown.data.length === 0)
    return (
      <EmptyState icon="list" title={isFiltered ? words.noneFilter : words.none}>
        {!isFiltered && <p>{words.noneText}</p>}
      </EmptyState>
    );
  const newest = shown.data[0]?.id ?? "";
  const found = latest.data.findIndex(({ id }) => id === newest);
  const fresh = found === -1 ? latest.data.length : found;
  return (
    <Card>
      {error !== null && <ErrorNotice error={error} retry={reload} />}
      {fresh > 0 && (
        <div role="status">
          <Button onClick={() => setHeld(latest)}>
            {words.fresh(formatNumber(fresh) + (found === -1 ? "+" : ""))}
          </Button>
        </div>
      )}
      <Rows key={newest} page={shown} query={query} />
    </Card>
  );
}

function Rows({ page, query }: { page: Answer; query: Query }) {
  const words = t().requests;
  const list = useOlder({ ...page, error: null }, (cursor) => call(LIST, { query: { ...query, cursor } }));
  const [opened, setOpened] = useState<Logged | null>(null);
  return (
    <>
      <Table caption={words.title} columns={buildColumns(setOpened)} rows={list.rows ?? []} getKey={({ id }) => id} />
      {list.error !== null && <ErrorNotice error={list.error} />}
      {list.showOlder !== null && (
        <Button isBusy={list.isBusy} onClick={list.showOlder}>
          {t().common.older}
        </Button>
      )}
      {opened !== null && <RequestDialog of={opened} close={() => setOpened(null)} />}
    </>
  );
}

function buildColumns(open: (request: Logged) => void): Column<Logged>[] {
  const words = t().requests;
  return [
    {
      key: "request",
      title: words.request,
      isName: true,
      cell: (request) => (
        <Button look="bare" onClick={() => open(request)}>
          {request.method} {shorten(request.path)}
        </Button>
      ),
    },
    { key: "status", title: words.status, cell: (request) => <Outcome of={request} /> },
    { key: "key", title: words.key, cell: ({ key }) => (key === null ? words.keyGone : <Line>{key.name}</Line>) },
    {
      key: "duration",
      title: words.duration,
      cell: ({ ms }) => words.milliseconds(formatNumber(ms)),
    },
    { key: "when", title: words.when, cell: ({ at }) => <Time value={at} /> },
  ];
}

function Outcome({ of: { status, error } }: { of: Logged }) {
  return (
    <span>
      <Badge tone={status < 400 ? "good" : "bad"}>{status}</Badge>
      {error !== null && <code> {error.code}</code>}
    </span>
  );
}

/** Without what all paths begin with, and of ids the beginning. */
function shorten(path: string): string {
  return path.replace(/^\/api\/v1/, "").replaceAll(/([0-9a-f]{8})-[0-9a-f-]{27}/gi, "$1…");
}
