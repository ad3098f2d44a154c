import { MINUTES, MinuteCounts } from "./minute-counts.ts";
import { Recent } from "./recent-values.ts";
import type { Registry } from "./registry.ts";

// What is counted as it happens. The rooms that these things happen in know nothing of metrics: each
// is handed one of the small objects made here, told only of what has become durable, and adding to a
// counter costs it less than a microsecond.

/** From a fifth of a millisecond (a memory disk) to what an operator should hear of. */
const COMMIT_SECONDS = [0.0002, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const CLOSURES = [1, 2, 5, 10, 20, 50, 100, 200, 500];
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LAG_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

const ATTEMPT_CLASSES = ["delivered", "deferred", "bounced", "failed", "unknown"];
/** What becomes of a letter (src/modules/inbound-mail/receive.ts). */
const LETTER_RESULTS = ["bounced", "complained", "noted", "repeated", "full", "gone", "ignored", "kept", "put_off"];
const STATUS_CLASSES = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/** Final states, by what their counter is called and says. */
const ENDS: Record<string, { help: string; hasCategory: boolean }> = {
  sent: { help: "Emails that the relay took.", hasCategory: false },
  delivered: { help: "Emails that the recipient's mail server took.", hasCategory: false },
  bounced: { help: "Emails refused for good, by category.", hasCategory: true },
  failed: { help: "Emails given up without a refusal, by category.", hasCategory: true },
  suppressed: { help: "Emails not sent because the recipient became suppressed meanwhile.", hasCategory: false },
  canceled: { help: "Emails canceled by the API.", hasCategory: false },
  complained: { help: "Emails that the recipient complained about.", hasCategory: false },
};

export type Counters = ReturnType<typeof createCounters>;

/**
 * Registers all that is counted; `now` in Unix ms. `categories` are what a refusal may be called; they stand at 0 from
 * the start: of a series that begins at 1 Prometheus misses the first step.
 */
export function createCounters(registry: Registry, now: () => number, categories: readonly string[]) {
  return {
    emails: emailCounters(registry, now, categories),
    commits: commitCounters(registry, now),
    http: httpCounters(registry),
    inbound: inboundCounters(registry),
    loop: loopCounters(registry, now),
  };
}

function emailCounters(registry: Registry, now: () => number, categories: readonly string[]) {
  const accepted = registry.counter({ name: "pombo_emails_accepted_total", help: "Emails accepted with a 202." });
  const ends = new Map(
    Object.entries(ENDS).map(([status, { help, hasCategory }]) => {
      const name = `pombo_emails_${status}_total`;
      return [status, registry.counter(hasCategory ? { name, help, labels: ["category"] } : { name, help })];
    }),
  );
  const deferred = registry.counter({
    name: "pombo_emails_deferred_total",
    help: "Times an email was put back for another attempt after a temporary failure, by category.",
    labels: ["category"],
  });
  const attempts = registry.counter({
    name: "pombo_attempts_total",
    help: "Attempts at delivering, by how they ended; unknown: the answer to the message was lost.",
    labels: ["class"],
  });
  for (const name of ATTEMPT_CLASSES) attempts.declare(name);
  for (const category of categories) {
    deferred.declare(category);
    ends.get("bounced")?.declare(category);
    ends.get("failed")?.declare(category);
  }
  const lately = new MinuteCounts<string>();
  return {
    accepted: (amount: number) => {
      accepted.add(amount);
      lately.add("accepted", amount, now());
    },
    ended: (status: string, category: string | null) => {
      lately.add(status, 1, now());
      if (ENDS[status]?.hasCategory === true) ends.get(status)?.add(1, category ?? "unknown");
      else ends.get(status)?.add(1);
    },
    attempted: (outcome: string, category: string | null) => {
      attempts.add(1, outcome);
      if (outcome !== "deferred") return;
      deferred.add(1, category ?? "unknown");
      lately.add("deferred", 1, now());
    },
    /** What happened in the last minutes. */
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

function commitCounters(registry: Registry, now: () => number) {
  const durations = registry.histogram(
    { name: "pombo_commit_duration_seconds", help: "How long transactions took, from BEGIN to synced." },
    COMMIT_SECONDS,
  );
  const closures = registry.histogram(
    { name: "pombo_commit_closures", help: "How many writes shared a transaction." },
    CLOSURES,
  );
  const failed = registry.counter({
    name: "pombo_commits_failed_total",
    help: "Transactions that could not be made durable.",
  });
  const recent = new Recent();
  const name = "pombo_commit_duration_p99_seconds";
  const help = "The 99th percentile of pombo_commit_duration_seconds over the last five minutes.";
  registry.read({ name, help, type: "gauge" }, () => recent.quantile(0.99, now()));
  return {
    committed: (durationMs: number, count: number) => {
      durations.observe(durationMs / 1_000);
      closures.observe(count);
      recent.observe(durationMs / 1_000, now());
    },
    failed: () => failed.add(1),
  };
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
  const letters = registry.counter({
    name: "pombo_inbound_letters_total",
    help: "Messages taken on the inbound port, by what they are addressed to.",
    labels: ["kind"],
  });
  for (const kind of ["bounce", "complaint", "person"]) letters.declare(kind);
  const results = registry.counter({
    name: "pombo_inbound_results_total",
    help: "What became of messages on the inbound port, for each address; put_off: not taken, to come again.",
    labels: ["result"],
  });
  for (const result of LETTER_RESULTS) results.declare(result);
  const refused = (name: string, help: string, reasons: string[]) => {
    const counter = registry.counter({ name: `pombo_inbound_${name}_refused_total`, help, labels: ["reason"] });
    for (const reason of reasons) counter.declare(reason);
    return (reason: string) => counter.add(1, reason);
  };
  return {
    letter: (kind: string) => letters.add(1, kind),
    clientRefused: refused("clients", "Connections to the inbound port refused because there were too many.", [
      "all",
      "network",
      "stopping",
    ]),
    recipientRefused: refused("recipients", "Recipients refused on the inbound port.", [
      "foreign",
      "unknown",
      "forged",
      "expired",
      "trouble",
    ]),
    letterRefused: refused("letters", "Messages not taken on the inbound port; trouble: they will come again.", [
      "too_large",
      "bare_line_end",
      "header",
      "no_room",
      "trouble",
    ]),
    taken: (result: string) => results.add(1, result),
  };
}

function loopCounters(registry: Registry, now: () => number) {
  const lag = registry.histogram(
    { name: "pombo_loop_lag_seconds", help: "How late the event loop ran a timer, measured ten times a second." },
    LAG_SECONDS,
  );
  const recent = new Recent();
  const over = "over the last five minutes.";
  registry.read(
    { name: "pombo_loop_lag_p99_seconds", help: `The 99th percentile of the loop's lag ${over}`, type: "gauge" },
    () => recent.quantile(0.99, now()),
  );
  registry.read(
    { name: "pombo_loop_lag_max_seconds", help: `The longest lag of the loop ${over}`, type: "gauge" },
    () => recent.max(now()),
  );
  return {
    late: (seconds: number) => {
      lag.observe(seconds);
      recent.observe(seconds, now());
    },
  };
}
