import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import { AppError } from "../../../platform/errors.ts";
import { getCaller, wholeWorkspaceCaller, workspaceCaller } from "../../../platform/http/auth.ts";
import { notFound } from "../../../platform/http/errors.ts";
import { answers, csvAnswer, describe, errorAnswers, fileAnswer } from "../../../platform/http/openapi.ts";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import { text, uuid } from "../../../platform/http/request-schemas.ts";
import { readIdempotency } from "../../idempotency/key.ts";
import { answerSend, SEND_HEADERS } from "../../idempotency/accept.ts";
import type { AttachmentStore } from "../attachments/store.ts";
import { acceptEmails, type AcceptDeps } from "./accept.ts";
import { answerAttachment } from "./attachment.ts";
import { cancelEmail, MAY_HAVE_ARRIVED } from "./cancel.ts";
import { contentHidden, type MayReadContent } from "../../workspaces/read-content.ts";
import { COLUMNS, exportEmails } from "../list/export.ts";
import { listEmails, type ListDeps } from "../list/list.ts";
import { EmailFilterQuery, EmailPageMeta, EmailQuery } from "../list/schema.ts";
import { MAX_RECIPIENTS } from "./mailbox-schema.ts";
import { countRecipients } from "./mailboxes.ts";
import { MAX_LOOKED_AT } from "../store/list-store.ts";
import type { ReportStore } from "../reports/store.ts";
import type { AnswerRaw } from "./raw.ts";
import { rescheduleEmail } from "./reschedule.ts";
import { MAY_COME_TWICE, retryEmail } from "./retry.ts";
import {
  Accepted,
  AcceptedBatch,
  EmailBatch,
  EmailChange,
  EmailInListWithStatus,
  EmailRecord,
  EmailRecordWithHint,
  EmailSend,
  GroupQuery,
  TimelineEntry,
  TimelineQuery,
} from "./schema.ts";
import type { ReadContent } from "../submitted/show.ts";
import { showRecord } from "./serialize.ts";
import { addDialogues, MAX_SHOWN_ATTEMPTS, showTimeline } from "./timeline.ts";

const TAG = "Emails";
const SEND_ERRORS = [400, 401, 402, 403, 409, 413, 415, 422, 503];
const UNTRIED = { providerId: null, sentAt: null, deliveredAt: null, attempts: 0 };
const AT_ITS_TIME = { sendAt: "2026-11-22T06:00:00.000Z", nextAttemptAt: "2026-11-22T06:00:00.000Z" };
const CHANGE_ERRORS = [400, 401, 403, 404, 409, 413, 415, 422, 503];

export interface EmailDeps extends AcceptDeps {
  attachments: AttachmentStore;
  reports: Pick<ReportStore, "list">;
  mayReadContent: MayReadContent;
  readContent: ReadContent;
  answerRaw: AnswerRaw;
  pages: ListDeps["pages"];
}

const attachmentNumber = text(
  { minLength: 1, maxLength: 2, pattern: "^[0-9]{1,2}$", description: "Its place in the list of the record, from 0." },
  (value) => (/^\d+$/.test(value) ? null : "must be a whole number"),
);

export function emailRoutes(deps: EmailDeps) {
  return new Elysia({ name: "emails", prefix: "/api/v1/emails" })
    .post(
      "",
      async ({ request, body, set }) => {
        const caller = workspaceCaller(request);
        const idempotency = readIdempotency(request);
        const keepsDialogue = getCaller(request).kind === "member";
        const send = { caller, items: [body], idempotency, keepsDialogue };
        return answerSend(await acceptEmails({ ...send, operation: "emails" }, deps), set);
      },
      {
        ...jsonBody(EmailSend),
        detail: describe({
          id: "sendEmail",
          tag: TAG,
          summary: "Send an email",
          description:
            "Queues one email, or one for each of several recipients: all show the same `To` and `Cc`, and each has an id, a status and events of its own. " +
            "With an Idempotency-Key, a repeated request gets the first answer again and sends nothing. " +
            "Of an email that a person sends from the dashboard the SMTP dialogue is kept even if it is delivered.",
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
        const recipients = body.emails.reduce((sum, email) => sum + countRecipients(email), 0);
        const allowedRecipients = Math.max(MAX_RECIPIENTS, allowed);
        if (recipients > allowedRecipients) throw tooManyRecipients(recipients, allowedRecipients);
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
          description:
            "All are queued or none; the answer lists them in the order of the request. Their recipients together may be as many as a batch may hold emails, and at least " +
            `${MAX_RECIPIENTS}.`,
          headers: SEND_HEADERS,
          responses: answers(202, AcceptedBatch, SEND_ERRORS),
        }),
      },
    )
    .get("", ({ request, query }) => listEmails(workspaceCaller(request), query, deps), {
      query: EmailQuery,
      detail: describe({
        id: "listEmails",
        tag: TAG,
        summary: "List emails, newest first",
        description:
          "With `include=status` each has its status. For `to`, `from`, `tag`, `since`, `until`, `domain`, `category` or `subject`, only the " +
          `newest ${MAX_LOOKED_AT.toLocaleString("en")} emails are looked at, and \`totalIsMinimum\` says when there are more. Cursors lead through all: ` +
          `behind one as many are looked at again, so that a page may have fewer emails, or none, and still not be the last. A cursor goes with the same filters.`,
        responses: answers(200, Type.Array(EmailInListWithStatus), [401, 403, 422], EmailPageMeta),
      }),
    })
    .get(
      "/:id",
      async ({ request, params }) => {
        const found = deps.emails.findRecord(workspaceCaller(request), params.id.toLowerCase());
        if (found === undefined) throw noSuchEmail();
        const isHidden = found.body !== null && !(await deps.mayReadContent(request));
        return { data: await showRecord(isHidden ? hideContent(found) : found, deps.readContent) };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "getEmail",
          tag: TAG,
          summary: "Get an email",
          description:
            "Its whole record, with html, text and headers. For viewers and operators these are null unless the workspace lets them see what messages say.",
          responses: answers(200, EmailRecord, [401, 403, 404, 422, 503]),
        }),
      },
    )
    .get(
      "/:id/events",
      ({ request, params, query }) => {
        const found = deps.emails.findState(workspaceCaller(request), params.id.toLowerCase());
        if (found === undefined) throw noSuchEmail();
        const { id } = found.email;
        const attempts = deps.emails.listAttempts(id, MAX_SHOWN_ATTEMPTS);
        const timeline = showTimeline(found, attempts, deps.reports.list(id));
        return { data: query.include === "dialogue" ? addDialogues(timeline, attempts) : timeline };
      },
      {
        params: Type.Object({ id: uuid() }),
        query: TimelineQuery,
        detail: describe({
          id: "getEmailTimeline",
          tag: TAG,
          summary: "Get an email's timeline",
          description:
            "Oldest first: acceptance, every attempt with the server's reply, the end, and reports by mail. " +
            `Of more than ${MAX_SHOWN_ATTEMPTS.toLocaleString("en")} attempts the last ones. ` +
            "With `include=dialogue` each attempt that kept its SMTP dialogue has it: those that did not deliver, and all of an email that a person sent from the dashboard.",
          responses: answers(200, Type.Array(TimelineEntry), [401, 403, 404, 422]),
        }),
      },
    )
    .get(
      "/:id/attachments/:n",
      async ({ request, params }) => {
        const email = deps.emails.findState(workspaceCaller(request), params.id.toLowerCase())?.email;
        if (email === undefined) throw noSuchEmail();
        if (!(await deps.mayReadContent(request))) throw contentHidden();
        const found = deps.attachments.listOf(email.groupId ?? email.id)[Number(params.n)];
        if (found === undefined) throw notFound("This email has no such attachment", "They are counted from 0.");
        const { attachmentId } = found;
        if (attachmentId === null || email.isErased) throw attachmentGone();
        return answerAttachment({ ...found, attachmentId }, deps.attachments);
      },
      {
        params: Type.Object({ id: uuid(), n: attachmentNumber }),
        detail: describe({
          id: "getEmailAttachment",
          tag: TAG,
          summary: "Get an attachment of an email",
          description:
            "Its bytes, to be stored as a file, with the type and name of the record. For viewers and operators only where " +
            "the workspace lets them see what messages say.",
          responses: { 200: fileAnswer("The file"), ...errorAnswers([401, 403, 404, 422, 503]) },
        }),
      },
    )
    .get(
      "/:id/raw",
      async ({ request, params }) => {
        const found = deps.emails.findRecord(workspaceCaller(request), params.id.toLowerCase());
        if (found === undefined) throw noSuchEmail();
        if (!(await deps.mayReadContent(request))) throw contentHidden();
        return deps.answerRaw(found);
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "getEmailRaw",
          tag: TAG,
          summary: "Get the whole message of an email",
          description:
            "As it is sent, without its DKIM signatures. `404` once its content or an attachment is kept no longer. For viewers and " +
            "operators only where the workspace lets them see what messages say.",
          responses: { 200: fileAnswer("The message", "message/rfc822"), ...errorAnswers([401, 403, 404, 422, 503]) },
        }),
      },
    )
    .patch(
      "/:id",
      async ({ request, params, query, body }) => {
        const change = { sendAt: body.sendAt, isGroup: query.group === "true" };
        const changed = await rescheduleEmail(wholeWorkspaceCaller(request), params.id.toLowerCase(), change, deps);
        if (changed === null) throw noSuchEmail();
        return { data: await showRecord(changed, deps.readContent) };
      },
      {
        ...jsonBody(EmailChange),
        params: Type.Object({ id: uuid() }),
        query: GroupQuery,
        detail: describe({
          id: "updateEmail",
          tag: TAG,
          summary: "Reschedule an email",
          description:
            "Gives a scheduled email another time, until its first attempt begins. Its lifetime counts from that time.",
          example: { ...UNTRIED, status: "scheduled", ...AT_ITS_TIME },
          responses: answers(200, EmailRecord, CHANGE_ERRORS),
        }),
      },
    )
    .post(
      "/:id/cancel",
      async ({ request, params, query }) => {
        const isGroup = query.group === "true";
        const canceled = await cancelEmail(wholeWorkspaceCaller(request), params.id.toLowerCase(), deps, isGroup);
        if (canceled === null) throw noSuchEmail();
        return { data: await withHint(canceled, MAY_HAVE_ARRIVED, deps) };
      },
      {
        params: Type.Object({ id: uuid() }),
        query: GroupQuery,
        detail: describe({
          id: "cancelEmail",
          tag: TAG,
          summary: "Cancel an email",
          description:
            "Before its first attempt or between two attempts. After the answer it is not sent any more. Quota is not refunded. " +
            "With `group=true` those of its request that can be canceled are; `409` if none can.",
          example: { ...UNTRIED, status: "canceled" },
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
        return { data: await withHint(retried, MAY_COME_TWICE, deps) };
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

export function noSuchEmail(): AppError {
  return notFound("This workspace has no email with this id");
}

type Found = Parameters<typeof showRecord>[0];

function hideContent({ extra, ...found }: Found): Found {
  return { ...found, body: null, extra: extra === null ? null : { ...extra, headers: null } };
}

/** The list as a file, beside it. `requireReader` throws once its caller may not read any more. */
export function emailFileRoutes(
  deps: Omit<ListDeps, "pages"> & Pick<EmailDeps, "clock">,
  requireReader: (request: Request) => void,
) {
  return new Elysia({ name: "emails file", prefix: "/api/v1" }).get(
    "/emails.csv",
    ({ request, query }) =>
      exportEmails(workspaceCaller(request), query, {
        ...deps,
        now: deps.clock.now(),
        requireReader: () => requireReader(request),
      }),
    {
      query: EmailFilterQuery,
      detail: describe({
        id: "exportEmails",
        tag: TAG,
        summary: "Export emails as CSV",
        description:
          `All that the filters find, newest first, with the columns \`${COLUMNS.join(",")}\`. An apostrophe stands before a value that a ` +
          "spreadsheet would compute. The file breaks off when its key or session ends.",
        responses: { 200: csvAnswer("The file"), ...errorAnswers([401, 403, 422]) },
      }),
    },
  );
}

function attachmentGone(): AppError {
  const hint = "They are removed some time after the last email with them is final ([email] attachment_retention).";
  return notFound("This attachment is kept no longer", hint);
}

/** An email whose last answer was lost may be where nobody knows of it. */
async function withHint(
  found: Found,
  hint: string,
  { readContent }: Pick<EmailDeps, "readContent">,
): Promise<typeof EmailRecordWithHint.static> {
  const record = await showRecord(found, readContent);
  return record.possibleDuplicate ? { ...record, hint } : record;
}

function tooManyItems(found: number, allowed: number): AppError {
  return new AppError("BATCH_LIMIT_EXCEEDED", `The plan allows ${allowed} emails in a batch; this one has ${found}`, {
    field: "emails",
    hint: "Split the batch, or ask the operator to raise the plan's limits.",
  });
}

function tooManyRecipients(found: number, allowed: number): AppError {
  const message = `The plan allows ${allowed} recipients in a batch; this one has ${found}`;
  return new AppError("BATCH_LIMIT_EXCEEDED", message, {
    field: "emails",
    hint: "Split the batch, or ask the operator to raise the plan's limits.",
  });
}
