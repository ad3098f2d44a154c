// The calls of a webhook. Filter and page are in the address, so that the way back leads to the same place.

import {
  Badge,
  Card,
  type Column,
  type Data,
  ErrorNotice,
  formatNumber,
  Loading,
  Pagination,
  Select,
  t,
  Table,
  Time,
  useCall,
  useLocation,
  workspacePath,
} from "../../../kit.ts";

type Delivery = Data<"GET /api/v1/webhooks/:id/deliveries">[number];

const PER_PAGE = 20;
const STATUSES = ["delivered", "failed"] as const;

export function WebhookCalls({ id }: { id: string }) {
  const words = t().calls;
  const { path, query, route } = useLocation();
  const status = STATUSES.find((each) => each === query["status"]);
  const page = Math.max(1, Math.trunc(Number(query["page"])) || 1);
  const asked = { page: String(page), limit: String(PER_PAGE), ...(status === undefined ? {} : { status }) };
  const { data, meta, error, reload } = useCall("GET /api/v1/webhooks/:id/deliveries", {
    params: { id },
    query: asked,
  });
  const go = (wanted: string | undefined, to = 1) => {
    const search = new URLSearchParams();
    if (wanted !== undefined && wanted !== "") search.set("status", wanted);
    if (to > 1) search.set("page", String(to));
    route(search.size === 0 ? path : `${path}?${search.toString()}`);
  };
  return (
    <Card title={words.title} intro={words.text}>
      <div class="filters">
        <Select
          name="status"
          label={words.status}
          value={status ?? ""}
          options={[
            { value: "", label: words.statusAny },
            ...STATUSES.map((each) => ({ value: each, label: words[each] })),
          ]}
          onChange={(wanted) => go(wanted)}
        />
      </div>
      {data === undefined && error === null && <Loading />}
      {error !== null && <ErrorNotice error={error} retry={reload} />}
      {data?.length === 0 && <p class="soft">{status === undefined ? words.none : words.noneFilter}</p>}
      {data !== undefined && meta !== undefined && data.length > 0 && (
        <>
          <CallTable webhookId={id} calls={data} caption={words.title} />
          <footer class="list-foot">
            <Pagination
              previous={page > 1 ? () => go(status, page - 1) : null}
              next={page < meta.lastPage ? () => go(status, page + 1) : null}
            />
          </footer>
        </>
      )}
    </Card>
  );
}

interface TableProps {
  webhookId: string;
  calls: Delivery[];
  caption: string;
}

export function CallTable({ webhookId, calls, caption }: TableProps) {
  const words = t().calls;
  const columns: Column<Delivery>[] = [
    {
      key: "event",
      title: words.event,
      isName: true,
      cell: ({ id, event }) => <a href={workspacePath(`webhooks/${webhookId}/${id}`)}>{event}</a>,
    },
    { key: "status", title: words.status, cell: (delivery) => <CallStatus delivery={delivery} /> },
    { key: "answer", title: words.answer, cell: ({ responseStatus }) => responseStatus ?? words.answerNone },
    { key: "attempt", title: words.attempt, isNumber: true, cell: ({ attempt }) => formatNumber(attempt) },
    {
      key: "duration",
      title: words.duration,
      isNumber: true,
      cell: ({ durationMs }) => words.milliseconds(formatNumber(durationMs)),
    },
    { key: "when", title: words.when, cell: ({ createdAt }) => <Time value={createdAt} /> },
  ];
  return <Table caption={caption} columns={columns} rows={calls} getKey={({ id }) => id} />;
}

export function CallStatus({ delivery: { deliveredAt } }: { delivery: Delivery }) {
  const words = t().calls;
  return deliveredAt === null ? <Badge tone="bad">{words.failed}</Badge> : <Badge tone="good">{words.delivered}</Badge>;
}
