// The counters and histograms: what is counted as it happens. Modules know nothing of metrics; each is given one of the
// small objects made here and calls it for what has become durable. Adding to a counter takes less than a microsecond.

import { MINUTES, MinuteCounts } from "./minute-counts.ts";
import type { Registry } from "./registry.ts";

/** From a fifth of a millisecond (a memory disk) to what an operator should hear of. */
const COMMIT_SECONDS = [0.0002, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const BATCH_SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500];
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LAG_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

const ATTEMPT_OUTCOMES = ["delivered", "deferred", "bounced", "failed", "unknown"];
/** See src/modules/inbound-mail/receive.ts. */
const INBOUND_RESULTS = [
  "bounced",
  "complained",
  "unsubscribed",
  "noted",
  "repeated",
  "full",
  "gone",
  "ignored",
  "kept",
  "deferred",
];
/** See src/modules/submission/replies.ts. */
const SUBMISSION_CODES = ["421", "451", "452", "530", "535", "550", "552", "553", "554"];
const STATUS_CLASSES = ["1xx", "2xx", "3xx", "4xx", "5xx"];
/** Final statuses of emails; those of the second list have a category. */
const FINAL_STATUSES = ["sent", "delivered", "suppressed", "canceled", "complained"];
const CATEGORIZED_STATUSES = ["bounced", "failed"];

export type Counters = ReturnType<typeof createCounters>;

/**
 * Registers all of them; `now` in Unix ms. The `categories` of refusals stand at 0 from the start: Prometheus misses the
 * first step of a series that begins at 1.
 */
export function createCounters(registry: Registry, now: () => number, categories: readonly string[]) {
  return {
    emails: emailCounters(registry, now, categories),
    commits: commitCounters(registry),
    http: httpCounters(registry),
    inbound: inboundCounters(registry),
    submission: submissionCounters(registry),
    certificates: certificateCounters(registry),
    eventLoop: eventLoopCounters(registry),
  };
}

function emailCounters(registry: Registry, now: () => number, categories: readonly string[]) {
  const accepted = registry.counter({ name: "pombo_emails_accepted_total", help: "Emails accepted with a 202." });
  const finished = registry.counter({
    name: "pombo_emails_finished_total",
    help: "Emails that reached a final status; category: why an email bounced or failed. A complaint follows a delivery.",
    labels: ["status", "category"],
  });
  const deferred = registry.counter({
    name: "pombo_emails_deferred_total",
    help: "Times that an email was deferred after a temporary failure, by category.",
    labels: ["category"],
  });
  const attempts = registry.counter({
    name: "pombo_email_attempts_total",
    help: "Delivery attempts by outcome; unknown: the reply to the message was lost.",
    labels: ["outcome"],
  });
  for (const outcome of ATTEMPT_OUTCOMES) attempts.declare(outcome);
  for (const status of FINAL_STATUSES) finished.declare(status, "");
  for (const category of categories) {
    deferred.declare(category);
    for (const status of CATEGORIZED_STATUSES) finished.declare(status, category);
  }
  const lately = new MinuteCounts<string>();
  return {
    accepted: (amount: number) => {
      accepted.add(amount);
      lately.add("accepted", amount, now());
    },
    ended: (status: string, category: string | null) => {
      lately.add(status, 1, now());
      finished.add(1, status, CATEGORIZED_STATUSES.includes(status) ? (category ?? "unknown") : "");
    },
    attempted: (outcome: string, category: string | null) => {
      attempts.add(1, outcome);
      if (outcome !== "deferred") return;
      deferred.add(1, category ?? "unknown");
      lately.add("deferred", 1, now());
    },
    lately: () => {
      const at = now();
      const of = (name: string) => lately.sum(name, at);
      // A relay has taken what is sent.
      const delivered = of("delivered") + of("sent");
      const rest = { deferred: of("deferred"), bounced: of("bounced"), failed: of("failed") };
      return { minutes: MINUTES, accepted: of("accepted"), delivered, ...rest };
    },
  };
}

function commitCounters(registry: Registry) {
  const durations = registry.histogram(
    { name: "pombo_commit_duration_seconds", help: "How long transactions took, from BEGIN to synced." },
    COMMIT_SECONDS,
  );
  const sizes = registry.histogram(
    { name: "pombo_commit_batch_size", help: "How many writes shared a transaction." },
    BATCH_SIZES,
  );
  const failed = registry.counter({
    name: "pombo_commits_failed_total",
    help: "Transactions that could not be made durable.",
  });
  return {
    committed: (durationMs: number, count: number) => {
      durations.observe(durationMs / 1_000);
      sizes.observe(count);
    },
    failed: () => failed.add(1),
    /** Since the start: how many there were, and how long 99 of 100 took at most; null: there was none. */
    durations: () => {
      const p99 = durations.quantile(0.99);
      return { count: durations.count, p99Ms: p99 === null ? null : p99 * 1_000 };
    },
  };
}

function certificateCounters(registry: Registry) {
  const renewals = registry.counter({
    name: "pombo_certificate_renewals_total",
    help: "Orders of a TLS certificate by their result.",
    labels: ["result"],
  });
  for (const result of ["issued", "failed"]) renewals.declare(result);
  return { ended: (result: "issued" | "failed") => renewals.add(1, result) };
}

function httpCounters(registry: Registry) {
  const requests = registry.counter({
    name: "pombo_http_requests_total",
    help: "Requests answered by the API, by class of status.",
    labels: ["class"],
  });
  for (const name of STATUS_CLASSES) requests.declare(name);
  const durations = registry.histogram(
    { name: "pombo_http_request_duration_seconds", help: "How long the API took to answer." },
    REQUEST_SECONDS,
  );
  return {
    answered: (status: number, durationMs: number) => {
      requests.add(1, STATUS_CLASSES[Math.floor(status / 100) - 1] ?? "5xx");
      durations.observe(durationMs / 1_000);
    },
  };
}

function inboundCounters(registry: Registry) {
  const counter = (name: string, help: string, { label, values }: { label: string; values: string[] }) => {
    const made = registry.counter({ name: `pombo_inbound_${name}_total`, help, labels: [label] });
    for (const value of values) made.declare(value);
    return (value: string) => made.add(1, value);
  };
  return {
    message: counter("messages", "Messages taken on the inbound port, by what they are addressed to.", {
      label: "kind",
      values: ["bounce", "complaint", "unsubscribe", "person"],
    }),
    processed: counter("results", "What became of inbound messages, for each recipient; deferred: refused for now.", {
      label: "result",
      values: INBOUND_RESULTS,
    }),
    clientRefused: counter("connections_refused", "Connections to the inbound port refused because of a limit.", {
      label: "reason",
      values: ["all", "network", "stopping"],
    }),
    recipientRefused: counter("recipients_refused", "Recipients refused on the inbound port.", {
      label: "reason",
      values: ["foreign", "unknown", "forged", "expired", "unavailable"],
    }),
    messageRefused: counter(
      "messages_refused",
      "Messages refused on the inbound port; no_room and unavailable: the client tries again.",
      { label: "reason", values: ["too_large", "bare_line_end", "header", "no_room", "unavailable"] },
    ),
  };
}

function submissionCounters(registry: Registry) {
  const accepted = registry.counter({
    name: "pombo_submission_messages_total",
    help: "Messages accepted by SMTP; each recipient is an email of its own in pombo_emails_accepted_total.",
  });
  const refused = registry.counter({
    name: "pombo_submission_refused_total",
    help: "Refusals on the submission ports by reply code; 4xx: the client tries again.",
    labels: ["code"],
  });
  for (const code of SUBMISSION_CODES) refused.declare(code);
  const failures = registry.counter({
    name: "pombo_submission_auth_failures_total",
    help: "Times that a client of the submission ports gave no valid API key.",
  });
  return {
    accepted: () => accepted.add(1),
    refused: (code: number) => refused.add(1, String(code)),
    authFailed: () => failures.add(1),
  };
}

function eventLoopCounters(registry: Registry) {
  const lag = registry.histogram(
    {
      name: "pombo_event_loop_lag_seconds",
      help: "How late the event loop ran a timer, measured ten times a second.",
    },
    LAG_SECONDS,
  );
  return { lagged: (seconds: number) => lag.observe(seconds) };
}
