// The links of all routes for the operator: as configured, and their state where an instance runs.

import { toIsoTime, toIsoTimeOrNull } from "../../../platform/http/times.ts";
import { findStatusRule } from "../../../protocols/smpp/submit-outcome.ts";
import type { LinkStore } from "../gateway/link-store.ts";
import type { Links, LinkView } from "../gateway/links.ts";
import type { LinkHistory, OperatorLink } from "./operator-schema.ts";
import { pduText } from "./pdu-text.ts";
import type { Route } from "../gateway/route-settings.ts";
import { LEARNED } from "../receipts/process.ts";

export interface LinkOverviewDeps {
  routes: ReadonlyMap<string, Route>;
  links: Pick<Links, "views" | "find">;
  store: Pick<LinkStore, "learned" | "listEvents">;
  /** Whether messages and numbers may be seen. */
  isAllShown: boolean;
}

export type LinkOverview = ReturnType<typeof createLinkOverview>;

export function createLinkOverview({ routes, links, store, isAllShown }: LinkOverviewDeps) {
  return {
    /** In the order of the configuration. */
    links(): (typeof OperatorLink.static)[] {
      const views = new Map(links.views().map((view) => [view.name, view]));
      return [...routes.values()].flatMap((route) => {
        const { name, messageIdFormat } = route.config;
        const ids = messageIdFormat === "auto" ? store.learned(name, LEARNED) : messageIdFormat;
        return route.links.map((settings) => {
          const { host, port, tls, window: size, ratePerSecond: configured } = settings;
          const own = { route: name, name: settings.name, host, port, tls, ids };
          const view = views.get(settings.name);
          const rate = view === undefined ? configured : Math.round(view.ratePerSecond * 10) / 10;
          return {
            ...own,
            window: { size, used: view?.inUse ?? 0 },
            rate: { configured, now: rate },
            ...(view === undefined ? NOT_RUNNING : showView(view)),
          };
        });
      });
    },
    /** Null: there is no such link. */
    history(link: string | null, limit: number): typeof LinkHistory.static | null {
      const all = [...routes.values()].flatMap((route) => route.links.map(({ name }) => name));
      const chosen = link === null ? all : all.filter((name) => name === link);
      if (link !== null && chosen.length === 0) return null;
      const events = chosen.flatMap((name) => store.listEvents(name, limit));
      const pdus = chosen.flatMap((name) =>
        (links.find(name)?.status.pdus ?? []).map((pdu) => ({ ...pdu, link: name })),
      );
      return {
        events: events
          .toSorted((a, b) => b.id - a.id)
          .slice(0, limit)
          .map(({ link: of, kind, detail, createdAt }) => ({ at: toIsoTime(createdAt), link: of, kind, detail })),
        pdus: pdus
          .toSorted((a, b) => b.at - a.at)
          .map(({ link: of, at, direction, bytes }) => {
            const { command, sequence, status, raw } = pduText(bytes, isAllShown);
            const statusName = /_resp$|nack/.test(command) ? findStatusRule(status).name : null;
            return { at: toIsoTime(at), link: of, direction, command, sequence, status, statusName, raw };
          }),
      };
    },
  };
}

type Standing = Pick<
  typeof OperatorLink.static,
  "state" | "since" | "retryAt" | "lastError" | "submits" | "receipts" | "inbound" | "reconnects"
>;

const NOT_RUNNING: Standing = {
  state: "not_running",
  since: null,
  retryAt: null,
  lastError: null,
  submits: { accepted: 0, throttled: 0, later: 0, refused: 0, unanswered: 0, lost: 0 },
  receipts: 0,
  inbound: 0,
  reconnects: 0,
};

function showView({ state, since, retryAt, error, counts }: LinkView): Standing {
  const { submits, receipts, ends, texts: inbound } = counts;
  return {
    state,
    since: toIsoTime(since),
    retryAt: toIsoTimeOrNull(retryAt),
    lastError: error === null ? null : { ...error, at: toIsoTime(error.at) },
    submits: { ...submits },
    receipts: Object.values(receipts).reduce((sum, each) => sum + each, 0),
    inbound,
    reconnects: ends.lost + ends.refused,
  };
}
