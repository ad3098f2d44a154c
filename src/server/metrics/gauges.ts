// The gauges, read at each scrape. Each source is a function of the composition root; it must be quick, since the event
// loop stands still meanwhile.

import type { SiteDepth } from "../../modules/emails/queue/depth-sampler.ts";
import { registerSms, type SmsFigures } from "./sms.ts";
import type { Reading, Registry, Sample } from "../../platform/metrics/registry.ts";

export interface Sources {
  /** Unix ms. */
  now: () => number;
  isReady: () => boolean;
  build: { version: string; commit: string };
  /** Null: not counted yet. */
  backlog: () => SiteDepth[] | null;
  /** Emails scheduled for a time ahead; null: not counted yet. */
  scheduled: () => number | null;
  runningAttempts: () => number;
  sessions: () => { busy: number; idle: number };
  inboundConnections: () => number;
  submissionConnections: () => number;
  /** Sites that nothing is sent to for now. */
  blockedSites: () => number;
  files: () => { databaseBytes: number; walBytes: number };
  /** Null: it cannot be read. */
  freeDiskBytes: () => number | null;
  diskDaysLeft: () => number | null;
  /** Null: no certificate but a self-made one. */
  certificateSecondsLeft: () => number | null;
  process: () => { residentBytes: number; heapBytes: number; cpuSeconds: number };
  /** Unix ms. */
  startedAt: number;
  sms: () => SmsFigures;
}

export function registerGauges(registry: Registry, sources: Sources): void {
  const gauge = (name: string, help: string, read: () => Reading, ...labels: string[]) =>
    registry.read({ name, help, labels, type: "gauge" }, read);
  gauge("pombo_ready", "1 while the instance can accept and send, else 0: /ready says why.", () =>
    sources.isReady() ? 1 : 0,
  );
  const { version, commit } = sources.build;
  gauge("pombo_build_info", "What is running.", () => [{ labels: [version, commit], value: 1 }], "version", "commit");
  const bySite = (value: (site: SiteDepth) => number) => (): Sample[] | null =>
    sources.backlog()?.map((site) => ({ labels: [site.site], value: value(site) })) ?? null;
  gauge(
    "pombo_queue_depth",
    "Emails in the queue, by site, without those scheduled for later; the smaller sites together are other.",
    bySite(({ depth }) => depth),
    "site",
  );
  gauge(
    "pombo_queue_oldest_message_age_seconds",
    "Time since the oldest email in the queue was accepted, or since its sendAt, by site.",
    bySite(({ oldestAt }) => (oldestAt === null ? 0 : Math.max(0, sources.now() - oldestAt) / 1_000)),
    "site",
  );
  gauge("pombo_emails_scheduled", "Emails that wait for their sendAt.", () => sources.scheduled());
  registerSms(registry, sources.sms, sources.now);
  gauge("pombo_email_attempts_in_progress", "Delivery attempts under way.", () => sources.runningAttempts());
  gauge(
    "pombo_smtp_sessions",
    "Sessions with mail servers: busy, or idle and kept for the next message.",
    () => Object.entries(sources.sessions()).map(([state, value]) => ({ labels: [state], value })),
    "state",
  );
  gauge("pombo_submission_connections", "Open connections to the submission ports.", () =>
    sources.submissionConnections(),
  );
  gauge("pombo_inbound_connections", "Open connections to the inbound port.", () => sources.inboundConnections());
  gauge("pombo_sites_blocked", "Destinations that get no mail for now: they do not answer, or asked for it.", () =>
    sources.blockedSites(),
  );
  gauge("pombo_database_size_bytes", "Size of the database file.", () => sources.files().databaseBytes);
  gauge("pombo_database_wal_size_bytes", "Size of the database's write-ahead log.", () => sources.files().walBytes);
  gauge(
    "pombo_disk_days_left",
    "Days until the disk is too full to accept messages, at the growth of the last week; absent: not known.",
    () => sources.diskDaysLeft(),
  );
  gauge("pombo_disk_free_bytes", "Free space on the disk of the data directory.", () => sources.freeDiskBytes());
  gauge(
    "pombo_certificate_expires_seconds",
    "Seconds until the TLS certificate expires; absent: it is self-made.",
    () => sources.certificateSecondsLeft(),
  );
  gauge("process_resident_memory_bytes", "Resident memory size.", () => sources.process().residentBytes);
  gauge("process_heap_bytes", "Memory used by JavaScript objects.", () => sources.process().heapBytes);
  registry.read(
    { name: "process_cpu_seconds_total", help: "CPU time used.", type: "counter" },
    () => sources.process().cpuSeconds,
  );
  gauge("process_start_time_seconds", "When pombo started, Unix time.", () => sources.startedAt / 1_000);
}
