import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import { AppError } from "../../../platform/errors.ts";
import { mayReadContent, wholeWorkspaceCaller, workspaceCaller } from "../../../platform/http/auth.ts";
import { notFound } from "../../../platform/http/errors.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import { uuid } from "../../../platform/http/request-schemas.ts";
import { readIdempotency } from "../../idempotency/key.ts";
import { answerSend, SEND_HEADERS } from "../../idempotency/accept.ts";
import { acceptEmails, type AcceptDeps } from "./accept.ts";
import { cancelEmail, MAY_HAVE_ARRIVED } from "./cancel.ts";
import { listEmails } from "./list.ts";
import { MAX_LOOKED_AT } from "../store/list-store.ts";
import type { ReportStore } from "../reports/store.ts";
import { MAY_COME_TWICE, retryEmail } from "./retry.ts";
import {
  Accepted,
  AcceptedBatch,
  EmailBatch,
  EmailInListWithStatus,
  EmailPageMeta,
  EmailQuery,
  EmailRecord,
  EmailRecordWithHint,
  EmailSend,
  TimelineEntry,
} from "./schema.ts";
import { showRecord } from "./serialize.ts";
import { MAX_SHOWN_ATTEMPTS, showTimeline } from "./timeline.ts";

const TAG = "Emails";
const SEND_ERRORS = [400, 401, 402, 403, 409, 413, 415, 422, 503];
const CHANGE_ERRORS = [400, 401, 403, 404, 409, 413, 415, 422, 503];

export interface EmailDeps extends AcceptDeps {
  reports: Pick<ReportStore, "list">;
}

export function emailRoutes(deps: EmailDeps) {
  return new Elysia({ name: "emails", prefix: "/api/v1/emails" })
    .post(
      "",
      async ({ request, body, set }) => {
        const caller = workspaceCaller(request);
        const idempotency = readIdempotency(request);
        return answerSend(await acceptEmails({ caller, operation: "emails", items: [body], idempotency }, deps), set);
      },
      {
        ...jsonBody(EmailSend),
        detail: describe({
          id: "sendEmail",
          tag: TAG,
          summary: "Send an email",
          description:
            "Queues one email. With an Idempotency-Key, a repeated request gets the first answer again and sends nothing.",
          headers: SEND_HEADERS,
          responses: answers(202, Accepted, SEND_ERRORS),
        }),
      },
    )
    .post(
      "/batch",
      async ({ request, body, set }) => {
        const caller = workspaceCaller(request);
        const allowed = deps.findPlan(caller.workspaceId).batch;
        if (body.emails.length > allowed) throw tooManyItems(body.emails.length, allowed);
        const idempotency = readIdempotency(request);
        const send = { caller, operation: "emails.batch", items: body.emails, idempotency } as const;
        return answerSend(await acceptEmails(send, deps), set);
      },
      {
        ...jsonBody(EmailBatch),
        detail: describe({
          id: "sendEmailBatch",
          tag: TAG,
          summary: "Send several emails",
          description: "All are queued or none; the answer lists them in the order of the request.",
          headers: SEND_HEADERS,
          responses: answers(202, AcceptedBatch, SEND_ERRORS),
        }),
      },
    )
    .get("", ({ request, query }) => listEmails(workspaceCaller(request), query, deps.emails), {
      query: EmailQuery,
      detail: describe({
        id: "listEmails",
        tag: TAG,
        summary: "List emails, newest first",
        description:
          "With `include=status` each has its status. For an address in `to` or `from`, only the " +
          `newest ${MAX_LOOKED_AT.toLocaleString("en")} emails are looked at.`,
        responses: answers(200, Type.Array(EmailInListWithStatus), [401, 403, 422], EmailPageMeta),
      }),
    })
    .get(
      "/:id",
      ({ request, params }) => {
        const found = deps.emails.findRecord(workspaceCaller(request), params.id.toLowerCase());
        if (found === undefined) throw noSuchEmail();
        return { data: showRecord(mayReadContent(request) ? found : { ...found, body: null }) };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "getEmail",
          tag: TAG,
          summary: "Get an email",
          description: "Its whole record, with html and text; viewers and operators see it without.",
          responses: answers(200, EmailRecord, [401, 403, 404, 422]),
        }),
      },
    )
    .get(
      "/:id/events",
      ({ request, params }) => {
        const found = deps.emails.findState(workspaceCaller(request), params.id.toLowerCase());
        if (found === undefined) throw noSuchEmail();
        const { id } = found.email;
        return { data: showTimeline(found, deps.emails.listAttempts(id, MAX_SHOWN_ATTEMPTS), deps.reports.list(id)) };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "getEmailTimeline",
          tag: TAG,
          summary: "Get an email's timeline",
          description:
            "Oldest first: acceptance, every attempt with the server's reply, the end, and reports by mail. " +
            `Of more than ${MAX_SHOWN_ATTEMPTS.toLocaleString("en")} attempts the last ones.`,
          responses: answers(200, Type.Array(TimelineEntry), [401, 403, 404, 422]),
        }),
      },
    )
    .post(
      "/:id/cancel",
      async ({ request, params }) => {
        const canceled = await cancelEmail(wholeWorkspaceCaller(request), params.id.toLowerCase(), deps);
        if (canceled === null) throw noSuchEmail();
        return { data: withHint(canceled, MAY_HAVE_ARRIVED) };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "cancelEmail",
          tag: TAG,
          summary: "Cancel an email",
          description:
            "Before its first attempt or between two attempts. After the answer it is not sent any more. Quota is not refunded.",
          example: { status: "canceled", providerId: null, sentAt: null, deliveredAt: null, attempts: 0 },
          responses: answers(200, EmailRecordWithHint, CHANGE_ERRORS),
        }),
      },
    )
    .post(
      "/:id/retry",
      async ({ request, params, set }) => {
        const retried = await retryEmail(wholeWorkspaceCaller(request), params.id.toLowerCase(), deps);
        if (retried === null) throw noSuchEmail();
        set.status = 202;
        return { data: withHint(retried, MAY_COME_TWICE) };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "retryEmail",
          tag: TAG,
          summary: "Retry a delayed email now",
          description:
            "Its next attempt is due at once, unless its destination is blocked; after it the schedule goes on.",
          example: {
            status: "delivery_delayed",
            deliveredAt: null,
            nextAttemptAt: "2026-11-21T12:01:02.000Z",
            lastReply: "450 4.2.0 Greylisted, try again later (mx1.example.net)",
          },
          responses: answers(202, EmailRecordWithHint, CHANGE_ERRORS),
        }),
      },
    );
}

function noSuchEmail(): AppError {
  return notFound("This workspace has no email with this id");
}

/** An email whose last answer was lost may be where nobody knows of it. */
function withHint(found: Parameters<typeof showRecord>[0], hint: string): typeof EmailRecordWithHint.static {
  const record = showRecord(found);
  return record.possibleDuplicate ? { ...record, hint } : record;
}

function tooManyItems(found: number, allowed: number): AppError {
  return new AppError("BATCH_LIMIT_EXCEEDED", `The plan allows ${allowed} emails in a batch; this one has ${found}`, {
    field: "emails",
    hint: "Split the batch, or ask the operator to raise the plan's limits.",
  });
}
