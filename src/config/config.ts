// The configuration file. This schema is its only description: the types in the code, the defaults, the checks, and
// the sentences of config.example.toml. Names here are those of the code; reader.ts derives the keys of the file
// (`lifetimeMs` is `lifetime`). Defaults are written as in the file. parseConfig checks the TOML, then each key, then
// the keys against each other.

import { checkStandby, StandbySchema } from "./standby.ts";
import { SITES_MAX, SiteSchema } from "./sites.ts";
import { type Static, Type } from "@sinclair/typebox";
import { AlertSchema, ALERTS_MAX, checkAlerts, HeartbeatSchema } from "./alerts.ts";
import { readTable } from "./reader.ts";
import { checkEgresses, EgressSchema, EGRESSES_MAX } from "./egress.ts";
import { checkRelays, completeRelays, RELAYS_MAX, RelaySchema } from "./relays.ts";
import { checkSms, completeSms } from "./sms-rules.ts";
import { completeReplication, type ReplicationConfig, ReplicationSchema } from "./replication.ts";
import { checkSubmission, SubmissionSchema } from "./submission.ts";
import { DoctorSchema } from "./doctor.ts";
import { completeTls, TlsSchema } from "./tls.ts";
import { RouteSchema, SmsSchema, type SmsRouteConfig } from "./sms.ts";
import { choice, derived, duration, flag, integer, list, optional, size, special, tables, text } from "./fields.ts";
import { type ConfigError, parseToml, showText, type Table } from "./toml.ts";
import { TEXT_FORMATS } from "./formats.ts";
import type { HostPort } from "../platform/ip/address.ts";

const BATCH_MAX = 1000;
const RATE_MAX = 1_000_000;
const PLAN_NUMBER_MAX = 1_000_000_000;
const MIB = 1024 * 1024;
/** Beside the attachments of the largest message a request holds its html and text. */
const BODY_ROOM_BYTES = 4 * MIB;
const BODY_SIZES: [string, string] = ["1KiB", "256MiB"];

const ranges = (description: string) => list(text("range", "One range."), [0, 100], description, []);

const planNumber = (description: string) => integer([-1, PLAN_NUMBER_MAX], description);

const rate = (description: string, initial: number) => integer([0, RATE_MAX], description, initial);
const burst = (description: string, initial: number) => integer([1, RATE_MAX], description, initial);

const PlanSchema = Type.Object({
  batch: integer([1, BATCH_MAX], "Emails in one batch request, at most 1000."),
  emailsPerMonth: planNumber("Emails in a UTC month; -1 = unlimited, here and below."),
  emailsPerDay: planNumber("Emails in a UTC day."),
  domains: planNumber("Domains of a workspace."),
  apiKeys: planNumber("API keys of a workspace."),
  webhooks: planNumber("Webhooks of a workspace."),
  members: planNumber("Members of a workspace."),
  storage: special<number>(
    "size_or_none",
    'Stored (compressed) bytes of email contents and attachments of a workspace; "none" = unlimited.',
  ),
  sms: Type.Boolean({ description: "Whether the workspace may send SMS, with credits." }),
});

const DEFAULT_PLANS = {
  // Room for a month's emails at 40 KB each, far more than compressed mail takes.
  launch: plan(50, [3000, 100, 1, 1, 1], { storage: "128MiB", sms: false }),
  starter: plan(100, [50_000, 5000, 10, 5, 5], { storage: "2GiB", sms: true }),
  growth: plan(500, [250_000, 25_000, 50, 20, 20], { storage: "10GiB", sms: true }),
  scale: plan(1000, [-1, -1, -1, -1, -1], { storage: "none", sms: true }),
};

const DEFAULT_RETRY = ["1m", "5m", "10m", "15m", "30m", "1h", "2h", "4h", "6h"];

export const ConfigSchema = Type.Object({
  hostname: text("hostname", "The name in EHLO; it must be the PTR of the sending address."),
  dataDir: text("data_dir", "The folder of the database and all other data."),
  http: Type.Object({
    listen: special<HostPort>("listen", "Address and port of the API; port 0 = any free one.", "127.0.0.1:8080"),
    maxBodyBytes: size(
      BODY_SIZES,
      "Maximal size of a request that sends one email; at least 4 MiB more than email.max_message.",
      "28MiB",
    ),
    maxBatchBodyBytes: size(
      BODY_SIZES,
      "Maximal size of a batch request; smaller with less than 352 MB of memory.",
      "32MiB",
    ),
    maxBodyDefaultBytes: size(BODY_SIZES, "Maximal size of any other request.", "64KiB"),
    publicUrl: optional(
      "https_origin",
      "Where everybody reaches /u/ of this instance, through a reverse proxy with TLS: links to unsubscribe lead there; empty = [dashboard] url; without that no such links.",
    ),
    trustedProxies: ranges("Address ranges of reverse proxies whose X-Forwarded-For is trusted; none = it is ignored."),
  }),
  tls: TlsSchema,
  rateLimits: Type.Object({
    sendsPerSecond: rate("Sends of one workspace a second, a batch counts as one; 0 = no limit, here and below.", 100),
    sendsBurst: burst("Sends at once.", 200),
    writesPerSecond: rate("Other changes of one workspace a second.", 20),
    writesBurst: burst("Other changes at once.", 40),
    readsPerSecond: rate("Reads of one workspace a second.", 50),
    readsBurst: burst("Reads at once.", 100),
    failedAuthPerMinute: rate(
      "Requests without a valid key from one address a minute; requests with a valid key always pass.",
      10,
    ),
    workspacesPerHour: rate("Workspaces that one address may create an hour, with creation = open.", 10),
  }),
  dns: Type.Object({
    servers: list(
      text("dns_server", "One resolver."),
      [0, 8],
      "DNS resolvers, in this order; none = those of /etc/resolv.conf, which is read again when it changes.",
      [],
    ),
  }),
  email: Type.Object({
    transport: choice(
      ["direct", "relay"],
      "How email is sent: direct = to the recipient's server, relay = through a [[relay]].",
      { default: "direct" },
    ),
    bounceHost: derived("hostname", "The host that receives bounces; default: hostname.", "hostname"),
    sourceIpv4: optional("source_ipv4", "The IPv4 to send from; empty = the system's choice."),
    sourceIpv6: optional(
      "source_ipv6",
      "The IPv6 to send from, once it has a PTR and is in SPF; empty = IPv6 only to servers without IPv4.",
    ),
    destinationPort: integer([1, 65_535], "Port of the recipients' servers; 25 except in tests.", 25),
    lifetimeMs: duration(["1ms", "30d"], "How long delivery of an email is attempted.", "72h"),
    retryScheduleMs: list(
      duration(["1ms", "7d"], "One wait."),
      [1, 50],
      "Waits between attempts; the last one repeats until the lifetime is over.",
      DEFAULT_RETRY,
    ),
    contentRetentionMs: duration(
      ["1d", "3650d"],
      "How long html and text of a final email are kept; its record stays.",
      "30d",
    ),
    attachmentRetentionMs: duration(
      ["1d", "3650d"],
      "How long attachments are kept once the last email with them is final; what they were called stays.",
      "7d",
    ),
    maxMessageBytes: size(
      ["1MiB", "40MiB"],
      "Maximal size of an email with attachments, as it is sent; iCloud takes 20 MB, Gmail and Outlook.com 25 MB.",
      "20MiB",
    ),
    memoryBytes: size(
      ["16MiB", "64GiB"],
      "Memory for large messages in delivery; less on a machine with less than sixteen times as much.",
      "128MiB",
    ),
    allowPrivateRanges: ranges("Private address ranges that mail may be sent to; for tests."),
    maxSessions: integer([1, 10_000], "Open connections to mail servers.", 200),
    sessionsPerDestination: integer([1, 1000], "Open connections to one destination; at most max_sessions.", 20),
    dmarcRua: optional("report_address", "The address for reports (rua) in the suggested DMARC records; empty = none."),
  }),
  inbound: Type.Object({
    listen: special<HostPort | null>(
      "listen_or_none",
      "Address and port for incoming bounces and complaints, which arrive at port 25. Port 0 = any free one, empty = none.",
      "0.0.0.0:25",
    ),
    certificateFile: optional(
      "optional_path",
      "Another certificate for STARTTLS than that of [tls], with its chain, a PEM file, read again when it changes; empty = that one, or one that pombo creates.",
    ),
    keyFile: optional("optional_path", "The certificate's private key, a PEM file."),
  }),
  submission: SubmissionSchema,
  workspaces: Type.Object({
    creation: choice(
      ["operator", "any_key", "open"],
      "Who may create workspaces: the operator key, any key, or anybody.",
      {
        default: "operator",
      },
    ),
    defaultPlan: text("plan_name", "The plan of new workspaces.", "launch"),
  }),
  plans: Type.Record(Type.String({ pattern: "^[a-z][a-z0-9_-]{0,39}$" }), PlanSchema, {
    default: DEFAULT_PLANS,
    description: "The limits of workspaces, by the name of their plan.",
  }),
  idempotency: Type.Object({
    retentionMs: duration(["1ms", "30d"], "How long an Idempotency-Key is valid.", "24h"),
  }),
  records: Type.Object({
    retentionMs: duration(
      ["30d", "3650d"],
      "How long emails, SMS and the audit are kept, with all attempts; totals then count them no more.",
      "400d",
    ),
  }),
  disk: Type.Object({
    minFreeBytes: size(["0B", "1024GiB"], "With less free disk space, sends are answered with 503.", "512MiB"),
    minFreeInodesPercent: integer([0, 50], "The same for free inodes, in percent.", 1),
  }),
  secrets: Type.Object({
    instanceKeyFile: derived(
      "path",
      "The file of the key that seals all secrets in the database; default: instance.key in data_dir.",
      "data_dir",
    ),
  }),
  replication: Type.Unsafe<ReplicationConfig>(ReplicationSchema),
  standby: StandbySchema,
  metrics: Type.Object({
    listen: special<HostPort | null>(
      "listen_or_none",
      "Address and port of /metrics, for Prometheus; it needs no key. Port 0 = any free one, empty = none.",
      "127.0.0.1:9464",
    ),
  }),
  webhooks: Type.Object({
    allowHttp: flag("Whether webhooks may be called without TLS, so that events are not encrypted.", false),
    allowPrivateRanges: ranges("Private address ranges that webhooks may call: receivers in your own network."),
    retentionMs: duration(["8d", "365d"], "How long events and deliveries are kept.", "30d"),
  }),
  sms: SmsSchema,
  dashboard: Type.Object({
    enabled: flag("Whether people can sign in at /dashboard.", true),
    url: optional(
      "https_origin",
      "Where people open it from elsewhere, through a reverse proxy with TLS; empty = only this machine can.",
    ),
    from: optional(
      "email_address",
      "The sender of invitations and sign-in links; empty = invitations are shown as a link to copy.",
    ),
    magicLinks: flag("Whether members can have a link to sign in mailed to them; needs from.", false),
  }),
  alertsHeartbeat: HeartbeatSchema,
  doctor: DoctorSchema,
  log: Type.Object({
    addresses: choice(["redacted", "full"], "Whether the log shows email addresses and phone numbers in full.", {
      default: "redacted",
    }),
  }),
  alerts: tables(AlertSchema, ALERTS_MAX, "Who is told of what is wrong.", "each begins with [[alerts]]"),
  site: tables(SiteSchema, SITES_MAX, "Limits of single destinations.", "each begins with [[site]]"),
  relay: tables(RelaySchema, RELAYS_MAX, "Servers that deliver mail from this one.", "each begins with [[relay]]"),
  egress: tables(EgressSchema, EGRESSES_MAX, "Further addresses that mail leaves from.", "each begins with [[egress]]"),
});

/** The limits of one plan; -1 = unlimited, except `batch`. */
export type Plan = Static<typeof PlanSchema>;

export interface NamedPlan {
  name: string;
  plan: Plan;
}

/**
 * The checked configuration. Ms = milliseconds, Bytes = bytes. `sourceIpv4` null = the system's choice;
 * `metrics.listen` null = no metrics; `dashboard.url` and `http.publicUrl` an origin without a slash; `inbound.listen` null = nothing comes in; `dmarcRua` null = none, else a `mailto:` URI; `dns.servers` empty =
 * the system's, else always "ip:port" or "[v6]:port"; `email.allowPrivateRanges` always with prefix length;
 * host names in lower case. `plans` has no prototype: an unknown name gives undefined.
 */
export type Config = Static<typeof ConfigSchema>;

/** No limits, for the sandbox and tests. */
export const NO_RATE_LIMITS: Config["rateLimits"] = {
  sendsPerSecond: 0,
  sendsBurst: 1,
  writesPerSecond: 0,
  writesBurst: 1,
  readsPerSecond: 0,
  readsBurst: 1,
  failedAuthPerMinute: 0,
  workspacesPerHour: 0,
};

export type { AlertConfig } from "./alerts.ts";
export type { RelayConfig } from "./relays.ts";
export type { SiteConfig } from "./sites.ts";
export type { ReplicationConfig } from "./replication.ts";
export type { SmsRouteConfig } from "./sms.ts";
export { parseHostPort, readReplicaUrl } from "./formats.ts";

/** Where the text came from: the file's path and the process's environment. */
export interface ConfigOrigin {
  file: string;
  env: Record<string, string | undefined>;
}

export type ParsedConfig = { kind: "config"; config: Config } | { kind: "errors"; errors: ConfigError[] };

/** Reads the configuration file's text; never throws. All errors come at once, except that a syntax error comes alone. */
export function parseConfig(source: string, origin: ConfigOrigin): ParsedConfig {
  const parsed = parseToml(source);
  return parsed.kind === "error" ? { kind: "errors", errors: [parsed.error] } : checkTable(parsed.table, origin.env);
}

/** The data directory in a text that may have other errors; null: it has none. */
export function readDataDir(source: string): string | null {
  const parsed = parseToml(source);
  const named = parsed.kind === "table" ? parsed.table["data_dir"] : undefined;
  return (typeof named === "string" ? TEXT_FORMATS.data_dir.read(named) : null) ?? null;
}

/** One line per error: file, key, what was found, what is expected. */
export function formatConfigErrors(file: string, errors: ConfigError[]): string {
  return errors.map(({ key, found, expected }) => `${file}: ${key}: found ${found}; expected ${expected}`).join("\n");
}

/** Every default, without a file: for the sandbox and tests. Throws when the two required values are not valid. */
export function defaultConfig(required: { hostname: string; dataDir: string }): Config {
  const result = checkTable({ hostname: required.hostname, data_dir: required.dataDir }, {});
  if (result.kind === "config") return result.config;
  throw new Error(formatConfigErrors("defaultConfig", result.errors));
}

/** A route with every default and no link, for the sandbox and tests: what goes there waits. */
export function defaultSmsRoute(name: string): SmsRouteConfig {
  return readTable(RouteSchema, { name, links: [] }, []) as SmsRouteConfig;
}

function checkTable(table: Table, env: ConfigOrigin["env"]): ParsedConfig {
  const errors: ConfigError[] = [];
  // Incomplete where a error was noted: it leaves this function only when there is none.
  const config = readTable(ConfigSchema, table, errors) as Config;
  config.email.bounceHost ??= config.hostname;
  // The dashboard may do without https on a private network, links in emails may not.
  if (config.dashboard?.url?.startsWith("https:")) config.http.publicUrl ??= config.dashboard.url;
  config.secrets.instanceKeyFile ??= `${config.dataDir === "/" ? "" : config.dataDir}/instance.key`;
  applyEnvironment(config, env, errors);
  completeRelays(config.relay, env, errors);
  completeSms(config.sms, env, errors);
  completeReplication(config.replication, env, errors);
  checkStandby(config.standby, config.replication, errors);
  completeTls(config.tls, { ...config, urls: [config.dashboard.url, config.http.publicUrl] }, errors);
  checkTogether(config, errors);
  checkRelays(config.relay, config.email.transport, errors);
  checkEgresses(config.egress, { relay: config.relay, transport: config.email.transport }, errors);
  checkSms(config.sms, errors);
  checkAlerts(config, errors);
  return errors.length > 0 ? { kind: "errors", errors } : { kind: "config", config };
}

/** An empty variable counts as unset: compose files and unit files often pass one. */
function applyEnvironment(config: Config, env: ConfigOrigin["env"], errors: ConfigError[]): void {
  const file = env["POMBO_INSTANCE_KEY_FILE"] ?? "";
  if (file === "") return;
  const key = "environment variable POMBO_INSTANCE_KEY_FILE";
  const { expected, read } = TEXT_FORMATS.path;
  const path = read(file);
  if (path === undefined) errors.push({ key, found: showText(file), expected });
  else config.secrets.instanceKeyFile = path;
  // With two keys a rule of precedence would decide, which nobody remembers.
  if ((env["POMBO_INSTANCE_KEY"] ?? "") !== "") {
    errors.push({ key, found: "POMBO_INSTANCE_KEY as well", expected: "only one of the two" });
  }
}

/** Checks keys against each other. A key may be undefined here: its own error was recorded. */
function checkTogether(config: Config, errors: ConfigError[]): void {
  const { http, email, inbound, workspaces, plans, dashboard } = config;
  if (http.maxBodyBytes < email.maxMessageBytes + BODY_ROOM_BYTES) {
    const found = showMib(http.maxBodyBytes);
    const expected = `at least 4 MiB more than email.max_message, which is ${showMib(email.maxMessageBytes)}`;
    errors.push({ key: "http.max_body", found, expected });
  }
  if (email.sessionsPerDestination > email.maxSessions) {
    const found = String(email.sessionsPerDestination);
    const expected = `at most email.max_sessions, which is ${email.maxSessions}`;
    errors.push({ key: "email.sessions_per_destination", found, expected });
  }
  checkSubmission(config.submission, email.maxMessageBytes, errors);
  const { certificateFile, keyFile } = inbound;
  if (certificateFile === null && typeof keyFile === "string")
    errors.push({ key: "inbound.certificate_file", found: "nothing", expected: "the certificate for key_file" });
  if (keyFile === null && typeof certificateFile === "string")
    errors.push({ key: "inbound.key_file", found: "nothing", expected: "the key of certificate_file" });
  if (dashboard.magicLinks && dashboard.from === null)
    errors.push({ key: "dashboard.magic_links", found: "true", expected: "false, or an address in dashboard.from" });
  const { defaultPlan } = workspaces;
  if (defaultPlan !== undefined && plans !== undefined && plans[defaultPlan] === undefined) {
    const expected = `one of the plans: ${Object.keys(plans).join(", ")}`;
    errors.push({ key: "workspaces.default_plan", found: showText(defaultPlan), expected });
  }
}

function showMib(bytes: number): string {
  return `${(bytes / MIB).toLocaleString("en", { maximumFractionDigits: 1 })} MiB`;
}

/** A plan as the file writes it; API keys are unlimited in all of them. */
function plan(
  batch: number,
  limits: [month: number, day: number, domains: number, webhooks: number, members: number],
  rest: { storage: string; sms: boolean },
) {
  const [month, day, domains, webhooks, members] = limits;
  return { batch, emails_per_month: month, emails_per_day: day, domains, api_keys: -1, webhooks, members, ...rest };
}
