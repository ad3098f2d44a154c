import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import { AppError } from "../errors.ts";
import { workspaceCaller } from "../http/auth.ts";
import { notFound } from "../http/errors.ts";
import { answers, describe } from "../http/openapi.ts";
import { requestBody } from "../http/request-body.ts";
import { PageMeta, pageMeta, pageOf } from "../http/pagination.ts";
import { uuid } from "../http/rules.ts";
import { idempotencyOf } from "../idempotency/key.ts";
import { type AcceptAnswer, acceptEmails, type AcceptParts } from "./accept.ts";
import {
  Accepted,
  AcceptedBatch,
  EmailBatch,
  EmailInListWithStatus,
  EmailQuery,
  EmailRecord,
  EmailSend,
} from "./schema.ts";
import { showInList, showRecord } from "./show.ts";
import { statusOf } from "./status.ts";

const TAG = "Emails";
const SEND_ERRORS = [400, 401, 402, 403, 409, 413, 415, 422, 503];
const SEND_HEADERS = [
  {
    name: "Idempotency-Key",
    description: "A key of your own for this send; with the same key the first answer is replayed for 24 hours.",
  },
  { name: "Idempotency-Strict", description: "`true`: the same key with another body is refused with 409." },
];

export function emailRoutes(parts: AcceptParts) {
  return new Elysia({ name: "emails", prefix: "/api/v1/emails" })
    .post(
      "",
      async ({ request, body }) => {
        const caller = workspaceCaller(request);
        return answer(
          await acceptEmails(
            { caller, operation: "emails", items: [body], idempotency: idempotencyOf(request) },
            parts,
          ),
        );
      },
      {
        body: requestBody(EmailSend),
        parse: "json",
        detail: describe({
          tag: TAG,
          summary: "Send an email",
          description:
            "Queues one email. With an Idempotency-Key the first answer is replayed and nothing is sent again.",
          headers: SEND_HEADERS,
          responses: answers(202, Accepted, SEND_ERRORS),
        }),
      },
    )
    .post(
      "/batch",
      async ({ request, body }) => {
        const caller = workspaceCaller(request);
        const allowed = parts.planOf(caller.workspaceId).batch;
        if (body.emails.length > allowed) throw tooManyItems(body.emails.length, allowed);
        return answer(
          await acceptEmails(
            { caller, operation: "emails.batch", items: body.emails, idempotency: idempotencyOf(request) },
            parts,
          ),
        );
      },
      {
        body: requestBody(EmailBatch),
        parse: "json",
        detail: describe({
          tag: TAG,
          summary: "Send several emails",
          description: "All are queued or none; the answer names them in the order of the request.",
          headers: SEND_HEADERS,
          responses: answers(202, AcceptedBatch, SEND_ERRORS),
        }),
      },
    )
    .get(
      "",
      ({ request, query }) => {
        const caller = workspaceCaller(request);
        const page = pageOf(query);
        const total = parts.emails.total(caller);
        // Far past the end there is nothing to walk the index for.
        const rows = page.offset < total ? parts.emails.list(caller, page.limit, page.offset) : [];
        return {
          data: rows.map(({ email, queue }) => {
            const shown = showInList(email, queue?.attempts ?? null);
            return query.include === undefined ? shown : { ...shown, status: statusOf(email.status, queue) };
          }),
          meta: pageMeta(total, page),
        };
      },
      {
        query: EmailQuery,
        detail: describe({
          tag: TAG,
          summary: "List emails, newest first",
          description: "With `include=status` each shows what became of it.",
          responses: answers(200, Type.Array(EmailInListWithStatus), [401, 403, 422], PageMeta),
        }),
      },
    )
    .get(
      "/:id",
      ({ request, params }) => {
        const found = parts.emails.record(workspaceCaller(request), params.id.toLowerCase());
        if (found === undefined) throw notFound("There is no email with this id in this workspace");
        return { data: showRecord(found) };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          tag: TAG,
          summary: "Get an email",
          responses: answers(200, EmailRecord, [401, 403, 404, 422]),
        }),
      },
    );
}

/** The stored body goes out as it is: a replay is the first answer byte for byte. */
function answer(accepted: AcceptAnswer): Response {
  const headers = new Headers({ "content-type": "application/json" });
  if (accepted.isReplay) headers.set("idempotent-replayed", "true");
  if (accepted.isMismatch) headers.set("idempotency-mismatch", "true");
  return new Response(accepted.body, { status: 202, headers });
}

function tooManyItems(found: number, allowed: number): AppError {
  return new AppError("BATCH_LIMIT_EXCEEDED", `The plan allows ${allowed} emails in a batch; this one has ${found}`, {
    field: "emails",
    hint: "Split the batch, or ask the operator to raise the plan's limits.",
  });
}
