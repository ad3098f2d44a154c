// The list of emails. Its filter and page are in the address, so that the way back leads to the same place.

import {
  Button,
  Card,
  download,
  EmptyState,
  ErrorNotice,
  formatNumber,
  Loading,
  type Meta,
  Page,
  Pagination,
  t,
  useCall,
  useForm,
  useLocation,
} from "../../../kit.ts";
import { type Filter, LIST, NAMES, readFilter, toQuery, writeAddress } from "./filter.ts";
import { Filters } from "./filters.tsx";
import { useSteady } from "./steady.ts";
import { EmailTable } from "./table.tsx";
import { TestSendButton } from "./test-send.tsx";

const PER_PAGE = 50;
const FILE = "/api/v1/emails.csv";
/** More than these are not told apart from them. */
const MANY = PER_PAGE;

export function Emails() {
  const words = t().emails;
  const { path, query, route } = useLocation();
  const filter = readFilter(query);
  const page = Math.max(1, Math.trunc(Number(query["page"])) || 1);
  const cursor = query["cursor"];
  const place = cursor === undefined ? { page: String(page) } : { cursor };
  const asked = { ...toQuery(filter), ...place, limit: String(PER_PAGE), include: "status" as const };
  const { data, meta, error, reload } = useCall(LIST, { query: asked });
  const { rows, hidden, showAll } = useSteady(JSON.stringify(asked), data);
  const go = (change: Partial<Filter>) => route(writeAddress(path, { ...filter, ...change }));
  const turn = (to: { page?: number; cursor?: string }) => () => route(writeAddress(path, filter, to));
  const isFiltered = NAMES.some((name) => filter[name] !== "");
  const next = meta?.next_cursor ?? null;
  const findOlder = () => {
    if (meta?.lastPage !== undefined && page < meta.lastPage) return turn({ page: page + 1 });
    return next === null ? null : turn({ cursor: next });
  };
  const findNewer = () => {
    if (cursor !== undefined) return turn({});
    return page > 1 ? turn({ page: page - 1 }) : null;
  };
  return (
    <Page
      title={words.title}
      actions={
        <>
          <TestSendButton />
          <Export filter={filter} isFiltered={isFiltered} />
        </>
      }
    >
      <Filters filter={filter} error={error} go={go} />
      {rows === undefined && error === null && <Loading />}
      {rows === undefined && error !== null && error.status !== 422 && <ErrorNotice error={error} retry={reload} />}
      <div role="status">
        {hidden > 0 && page === 1 && cursor === undefined && (
          <Button
            look="primary"
            onClick={() => {
              showAll();
              scrollTo(0, 0);
            }}
          >
            {words.showNew(hidden, hidden >= MANY)}
          </Button>
        )}
      </div>
      {rows?.length === 0 && (
        <EmptyState icon="mail" title={isFiltered ? words.noneFilter : words.none}>
          {!isFiltered && <p>{words.noneText}</p>}
          {next !== null && (
            <>
              <p>{words.lookedAt}</p>
              <Button onClick={turn({ cursor: next })}>{words.lookOn}</Button>
            </>
          )}
        </EmptyState>
      )}
      {rows !== undefined && meta !== undefined && rows.length > 0 && (
        <Card>
          <EmailTable emails={rows} />
          <footer class="list-foot">
            <p class="small soft">{describeRange(meta, rows.length)}</p>
            <Pagination
              newer={cursor === undefined ? undefined : words.newest}
              previous={findNewer()}
              next={findOlder()}
            />
          </footer>
        </Card>
      )}
    </Page>
  );
}

function Export({ filter, isFiltered }: { filter: Filter; isFiltered: boolean }) {
  const words = t().emails;
  const search = new URLSearchParams(toQuery(filter)).toString();
  const file = useForm(() => download(search === "" ? FILE : `${FILE}?${search}`, "emails.csv"));
  return (
    <>
      {file.error !== null && <ErrorNotice error={file.error} />}
      <Button isBusy={file.isBusy} onClick={() => file.submit({})}>
        {isFiltered ? words.exportFiltered : words.export}
      </Button>
    </>
  );
}

function describeRange({ page, perPage, total, totalIsMinimum }: Partial<Meta<typeof LIST>>, shown: number): string {
  const words = t().emails;
  if (page === undefined || perPage === undefined || total === undefined) return words.rangeOlder(formatNumber(shown));
  const first = (page - 1) * perPage + 1;
  const tell = totalIsMinimum === true ? words.rangeMinimum : words.range;
  return tell(formatNumber(first), formatNumber(first + shown - 1), formatNumber(total));
}
