// The list of emails. Its filter and page are in the address, so that the way back leads to the same place.

import {
  Button,
  Card,
  EmptyState,
  ErrorNotice,
  formatNumber,
  Loading,
  type Meta,
  Page,
  Pagination,
  t,
  useCall,
  useLocation,
} from "../../../kit.ts";
import { type Filter, LIST, NAMES, readFilter, toQuery, writeAddress } from "./filter.ts";
import { Filters } from "./filters.tsx";
import { ListActions } from "./list-actions.tsx";
import { useSteady } from "../parts/steady.ts";
import { EmailTable } from "./table.tsx";

const PER_PAGE = 50;
/** More new emails than these are not counted. */
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
    if (meta !== undefined && cursor === undefined && page < meta.lastPage) return turn({ page: page + 1 });
    return next === null ? null : turn({ cursor: next });
  };
  const findNewer = () => {
    if (cursor !== undefined) return turn({});
    return page > 1 ? turn({ page: page - 1 }) : null;
  };
  return (
    <Page title={words.title} actions={<ListActions filter={filter} isFiltered={isFiltered} />}>
      <Filters filter={filter} error={error} go={go}>
        <div role="status">
          {hidden > 0 && page === 1 && cursor === undefined && <ShowNew count={hidden} show={showAll} />}
        </div>
      </Filters>
      {rows === undefined && error === null && <Loading />}
      {rows === undefined && error !== null && error.status !== 422 && <ErrorNotice error={error} retry={reload} />}
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
            <p class="small soft">{describeRange(meta, rows.length, cursor !== undefined)}</p>
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

function describeRange(meta: Meta<typeof LIST>, shown: number, isByCursor: boolean): string {
  const { page, perPage, total, totalIsMinimum } = meta;
  const words = t().emails;
  if (isByCursor) return words.rangeOlder(formatNumber(shown));
  const first = (page - 1) * perPage + 1;
  const tell = totalIsMinimum === true ? words.rangeMinimum : words.range;
  return tell(formatNumber(first), formatNumber(first + shown - 1), formatNumber(total));
}

function ShowNew({ count, show }: { count: number; show: () => void }) {
  return (
    <Button
      look="primary"
      onClick={() => {
        show();
        scrollTo(0, 0);
      }}
    >
      {t().emails.showNew(count, count >= MANY)}
    </Button>
  );
}
