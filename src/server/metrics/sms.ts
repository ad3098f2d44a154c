import type { Registry, Sample } from "../../platform/metrics/registry.ts";

// What is read of SMS when somebody asks. Its labels are the routes and links of the configuration.

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

export interface TextFigures {
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

const LINK = ["route", "link"];

/** Registers all of it; `read` is called once for each metric that is asked for. */
export function registerTexts(registry: Registry, read: () => TextFigures, now: () => number): void {
  const gauge = (name: string, help: string, value: (link: LinkFigures) => number) =>
    registry.read({ name, help, labels: LINK, type: "gauge" }, () => read().links.map((link) => sample(link, value)));
  const counter = (name: string, help: string, value: (link: LinkFigures) => number) =>
    registry.read({ name, help, labels: LINK, type: "counter" }, () => read().links.map((link) => sample(link, value)));
  const byWord = (name: string, about: { help: string; label: string }, words: (link: LinkFigures) => object) =>
    registry.read({ name, help: about.help, labels: [...LINK, about.label], type: "counter" }, () =>
      read().links.flatMap((link) =>
        Object.entries(words(link)).map(([word, value]: [string, number]) => ({
          labels: [link.route, link.name, word],
          value,
        })),
      ),
    );
  const ofRoute = (name: string, help: string, value: (route: TextFigures["routes"][number]) => number) =>
    registry.read({ name, help, labels: ["route"], type: "gauge" }, () =>
      read().routes.map((each) => ({ labels: [each.route], value: value(each) })),
    );

  gauge("pombo_sms_link_bound", "1 while the link to the SMSC is bound, else 0.", ({ isBound }) => (isBound ? 1 : 0));
  gauge("pombo_sms_link_window_size", "Segments that may wait for their answers.", ({ window }) => window);
  gauge("pombo_sms_link_window_used", "Segments that do.", ({ inUse }) => inUse);
  gauge(
    "pombo_sms_link_rate",
    "Segments a second that may be sent now: less after the SMSC throttled.",
    (link) => Math.round(link.ratePerSecond * 10) / 10,
  );
  byWord(
    "pombo_sms_submits_total",
    { help: "Submits by how they ended; unanswered and lost: their outcome is unknown.", label: "outcome" },
    ({ counts }) => counts.submits,
  );
  byWord(
    "pombo_sms_receipts_total",
    { help: "Receipts, by what they say.", label: "state" },
    ({ counts }) => counts.receipts,
  );
  byWord(
    "pombo_sms_link_ends_total",
    { help: "Connections that ended or could not be made, and binds that were refused.", label: "why" },
    ({ counts }) => counts.ends,
  );
  counter(
    "pombo_sms_link_throttled_total",
    "Times that the SMSC slowed the link down.",
    ({ counts }) => counts.throttled,
  );
  counter("pombo_sms_inbound_total", "Texts from subscribers, and parts of them.", ({ counts }) => counts.texts);
  ofRoute("pombo_sms_waiting", "Segments that wait to be sent, counted up to 100,000.", ({ waiting }) => waiting);
  ofRoute("pombo_sms_oldest_seconds", "How long the oldest of them has been waiting.", ({ oldestAt }) =>
    oldestAt === null ? 0 : Math.max(0, now() - oldestAt) / 1_000,
  );
  ofRoute("pombo_sms_receipts_unmatched", "Receipts kept that fit no text.", ({ unmatched }) => unmatched);
  registry.read(
    {
      name: "pombo_sms_ended_total",
      help: "Changes of texts by their new status.",
      labels: ["status"],
      type: "counter",
    },
    () => Object.entries(read().ended).map(([status, value]) => ({ labels: [status], value })),
  );
  registry.read(
    {
      name: "pombo_sms_possible_duplicates_total",
      help: "Texts sent again because an answer was lost.",
      type: "counter",
    },
    () => read().possibleDuplicates,
  );
}

function sample(link: LinkFigures, value: (link: LinkFigures) => number): Sample {
  return { labels: [link.route, link.name], value: value(link) };
}
