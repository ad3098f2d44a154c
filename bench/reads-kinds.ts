// What `script/bench reads` asks for.

import { SENDER_DOMAIN } from "./message.ts";
import type { SmsPages } from "./reads-sms.ts";
import { SINGLE_ADDRESS, WAITING_ADDRESS } from "./reads-rows.ts";

const FIRST_PAGES = [1, 2, 3, 4, 5];
const PAGE_SIZE = 20;
const DEEP_PAGE = 10_000;
/** A filter, and a deep page, takes a tenth of the requests: that tells as much of it. */
const SMALL_SHARE = 10;

/** GETs of one kind. */
export interface Kind {
  name: string;
  key: string;
  /** Asked in turn. */
  paths: string[];
  /** Of the requests: one in so many. */
  share: number;
  /** Of the median; for a page of the dashboard it is of the 99th percentile. */
  hasBound: boolean;
  isPage?: boolean;
}

interface Keys {
  workspace: string;
  /** Of a domain with a twentieth of the emails. */
  domain: string;
  /** Of one with a thousandth. */
  smallDomain: string;
}

interface World {
  rows: number;
  webhook: { calls: string[]; one: string[] };
  sms: SmsPages;
}

export function kindsOf(keys: Keys, ids: string[], world: World): Kind[] {
  const { rows } = world;
  const first = `pages 1–${FIRST_PAGES.at(-1)} of the list`;
  const single = { key: keys.workspace, share: 1, hasBound: true };
  return [
    { ...single, name: "an email by its id, with its body", paths: byId(ids) },
    { ...single, name: first, paths: pages("") },
    { ...single, name: `${first}, with status`, paths: pages("&include=status") },
    { ...single, name: `${first}, of one domain's key`, key: keys.domain, paths: pages("") },
    { ...single, name: "an email's timeline", paths: byId(ids).map((path) => `${path}/events`), hasBound: false },
    ...dashboardPages(keys.workspace, ids, world),
    ...deepPages(keys.workspace, rows),
    ...filters(keys, rows),
  ];
}

/** What the pages of the dashboard ask for; here with an API key, since there is a limit to how fast one person reads. */
function dashboardPages(key: string, ids: string[], { rows, webhook, sms }: World): Kind[] {
  const page = (name: string, ...paths: string[]): Kind => ({
    ...{ name: `dashboard, ${name}`, key, share: 3, hasBound: true, isPage: true },
    paths: paths.map((path) => `/api/v1${path}`),
  });
  const one = (rest: string) => ids.map((id) => `/emails/${id}${rest}`);
  return [
    page("home: workspace", "/workspace?include=usage"),
    page("home: domains", "/domains?limit=100"),
    page("home: emails", "/emails?limit=5&include=status"),
    page("emails", ...[1, 2, 3].map((number) => `/emails?limit=50&include=status&page=${number}`)),
    ...searches(key, rows),
    page("email", ...one("")),
    page("email: timeline", ...one("/events")),
    page("API keys", "/auth/keys?limit=50"),
    page("members", "/workspace/members?limit=50"),
    page("invitations", "/workspace/invitations?limit=50"),
    page("audit", "/workspace/audit?limit=50"),
    page("suppressions", "/suppressions?limit=50", "/suppressions?limit=50&reason=hard_bounce"),
    page("suppressions: beginning", "/suppressions?limit=50&q=s0000", "/suppressions?limit=50&q=nobody"),
    page("webhooks", "/webhooks?limit=50"),
    ...webhook.calls.map((path) => page(`webhook: ${path.slice(path.indexOf("?"))}`, path)),
    page("webhook: a call", ...webhook.one),
    ...Object.entries(sms).map(([name, paths]) => page(name, ...paths)),
  ];
}

/** The filters of the page of emails: what they find is everything, some or nothing, by page and by cursor. */
function searches(key: string, rows: number): Kind[] {
  const DAY_MS = 86_400_000;
  const day = (ago: number) => new Date(Date.now() - ago * DAY_MS).toISOString();
  const search = (query: string): Kind => ({
    ...{ name: `dashboard, emails: ${query.replaceAll(/T[^&]+/g, "")}`, key, share: 30, hasBound: true, isPage: true },
    paths: [`/api/v1/emails?limit=50&include=status&${query}`],
  });
  // Those that the older half, which is ended, has; and the newer one, which waits.
  const [old, until] = [`since=${day(29)}`, `until=${day(16)}`];
  const middle = Math.max(1, Math.floor(rows / 100));
  return [
    ...[
      "status=delivered",
      "status=delivery_delayed",
      `to=${WAITING_ADDRESS}`,
      `to=${WAITING_ADDRESS}&status=bounced`,
    ].map(search),
    ...[`page=${middle}`, `status=delivered&page=${Math.max(1, Math.floor(middle * 0.46))}`].map(search),
    ...["cursor=start", old, until, `${old}&${until}`, `since=${day(1)}&status=sending`, `${until}&status=queued`].map(
      search,
    ),
    ...[
      `domain=${SENDER_DOMAIN}`,
      `domain=${SENDER_DOMAIN}&${until}`,
      `domain=shop19.${SENDER_DOMAIN}`,
      "domain=nobody.test",
    ].map(search),
    ...[
      "category=invalid_recipient",
      "category=policy",
      `category=expired&${old}&${until}&domain=${SENDER_DOMAIN}`,
    ].map(search),
    ...["subject=e", "subject=nothing", `subject=e&${until}`, `subject=nothing&${until}&status=delivered`].map(search),
    ...["subject=nothing&cursor=start", `subject=e&cursor=start&${until}`, `subject=nothing&to=${WAITING_ADDRESS}`].map(
      search,
    ),
    search(`subject=nothing&domain=${SENDER_DOMAIN}&category=policy&status=bounced&${old}&${until}`),
  ];
}

/** The last page of all, and what lies farthest from both ends. */
function deepPages(key: string, rows: number): Kind[] {
  const last = Math.max(1, Math.ceil(rows / PAGE_SIZE));
  return [Math.min(DEEP_PAGE, last), Math.ceil(last / 2), last].map((page) => ({
    ...{ name: `page ${page} of the list`, key, share: SMALL_SHARE, hasBound: false },
    paths: [`/api/v1/emails?limit=${PAGE_SIZE}&page=${page}`],
  }));
}

function filters({ workspace, domain, smallDomain }: Keys, rows: number): Kind[] {
  const one = (key: string, words: string, query: string, hasBound = true): Kind => ({
    ...{ name: `${words}: ${query}`, key, share: SMALL_SHARE, hasBound },
    paths: [`/api/v1/emails?limit=${PAGE_SIZE}&${query}`],
  });
  const mine = (query: string, hasBound = true) => one(workspace, "workspace", query, hasBound);
  const middle = (share: number) => `&page=${Math.max(1, Math.floor((rows * share) / PAGE_SIZE / 2))}`;
  const from = `from=loja@${SENDER_DOMAIN}`;
  const to = `to=${WAITING_ADDRESS}`;
  return [
    mine("status=delivered"),
    mine(`status=delivered${middle(0.46)}`, false),
    mine("status=complained"),
    mine("status=queued"),
    mine("status=sending"),
    mine("status=delivery_delayed"),
    mine(`status=delivery_delayed${middle(0.5)}`, false),
    mine(`to=${SINGLE_ADDRESS}`),
    mine(to),
    mine(`${to}&page=500`),
    mine(from),
    mine(`${from}&page=500`),
    // Without a bound are those that read emails one by one: the newest 10,000 of an address, or all of a small domain.
    mine(`${to}&status=bounced`, false),
    mine(`${from}&status=delivery_delayed`, false),
    mine(`${from}&${to}`, false),
    mine(`${from}&to=${SINGLE_ADDRESS}`),
    ...["status=delivered", "status=complained", "status=delivery_delayed"].flatMap((query) => [
      one(domain, "a domain's key", query),
      one(smallDomain, "a small domain's key", query),
    ]),
    ...[to, from].flatMap((query) => [
      one(domain, "a domain's key", query, false),
      one(smallDomain, "a small domain's key", query, false),
    ]),
  ];
}

function byId(ids: string[]): string[] {
  return ids.map((id) => `/api/v1/emails/${id}`);
}

function pages(rest: string): string[] {
  return FIRST_PAGES.map((page) => `/api/v1/emails?limit=${PAGE_SIZE}&page=${page}${rest}`);
}
