import { type Static, Type } from "@sinclair/typebox";
import { choice, duration, integer, list, secret, special, tables, text } from "./fields.ts";

// `[sms]` and `[[sms.routes]]`. A route is one SMSC, or one account at an aggregator: what it takes and
// how it speaks, as data, since no two operators do the same. It has links (binds) that share its work, and
// routes that stand in for it. sms-rules.ts says what the tables must be to one another.

const ROUTES_MAX = 50;
const LINKS_MAX = 20;
const RULES_MAX = 200;
const PREFIXES_MAX = 200;

/** The interface's rule: +258 8, a digit from 2 to 7, and seven digits. */
export const DEFAULT_SMS_PREFIXES = ["25882", "25883", "25884", "25885", "25886", "25887"];

/** What an SMSC's refusal may be called; src/protocols/smpp/pdu/status-table.ts has the same. */
const REFUSALS = [
  "invalid_destination",
  "blocked",
  "sender_rejected",
  "content_rejected",
  "throttled",
  "provider_auth",
  "provider_unavailable",
  "provider_error",
  "protocol_error",
] as const;
/** The same and what a network says of its subscriber; see src/modules/sms/receipts/failure.ts. */
const NETWORK_ERRORS = [...REFUSALS, "unknown_subscriber", "absent_subscriber", "handset_error", "expired"] as const;

const LinkSchema = Type.Object({
  name: text("sms_name", "A name of its own, for the log and the link page."),
  host: text("relay_host", "The SMSC's name, which its certificate must carry, or its address."),
  port: integer([1, 65_535], "Its port.", 2775),
  tls: choice(
    ["verified", "unverified", "none"],
    "verified = TLS with a valid certificate, unverified = in laboratories only, none = for a VPN or a leased line.",
    { default: "verified" },
  ),
  tlsName: special<string | null>("optional_host", "The name in its certificate, where that is not host.", ""),
  caFile: special<string | null>(
    "optional_path",
    "The authorities that its certificate may come from, a PEM file; empty = the public ones.",
    "",
  ),
  systemId: text("system_id", "The account, as the SMSC's operator gave it."),
  password: secret("The password; better in a file or in the variable POMBO_SMPP_PASSWORD than here."),
  passwordFile: special<string | null>("optional_path", "The file that holds the password, instead of password.", ""),
  systemType: special<string>("system_type", "The system type; most want none.", ""),
  bind: choice(
    ["transceiver", "pair"],
    "transceiver = one connection, pair = a transmitter and a receiver, for SMSCs that take no transceiver.",
    { default: "transceiver" },
  ),
  window: integer(
    [1, 1000],
    "Segments that may wait for their answers; as many may come twice after a broken link.",
    10,
  ),
  rate: integer([1, 10_000], "Segments a second, at most; while the provider throttles, as many as it accepts.", 50),
  responseTimeoutMs: duration(["1s", "5m"], "How long an answer is waited for before it counts as lost.", "30s"),
});

const StatusSchema = Type.Object({
  code: Type.Unsafe<number>(text("command_status", "The status of an answer.")),
  action: choice(
    ["retry", "reroute", "fail"],
    "retry = later on the same route, reroute = once on a route of failover, fail = given up.",
    { default: "fail" },
  ),
  category: choice([...REFUSALS], "What it is called in failureCategory.", { default: "provider_error" }),
});

const ErrorSchema = Type.Object({
  code: text("receipt_error", "The err of a receipt, or the number of its network error code."),
  category: choice([...NETWORK_ERRORS], "What it is called in failureCategory.", { default: "provider_error" }),
});

const SenderSchema = Type.Object({
  name: text("sender_id", "The sender id as workspaces have it."),
  as: text("sender_id", "What this SMSC knows it by."),
});

export const RouteSchema = Type.Object({
  name: text("sms_name", "A name of its own; messages that wait know their route by it."),
  prefixes: list(
    text("number_prefix", "One prefix."),
    [0, PREFIXES_MAX],
    "The numbers that go this way, by their first digits with country code; none = all others.",
    [],
  ),
  failover: list(
    text("sms_name", "One route."),
    [0, ROUTES_MAX],
    "Routes that stand in for this one, in their order.",
    [],
  ),
  failoverAfterMs: duration(["1s", "1d"], "How long none of its links was bound before they do.", "30s"),
  segmentation: choice(
    ["udh8", "udh16", "sar", "payload"],
    "How the parts of a long text are joined: by a header with 8 or 16 bits of reference, SAR, or message_payload.",
    { default: "udh8" },
  ),
  shiftTables: choice(
    ["off", "pt-single", "pt-locking"],
    "National tables, which save segments of Portuguese where SMSC and phones know them.",
    { default: "off" },
  ),
  defaultCharset: choice(["gsm7", "latin1", "ascii"], "What the SMSC takes data coding 0 for.", { default: "gsm7" }),
  reencode: Type.Boolean({
    description:
      "Whether a text that is refused for its coding goes once more as UCS-2, if that takes no more segments.",
    default: false,
  }),
  alphanumericTonNpi: special<TonNpi>("ton_npi", "TON and NPI of a sender that is a name.", "5/0"),
  numberTonNpi: special<TonNpi>("ton_npi", "TON and NPI of a sender that is an international number.", "1/1"),
  shortCodeTonNpi: special<TonNpi>("ton_npi", "TON and NPI of a sender that is a short code.", "3/0"),
  destinationTonNpi: special<TonNpi>("ton_npi", "TON and NPI of the recipient.", "1/1"),
  esmClass: integer([0, 3], "The messaging mode of esm_class.", 0),
  receipts: choice(
    ["each", "first", "last", "none"],
    "Which parts of a long text the SMSC sends receipts for; none = it gives no receipts at all.",
    { default: "each" },
  ),
  intermediateReceipts: Type.Boolean({
    description: "Whether receipts are asked for while the SMSC goes on trying.",
    default: false,
  }),
  missingReceiptStatus: choice(["sent", "undelivered"], "What a message without its receipt ends as.", {
    default: "sent",
  }),
  messageIdFormat: choice(
    ["auto", "same", "hex_to_decimal", "decimal_to_hex"],
    "How an id in a receipt comes to be the one of the answer; auto = found out.",
    { default: "auto" },
  ),
  validity: choice(["relative", "omit"], "Whether the SMSC is told until when a text is worth delivering.", {
    default: "relative",
  }),
  userMessageReference: Type.Boolean({
    description:
      "Whether segments carry a number that some SMSCs repeat in receipts; false where it is refused (0xC1).",
    default: true,
  }),
  moreMessages: Type.Boolean({ description: "Whether all parts but the last announce more.", default: false }),
  onLostResponse: choice(
    ["auto", "retry", "hold"],
    "When an answer was lost: retry = sent once more, hold = given up; auto = retry for one segment, unless it is bulk.",
    { default: "auto" },
  ),
  links: tables(
    LinkSchema,
    LINKS_MAX,
    "Its connections, which share the work.",
    "each begins with [[sms.routes.links]]",
  ),
  senders: tables(
    SenderSchema,
    RULES_MAX,
    "Sender ids that have other names with this SMSC.",
    "each begins with [[sms.routes.senders]]",
  ),
  statuses: tables(
    StatusSchema,
    RULES_MAX,
    "What single answers of this SMSC mean, before the built-in table.",
    "each begins with [[sms.routes.statuses]]",
  ),
  errors: tables(
    ErrorSchema,
    RULES_MAX,
    "What the errors in this SMSC's receipts mean.",
    "each begins with [[sms.routes.errors]]",
  ),
});

export const SmsSchema = Type.Object({
  prefixes: list(
    text("number_prefix", "One prefix."),
    [1, PREFIXES_MAX],
    "The numbers that can be texted, by their first digits with country code.",
    DEFAULT_SMS_PREFIXES,
  ),
  otpLifetimeMs: duration(["1m", "7d"], "How long a text with the priority otp may wait to be sent.", "10m"),
  transactionalLifetimeMs: duration(["1m", "7d"], "The same with the priority transactional.", "24h"),
  bulkLifetimeMs: duration(["1m", "7d"], "The same with the priority bulk.", "24h"),
  lostResponseWaitMs: duration(
    ["1s", "1d"],
    "How long a lost answer is waited for before a message is given up.",
    "120s",
  ),
  receiptGraceMs: duration(["1m", "7d"], "How long after a text's lifetime its receipts may come.", "1h"),
  helpText: special<string | null>(
    "optional_text",
    "What subscribers who write HELP or AJUDA are answered, as a text of the number's workspace; empty = nothing.",
    "",
  ),
  routes: tables(RouteSchema, ROUTES_MAX, "The SMSCs that texts go to.", "each begins with [[sms.routes]]"),
});

/** A type of number and its numbering plan (SMPP 3.4 §5.2.5, §5.2.6). */
export interface TonNpi {
  ton: number;
  npi: number;
}

/** `[sms]` as the file has it; null = not given. A link's password may come from the environment. */
export type SmsConfig = Static<typeof SmsSchema>;
export type SmsRouteConfig = Static<typeof RouteSchema>;
export type SmsLinkConfig = Static<typeof LinkSchema>;
