// Examples of error answers for the API docs: most are the same on every route, some depend on it.

import { linkUsed } from "../../modules/accounts/links.ts";
import { lastOwner } from "../../modules/members/authority.ts";
import { alreadyMember } from "../../modules/members/invite.ts";
import { planLimitReached } from "../../modules/plans/limit.ts";
import { AppError } from "../../platform/errors.ts";
import { domainKeyElsewhere, missingKey, notTheOperator, operatorElsewhere } from "../../platform/http/auth.ts";
import { notJson } from "../../platform/http/body/json.ts";
import { type BodyLimits, findBodyLimit, notJsonType, tooLarge, tooSlow } from "../../platform/http/body/read.ts";
import { errorBody, internalError, notFound, nothingStored } from "../../platform/http/errors.ts";
import type { Json } from "./json.ts";

const EXAMPLES: Record<number, AppError> = {
  400: notJson("Unexpected EOF"),
  401: missingKey(),
  403: domainKeyElsewhere(),
  404: notFound("There is nothing with this id in this workspace"),
  408: tooSlow(),
  410: linkUsed(),
  415: notJsonType(null),
  422: new AppError("VALIDATION_ERROR", "id must be a UUID", { field: "id" }),
  429: new AppError("RATE_LIMITED", "Too many requests", { hint: "Wait for the time in Retry-After." }),
  500: internalError(),
  503: nothingStored(),
};

const SMS = /^POST .*\/sms(?:\/|$)/;
const SEND = /^POST .*\/(?:emails|emails\/batch|sms)$/;
const EMAIL_SEND = /^POST .*\/emails(?:\/batch)?$/;
/** What a key of one domain may do too. */
const READS_OF_EMAILS = /^GET \/api\/v1\/emails/;

/** The first that fits is taken before the common ones. */
const ROUTE_EXAMPLES: [route: RegExp, status: number, error: AppError][] = [
  [
    SMS,
    402,
    new AppError("INSUFFICIENT_SMS_CREDITS", "The message needs 2 SMS credits and the balance is 1", {
      hint: "Ask the operator for more credits; POST /api/v1/sms/preview shows the cost of a message.",
    }),
  ],
  [
    SMS,
    422,
    new AppError(
      "VALIDATION_ERROR",
      "to must be a Mozambican mobile number in E.164: + and the country code, then only digits, like +258841234567",
      { field: "to" },
    ),
  ],
  [
    SEND,
    402,
    new AppError("DAILY_QUOTA_EXCEEDED", "The quota is used up: the plan's day allows 100 emails", {
      hint: "Wait until the period ends (UTC), or ask the operator to raise the plan's limits.",
    }),
  ],
  [
    EMAIL_SEND,
    403,
    new AppError(
      "SENDING_BLOCKED",
      "Sending is blocked since 2026-11-21: too many emails bounced or were complained about",
      {
        hint: "Remove the addresses that bounced or complained from your lists, then ask the operator to lift this.",
      },
    ),
  ],
  [READS_OF_EMAILS, 403, operatorElsewhere()],
  [/^POST .*\/domains$/, 402, planLimitReached("domain", 1)],
  [/^POST .*\/webhooks$/, 402, planLimitReached("webhook", 1)],
  [/^POST .*\/auth\/keys$/, 402, planLimitReached("API key", 1)],
  [/^POST .*\/invitations/, 402, planLimitReached("member", 1)],
  [/\/invitations$/, 409, alreadyMember()],
  [/\/members\//, 409, lastOwner()],
  [SEND, 409, new AppError("IDEMPOTENCY_KEY_REUSED", "This Idempotency-Key was used with another body")],
  [SEND, 422, new AppError("VALIDATION_ERROR", "Domain not verified", { field: "from" })],
  [
    /^POST \/api\/v1\/workspaces$/,
    403,
    new AppError("API_KEY_RESTRICTED", "Only the operator key may create workspaces here", {
      hint: "Ask the operator, who can also allow it: [workspaces] creation in the configuration.",
    }),
  ],
  [/^\w+ \/api\/v1\/operator\//, 403, notTheOperator()],
  [/\/cancel$/, 409, new AppError("NOT_CANCELABLE", "The email cannot be canceled: it is delivered")],
  [/\/retry$/, 409, new AppError("NOT_RETRYABLE", "The email cannot be tried again: it is delivered")],
  [/^PATCH .*\/emails\//, 409, new AppError("NOT_SCHEDULED", "The email is not scheduled: it is delivered")],
  [/\/auth\/passkeys\//, 409, new AppError("LAST_FACTOR", "This is the last way in which you can sign in")],
  [/\/auth\/keys\//, 409, new AppError("LAST_KEY", "This is the last key for the whole workspace")],
  [
    /^POST .*\/domains$/,
    409,
    new AppError("DOMAIN_ALREADY_EXISTS", "The domain is registered already", { field: "domain" }),
  ],
];

/** The body of an error with this status; `route` as in `POST /api/v1/emails`. Undefined: nothing can be said for it. */
export function errorExample(route: string, status: number, limits: BodyLimits): Json | undefined {
  const [, , special] = ROUTE_EXAMPLES.find(([of, on]) => on === status && of.test(route)) ?? [];
  const path = route.split(" ")[1] ?? "";
  const error = status === 413 ? tooLarge(findBodyLimit(path, limits), path) : (special ?? EXAMPLES[status]);
  return error === undefined ? undefined : (JSON.parse(JSON.stringify(errorBody(error))) as Json);
}
