// `[sms]` and `[[sms.routes]]`. A route is one SMSC, or one account at an aggregator, with the peculiarities of its
// SMPP as data. It has links (binds) that share the load, and failover routes. sms-rules.ts checks tables against each other.

import { type Static, Type } from "@sinclair/typebox";
import { REFUSAL_CATEGORIES } from "../protocols/smpp/pdu/status-table.ts";
import { DEFAULT_SMS_PREFIXES } from "./number-prefix.ts";
import { choice, duration, integer, list, secret, special, tables, text } from "./fields.ts";

const ROUTES_MAX = 50;
const LINKS_MAX = 20;
const RULES_MAX = 200;
const PREFIXES_MAX = 200;

/** With those of the network's errors, see src/modules/sms/receipts/failure.ts. */
const NETWORK_ERRORS = [
  ...REFUSAL_CATEGORIES,
  "unknown_subscriber",
  "absent_subscriber",
  "handset_error",
  "expired",
] as const;

const LinkSchema = Type.Object({
  name: text("sms_name", "A unique name."),
  host: text("relay_host", "The SMSC's name, as in its certificate, or its address."),
  port: integer([1, 65_535], "Its port.", 2775),
  tls: choice(
    ["verified", "unverified", "none"],
    "verified = TLS with a valid certificate, unverified = only in tests, none = for a VPN or a leased line.",
    { default: "verified" },
  ),
  tlsName: special<string | null>("optional_host", "The name in its certificate, if it is not host.", ""),
  caFile: special<string | null>(
    "optional_path",
    "Trusted certificate authorities, a PEM file; empty = the public ones.",
    "",
  ),
  systemId: text("system_id", "The account at the SMSC."),
  password: secret("The password; better in a file, or in the variable POMBO_SMPP_PASSWORD."),
  passwordFile: special<string | null>("optional_path", "A file with the password, instead of password.", ""),
  systemType: special<string>("system_type", "The system type; most SMSCs need none.", ""),
  bind: choice(
    ["transceiver", "pair"],
    "transceiver = one connection, pair = a transmitter and a receiver, for SMSCs without transceivers.",
    { default: "transceiver" },
  ),
  window: integer(
    [1, 1000],
    "Segments that wait for responses at once; as many may be sent twice after a broken link.",
    10,
  ),
  rate: integer([1, 10_000], "Maximal segments a second; while the provider throttles, as many as it accepts.", 50),
  responseTimeoutMs: duration(["1s", "5m"], "How long to wait for a response before it counts as lost.", "30s"),
});

const StatusSchema = Type.Object({
  code: Type.Unsafe<number>(text("command_status", "The status of a response.")),
  action: choice(
    ["retry", "reroute", "fail"],
    "retry = later on the same route, reroute = once on a failover route, fail = the message fails.",
    { default: "fail" },
  ),
  category: choice([...REFUSAL_CATEGORIES], "Its value in failureCategory.", { default: "provider_error" }),
});

const ErrorSchema = Type.Object({
  code: text("receipt_error", "The err of a receipt, or the number of its network error code."),
  category: choice([...NETWORK_ERRORS], "Its value in failureCategory.", { default: "provider_error" }),
});

const SenderSchema = Type.Object({
  name: text("sender_id", "The sender id of workspaces."),
  as: text("sender_id", "Its name at this SMSC."),
});

export const RouteSchema = Type.Object({
  name: text("sms_name", "A unique name; waiting messages refer to it."),
  prefixes: list(
    text("number_prefix", "One prefix."),
    [0, PREFIXES_MAX],
    "The numbers of this route, by their first digits; none = all others.",
    [],
  ),
  failover: list(
    text("sms_name", "One route."),
    [0, ROUTES_MAX],
    "Routes to use instead if this one is down, in order.",
    [],
  ),
  failoverAfterMs: duration(["1s", "1d"], "How long no link must have been bound before failover.", "30s"),
  segmentation: choice(
    ["udh8", "udh16", "sar", "payload"],
    "How the segments of a long message are joined: by a UDH with an 8- or 16-bit reference, SAR, or message_payload.",
    { default: "udh8" },
  ),
  shiftTables: choice(
    ["off", "pt-single", "pt-locking"],
    "National shift tables, which save segments in Portuguese if SMSC and phones support them.",
    { default: "off" },
  ),
  defaultCharset: choice(["gsm7", "latin1", "ascii"], "The SMSC's charset for data coding 0.", { default: "gsm7" }),
  reencode: Type.Boolean({
    description:
      "Whether a message refused for its data coding is sent again as UCS-2, if that takes no more segments.",
    default: false,
  }),
  alphanumericTonNpi: special<TonNpi>("ton_npi", "TON and NPI of an alphanumeric sender.", "5/0"),
  numberTonNpi: special<TonNpi>("ton_npi", "TON and NPI of an international number as sender.", "1/1"),
  shortCodeTonNpi: special<TonNpi>("ton_npi", "TON and NPI of a short code as sender.", "3/0"),
  destinationTonNpi: special<TonNpi>("ton_npi", "TON and NPI of the recipient.", "1/1"),
  esmClass: integer([0, 3], "The messaging mode of esm_class.", 0),
  receipts: choice(
    ["each", "first", "last", "none"],
    "The segments of a long message that the SMSC sends receipts for; none = it sends no receipts.",
    { default: "each" },
  ),
  intermediateReceipts: Type.Boolean({
    description: "Whether to request intermediate receipts.",
    default: false,
  }),
  missingReceiptStatus: choice(["sent", "undelivered"], "The final status of a message without a receipt.", {
    default: "sent",
  }),
  messageIdFormat: choice(
    ["auto", "same", "hex_to_decimal", "decimal_to_hex"],
    "How the id in a receipt relates to the one in the response; auto = detected.",
    { default: "auto" },
  ),
  validity: choice(["relative", "omit"], "Whether segments carry a validity period.", {
    default: "relative",
  }),
  userMessageReference: Type.Boolean({
    description:
      "Whether segments carry user_message_reference, which some SMSCs repeat in receipts; false if it is refused (0xC1).",
    default: true,
  }),
  moreMessages: Type.Boolean({
    description: "Whether all segments but the last carry more_messages_to_send.",
    default: false,
  }),
  onLostResponse: choice(
    ["auto", "retry", "hold"],
    "After a lost response: retry = send once more, hold = give up; auto = retry if it is one segment and not bulk.",
    { default: "auto" },
  ),
  links: tables(
    LinkSchema,
    LINKS_MAX,
    "Its connections, which share the load.",
    "each begins with [[sms.routes.links]]",
  ),
  senders: tables(
    SenderSchema,
    RULES_MAX,
    "Sender ids with other names at this SMSC.",
    "each begins with [[sms.routes.senders]]",
  ),
  statuses: tables(
    StatusSchema,
    RULES_MAX,
    "The meaning of statuses of this SMSC, before the built-in table.",
    "each begins with [[sms.routes.statuses]]",
  ),
  errors: tables(
    ErrorSchema,
    RULES_MAX,
    "The meaning of errors in this SMSC's receipts.",
    "each begins with [[sms.routes.errors]]",
  ),
});

export const SmsSchema = Type.Object({
  prefixes: list(
    text("number_pattern", "One prefix."),
    [1, PREFIXES_MAX],
    "The numbers that SMS can be sent to, by their first digits; with x for each further digit also by their length.",
    DEFAULT_SMS_PREFIXES.map((prefix) => `+${prefix}`),
  ),
  otpLifetimeMs: duration(["1m", "7d"], "How long an SMS with the priority otp may wait to be sent.", "10m"),
  transactionalLifetimeMs: duration(["1m", "7d"], "The same with the priority transactional.", "24h"),
  bulkLifetimeMs: duration(["1m", "7d"], "The same with the priority bulk.", "24h"),
  lostResponseWaitMs: duration(
    ["1s", "1d"],
    "How long to wait for a lost response before the message is given up.",
    "120s",
  ),
  receiptGraceMs: duration(["1m", "7d"], "How long after an SMS's lifetime its receipts are accepted.", "1h"),
  helpText: special<string | null>(
    "optional_text",
    "The reply to HELP or AJUDA, sent as an SMS of the number's workspace; empty = none.",
    "",
  ),
  routes: tables(RouteSchema, ROUTES_MAX, "The SMSCs.", "each begins with [[sms.routes]]"),
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
