// The metrics of SMS, read at each scrape. Their labels are the routes and links of the configuration.

import type { Registry } from "../../platform/metrics/registry.ts";

interface LinkFigures {
  route: string;
  name: string;
  isBound: boolean;
  window: number;
  inUse: number;
  ratePerSecond: number;
  /** Since the start. */
  counts: {
    submits: Record<string, number>;
    receipts: Record<string, number>;
    ends: Record<string, number>;
    throttled: number;
    texts: number;
  };
}

export interface SmsFigures {
  links: LinkFigures[];
  routes: {
    route: string;
    /** Segments; of very many only so many are counted. */
    waiting: number;
    /** When the oldest of them was accepted, Unix ms; null: none waits. */
    oldestAt: number | null;
    /** Receipts that fit nothing. */
    unmatched: number;
  }[];
  /** Since the start. */
  ended: Record<string, number>;
  possibleDuplicates: number;
}

/** Registers all of them; `read` is called once for each. */
export function registerSms(registry: Registry, read: () => SmsFigures, now: () => number): void {
  registerLinks(registry, read);
  registerRoutes(registry, read, now);
}

function registerLinks(registry: Registry, read: () => SmsFigures): void {
  const byLink = (type: "gauge" | "counter") => (name: string, help: string, value: (link: LinkFigures) => number) =>
    registry.read({ name, help, labels: ["route", "link"], type }, () =>
      read().links.map((link) => ({ labels: [link.route, link.name], value: value(link) })),
    );
  const linkGauge = byLink("gauge");
  const linkCounter = byLink("counter");
  const byWord = (name: string, help: string, label: string, words: (link: LinkFigures) => Record<string, number>) =>
    registry.read({ name, help, labels: ["route", "link", label], type: "counter" }, () =>
      read().links.flatMap((link) =>
        Object.entries(words(link)).map(([word, value]) => ({ labels: [link.route, link.name, word], value })),
      ),
    );
  linkGauge("pombo_sms_link_bound", "1 while the link to the SMSC is bound, else 0.", ({ isBound }) => Number(isBound));
  linkGauge(
    "pombo_sms_link_window_size",
    "Segments that may wait for their responses at once.",
    ({ window }) => window,
  );
  linkGauge("pombo_sms_link_window_used", "Segments that wait for their responses.", ({ inUse }) => inUse);
  linkGauge(
    "pombo_sms_link_rate_limit",
    "Segments a second that may be sent now; lower after the SMSC throttled.",
    ({ ratePerSecond }) => Math.round(ratePerSecond * 10) / 10,
  );
  byWord(
    "pombo_sms_submits_total",
    "Submits by outcome; unanswered and lost: nobody knows whether the SMSC took them.",
    "outcome",
    ({ counts }) => counts.submits,
  );
  byWord("pombo_sms_receipts_total", "Delivery receipts by state.", "state", ({ counts }) => counts.receipts);
  byWord(
    "pombo_sms_link_disconnects_total",
    "Connections that ended or could not be made, and binds that were refused.",
    "reason",
    ({ counts }) => counts.ends,
  );
  linkCounter(
    "pombo_sms_link_throttled_total",
    "Times that the SMSC throttled the link.",
    ({ counts }) => counts.throttled,
  );
  linkCounter(
    "pombo_sms_inbound_messages_total",
    "Messages from subscribers; each part of a long one counts.",
    ({ counts }) => counts.texts,
  );
}

function registerRoutes(registry: Registry, read: () => SmsFigures, now: () => number): void {
  const byRoute = (name: string, help: string, value: (route: SmsFigures["routes"][number]) => number) =>
    registry.read({ name, help, labels: ["route"], type: "gauge" }, () =>
      read().routes.map((each) => ({ labels: [each.route], value: value(each) })),
    );
  byRoute("pombo_sms_queue_depth", "Segments in the queue, counted up to 100,000.", ({ waiting }) => waiting);
  byRoute(
    "pombo_sms_queue_oldest_message_age_seconds",
    "Time since the oldest message in the queue was accepted.",
    ({ oldestAt }) => (oldestAt === null ? 0 : Math.max(0, now() - oldestAt) / 1_000),
  );
  byRoute("pombo_sms_receipts_unmatched", "Stored receipts that match no message.", ({ unmatched }) => unmatched);
  registry.read(
    {
      name: "pombo_sms_messages_total",
      help: "Messages by the status that they reached; one that is sent may be delivered later.",
      labels: ["status"],
      type: "counter",
    },
    () => Object.entries(read().ended).map(([status, value]) => ({ labels: [status], value })),
  );
  registry.read(
    {
      name: "pombo_sms_possible_duplicates_total",
      help: "Messages sent again because a response was lost.",
      type: "counter",
    },
    () => read().possibleDuplicates,
  );
}
