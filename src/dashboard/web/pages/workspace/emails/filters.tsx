// The fields that narrow the list of emails, and the marks of those that do.

import {
  type ApiError,
  Button,
  type ComponentChildren,
  Field,
  Form,
  Icon,
  Select,
  t,
  useCall,
  useForm,
  useState,
} from "../../../kit.ts";
import { isolate } from "../parts/words.tsx";
import { type Category, type Filter, type Name, NAMES, PERIODS, type Status, STATUSES } from "./filter.ts";

interface FiltersProps {
  filter: Filter;
  /** Of the list: at its field. */
  error: ApiError | null;
  go: (change: Partial<Filter>) => void;
}

const RARE: Name[] = ["from_day", "to_day", "domain", "category"];

export function Filters({ filter, error, go, children }: FiltersProps & { children: ComponentChildren }) {
  const words = t().emails;
  const [isOpen, setOpen] = useState(RARE.some((name) => filter[name] !== ""));
  const search = useForm(async ({ to = "", subject = "" }) => go({ to: to.trim(), subject: subject.trim() }));
  const any = { value: "", label: words.any };
  return (
    <>
      <div class="filters">
        <Select
          name="status"
          label={words.status}
          value={filter.status}
          options={[
            { value: "", label: words.statusAny },
            ...STATUSES.map((status) => ({ value: status, label: t().status[status] })),
          ]}
          onChange={(status) => go({ status })}
        />
        <Select
          name="days"
          label={words.period}
          value={filter.days}
          options={[any, ...PERIODS.map((days) => ({ value: days, label: words.periods[days] }))]}
          onChange={(days) => go({ days, from_day: "", to_day: "" })}
        />
        <Form state={{ ...search, error }} label={words.searchGo}>
          <Field
            key={`to ${filter.to}`}
            name="to"
            type="search"
            label={words.search}
            defaultValue={filter.to}
            autoComplete="off"
          />
          <Field
            key={`subject ${filter.subject}`}
            name="subject"
            type="search"
            label={words.subject}
            defaultValue={filter.subject}
            autoComplete="off"
          />
          <Button type="submit" icon="search">
            {words.searchGo}
          </Button>
        </Form>
      </div>
      {isOpen && <MoreFilters filter={filter} error={error} go={go} />}
      <div class="marks">
        <Button look="bare" icon="down" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {words.more}
        </Button>
        <Marks filter={filter} go={go} />
        {children}
      </div>
    </>
  );
}

function MoreFilters({ filter, error, go }: FiltersProps) {
  const words = t().emails;
  const domains = useCall("GET /api/v1/domains", { query: { limit: "100" } });
  const names = domains.data?.map(({ domain }) => domain) ?? [];
  const known = filter.domain === "" || names.includes(filter.domain) ? names : [filter.domain, ...names];
  const chosen = useForm(async ({ from_day = "", to_day = "" }) => go({ from_day, to_day, days: "" }));
  const any = { value: "", label: words.any };
  const day = (name: "from_day" | "to_day", label: string) => (
    <Field key={`${name} ${filter[name]}`} name={name} type="date" label={label} defaultValue={filter[name]} />
  );
  return (
    <div class="filters">
      <Form state={{ ...chosen, error }} label={words.more}>
        {day("from_day", words.fromDay)}
        {day("to_day", words.toDay)}
        <Button type="submit">{words.apply}</Button>
      </Form>
      <Select
        name="domain"
        label={words.domain}
        value={filter.domain}
        options={[any, ...known.map((domain) => ({ value: domain, label: domain }))]}
        onChange={(domain) => go({ domain })}
      />
      <Select
        name="category"
        label={words.category}
        value={filter.category}
        options={[any, ...Object.entries(words.categories).map(([category, label]) => ({ value: category, label }))]}
        onChange={(category) => go({ category })}
      />
    </div>
  );
}

/** What narrows the list, each a button that takes it away. */
function Marks({ filter, go }: Omit<FiltersProps, "error">) {
  const words = t().emails;
  const set = NAMES.filter((name) => filter[name] !== "");
  if (set.length === 0) return null;
  return (
    <ul class="marks" aria-label={words.filters}>
      {set.map((name) => {
        const said = describe(name, filter);
        return (
          <li key={name}>
            <button type="button" class="mark" aria-label={words.without(said)} onClick={() => go({ [name]: "" })}>
              <bdi>{said}</bdi>
              <Icon name="close" size={14} />
            </button>
          </li>
        );
      })}
      <li>
        <Button look="bare" onClick={() => go(Object.fromEntries(NAMES.map((name) => [name, ""])))}>
          {words.searchClear}
        </Button>
      </li>
    </ul>
  );
}

function describe(name: Name, filter: Filter): string {
  const words = t().emails;
  const value = filter[name];
  switch (name) {
    case "status":
      return t().status[value as Status];
    case "days":
      return words.periods[value as (typeof PERIODS)[number]];
    case "category":
      return words.categories[value as Category];
    case "from_day":
      return `${words.fromDay}: ${value}`;
    case "to_day":
      return `${words.toDay}: ${value}`;
    default:
      return `${{ to: words.to, subject: words.subject, domain: words.domain, tag: t().email.tag }[name]}: ${isolate(value)}`;
  }
}
