// The list of emails. Its filter and page are in the address, so that the way back leads to the same place.

import {
  Button,
  Card,
  type Data,
  EmptyState,
  ErrorNotice,
  Field,
  Form,
  formatNumber,
  Loading,
  type Meta,
  Page,
  Pagination,
  Select,
  t,
  useCall,
  useForm,
  useLocation,
} from "../../../kit.ts";
import { EmailTable } from "./table.tsx";
import { TestSendButton } from "./test-send.tsx";
import { isolate } from "../parts/words.tsx";

const PER_PAGE = 50;

type Status = NonNullable<Data<"GET /api/v1/emails">[number]["status"]>;

/** In the order of a life. */
const STATUSES = Object.keys({
  scheduled: 0,
  queued: 0,
  sending: 0,
  delivery_delayed: 0,
  sent: 0,
  delivered: 0,
  bounced: 0,
  failed: 0,
  complained: 0,
  suppressed: 0,
  canceled: 0,
} satisfies Record<Status, 0>) as Status[];

interface Filter {
  status: Status | undefined;
  to: string;
  /** Given by the page of an email. */
  tag: string;
  page: number;
}

export function Emails() {
  const words = t().emails;
  const { path, query, route } = useLocation();
  const filter = readFilter(query);
  const { data, meta, error, reload } = useCall("GET /api/v1/emails", {
    query: { ...toQuery(filter), page: String(filter.page), limit: String(PER_PAGE), include: "status" },
  });
  const go = (change: Partial<Filter>) => route(`${path}${writeQuery({ ...filter, page: 1, ...change })}`);
  const isFiltered = filter.status !== undefined || filter.to !== "" || filter.tag !== "";
  const search = useForm(async ({ to = "" }) => go({ to: to.trim() }));
  return (
    <Page title={words.title} actions={<TestSendButton />}>
      <div class="filters">
        <Select
          name="status"
          label={words.status}
          value={filter.status ?? ""}
          options={[
            { value: "", label: words.statusAny },
            ...STATUSES.map((status) => ({ value: status, label: t().status[status] })),
          ]}
          onChange={(status) => go({ status: findStatus(status) })}
        />
        <Form state={{ ...search, error }} label={words.searchGo}>
          <Field
            key={filter.to}
            name="to"
            type="search"
            label={words.search}
            defaultValue={filter.to}
            autoComplete="off"
          />
          <Button type="submit" icon="search">
            {words.searchGo}
          </Button>
        </Form>
        {isFiltered && <Button onClick={() => go({ status: undefined, to: "", tag: "" })}>{words.searchClear}</Button>}
        {filter.tag !== "" && <p class="small soft">{words.tagged(isolate(filter.tag))}</p>}
      </div>
      {data === undefined && error === null && <Loading />}
      {data === undefined && error !== null && error.status !== 422 && <ErrorNotice error={error} retry={reload} />}
      {data?.length === 0 && (
        <EmptyState icon="mail" title={isFiltered ? words.noneFilter : words.none}>
          {!isFiltered && <p>{words.noneText}</p>}
        </EmptyState>
      )}
      {data !== undefined && meta !== undefined && data.length > 0 && (
        <Card>
          <EmailTable emails={data} />
          <footer class="list-foot">
            <p class="small soft">{describeRange(meta, data.length)}</p>
            <Pagination
              previous={filter.page > 1 ? () => go({ page: filter.page - 1 }) : null}
              next={filter.page < meta.lastPage ? () => go({ page: filter.page + 1 }) : null}
            />
          </footer>
        </Card>
      )}
    </Page>
  );
}

function describeRange({ page, perPage, total, totalIsMinimum }: Meta<"GET /api/v1/emails">, shown: number): string {
  const words = t().emails;
  const first = (page - 1) * perPage + 1;
  const tell = totalIsMinimum === true ? words.rangeMinimum : words.range;
  return tell(formatNumber(first), formatNumber(first + shown - 1), formatNumber(total));
}

function findStatus(word: string | undefined): Status | undefined {
  return STATUSES.find((status) => status === word);
}

function readFilter(query: Record<string, string>): Filter {
  return {
    status: findStatus(query["status"]),
    to: query["to"] ?? "",
    tag: query["tag"] ?? "",
    page: Math.max(1, Math.trunc(Number(query["page"])) || 1),
  };
}

/** What is empty is not asked for. */
function toQuery({ status, to, tag }: Filter) {
  return {
    ...(status === undefined ? {} : { status }),
    ...(to === "" ? {} : { to }),
    ...(tag === "" ? {} : { tag }),
  };
}

function writeQuery({ status, to, tag, page }: Filter): string {
  const search = new URLSearchParams();
  if (status !== undefined) search.set("status", status);
  if (to !== "") search.set("to", to);
  if (tag !== "") search.set("tag", tag);
  if (page > 1) search.set("page", String(page));
  return search.size === 0 ? "" : `?${search.toString()}`;
}
