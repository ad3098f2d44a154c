import { type BodyLimits, limitFor, tooLarge } from "../../platform/http/body/read.ts";
import type { Json } from "./json.ts";

// What an error looks like, for the API docs: most are the same on every route, some depend on it.

interface Item {
  [member: string]: Json;
  code: string;
  message: string;
}

const EXAMPLES: Record<number, Item> = {
  400: {
    code: "INVALID_JSON",
    message: "The body is not JSON: Unexpected EOF",
    hint: "Look for a missing quote, or a comma before a closing bracket; from a shell, put the body in a file: -d @email.json.",
  },
  401: {
    code: "MISSING_API_KEY",
    message: "The header X-API-Key is missing",
    hint: "Send your API key in the header X-API-Key. Authorization is not read, and an empty value counts as none.",
  },
  403: {
    code: "API_KEY_RESTRICTED",
    message: "This key is restricted to one domain: it sends that domain's emails and reads them",
    hint: "Use a key without domainId.",
  },
  404: { code: "NOT_FOUND", message: "There is nothing with this id in this workspace" },
  408: {
    code: "REQUEST_TIMEOUT",
    message: "The body came too slowly",
    hint: "A body must come at 32 KB a second, after 15 seconds of grace: send less in one request.",
  },
  415: {
    code: "UNSUPPORTED_MEDIA_TYPE",
    message: "The body must be application/json; it came without a Content-Type",
    hint: "Send the header Content-Type: application/json.",
  },
  422: { code: "VALIDATION_ERROR", message: "id must be a UUID", field: "id" },
  429: { code: "RATE_LIMITED", message: "Too many requests", hint: "Wait as long as Retry-After says." },
  500: {
    code: "INTERNAL_ERROR",
    message: "Something went wrong inside pombo; the operator's log says what",
    hint: "Nothing was half done: the same request can be sent again. The operator finds it by this answer's X-Request-Id.",
  },
  503: {
    code: "UNAVAILABLE",
    message: "Nothing can be stored at the moment; nothing was accepted",
    hint: "Send the same request again in a few seconds.",
  },
};

const SMS = /^POST .*\/sms(?:\/|$)/;
const SEND = /^POST .*\/(?:emails|emails\/batch|sms)$/;
const EMAIL_SEND = /^POST .*\/emails(?:\/batch)?$/;
/** What a key of one domain may do too. */
const READS_OF_EMAILS = /^GET \/api\/v1\/emails/;

/** The first that fits is taken before the common ones. */
const OF_ROUTES: [route: RegExp, status: number, item: Item][] = [
  [
    SMS,
    402,
    {
      code: "INSUFFICIENT_SMS_CREDITS",
      message: "The text needs 2 SMS credits and the balance is 1",
      hint: "Ask the operator for more credits; POST /api/v1/sms/preview shows what a text costs.",
    },
  ],
  [
    SMS,
    422,
    {
      code: "VALIDATION_ERROR",
      message:
        "to must be a Mozambican mobile number in E.164: + and the country code, then digits alone, like +258841234567",
      field: "to",
    },
  ],
  [
    SEND,
    402,
    {
      code: "DAILY_QUOTA_EXCEEDED",
      message: "The quota is used up: the plan's day allows 100 emails",
      hint: "Wait until the period ends (UTC), or ask the operator to raise the plan's limits.",
    },
  ],
  [
    EMAIL_SEND,
    403,
    {
      code: "SENDING_BLOCKED",
      message: "Sending is blocked since 2026-11-21: too many emails bounced or were complained about",
      hint: "Take the addresses that bounced or complained off your lists, then ask the operator, who can lift this.",
    },
  ],
  [
    READS_OF_EMAILS,
    403,
    {
      code: "API_KEY_RESTRICTED",
      message: "The operator key works on POST /api/v1/workspaces and under /api/v1/operator/ only",
      hint: "Use a key of the workspace.",
    },
  ],
  [
    /^POST .*\/domains$/,
    402,
    {
      code: "PLAN_LIMIT_REACHED",
      message: "The plan allows 1 domain",
      hint: "Delete a domain that is not needed, or ask the operator to raise the plan's limits.",
    },
  ],
  [
    /^POST .*\/webhooks$/,
    402,
    {
      code: "PLAN_LIMIT_REACHED",
      message: "The plan allows 1 webhook",
      hint: "Delete a webhook that is not needed, or ask the operator to raise the plan's limits.",
    },
  ],
  [
    /^POST .*\/auth\/keys$/,
    402,
    {
      code: "PLAN_LIMIT_REACHED",
      message: "The plan allows 1 API key",
      hint: "Ask the operator to raise the plan's limits.",
    },
  ],
  [SEND, 409, { code: "IDEMPOTENCY_KEY_REUSED", message: "This Idempotency-Key was used with another body" }],
  [SEND, 422, { code: "VALIDATION_ERROR", message: "Domain not verified", field: "from" }],
  [
    /^POST \/api\/v1\/workspaces$/,
    403,
    {
      code: "API_KEY_RESTRICTED",
      message: "Only the operator key may make workspaces here",
      hint: "Ask the operator, who can also allow it: [workspaces] creation in the configuration.",
    },
  ],
  [
    /^\w+ \/api\/v1\/operator\//,
    403,
    {
      code: "API_KEY_RESTRICTED",
      message: "Only the operator key works here",
      hint: "It is the one that pombo init showed; ask the operator.",
    },
  ],
  [/\/cancel$/, 409, { code: "NOT_CANCELABLE", message: "The email cannot be canceled: it is delivered" }],
  [/\/retry$/, 409, { code: "NOT_RETRYABLE", message: "The email cannot be tried again: it is delivered" }],
  [/\/auth\/keys\//, 409, { code: "LAST_KEY", message: "This is the last key for the whole workspace" }],
  [
    /^POST \/api\/v1\/domains$/,
    409,
    { code: "DOMAIN_ALREADY_EXISTS", message: "The domain is registered already", field: "domain" },
  ],
];

/** The body of an error with this status; `route` as in `POST /api/v1/emails`. Undefined: nothing can be said for it. */
export function errorExample(route: string, status: number, limits: BodyLimits): Json | undefined {
  const [, , special] = OF_ROUTES.find(([of, on]) => on === status && of.test(route)) ?? [];
  const item = status === 413 ? tooLargeAt(route, limits) : (special ?? EXAMPLES[status]);
  return item === undefined ? undefined : { errors: [item] };
}

function tooLargeAt(route: string, limits: BodyLimits): Item {
  const { code, message, hint = "" } = tooLarge(limitFor(route.split(" ")[1] ?? "", limits));
  return { code, message, hint };
}
