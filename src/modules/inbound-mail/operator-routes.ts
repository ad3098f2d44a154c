// Mail for the operator: to postmaster and abuse, and reports that could not be matched or read.

import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import type { Commit } from "../../platform/db/group-commit.ts";
import type { AppError } from "../../platform/errors.ts";
import { operatorCaller } from "../../platform/http/auth.ts";
import { notFound } from "../../platform/http/errors.ts";
import { answers, Deleted, describe } from "../../platform/http/openapi.ts";
import { type ListPages, CursorMeta, CursorQuery } from "../../platform/http/pagination.ts";
import { uuid } from "../../platform/http/request-schemas.ts";
import { toIsoTime } from "../../platform/http/times.ts";
import type { Log } from "../../platform/log.ts";
import { InboxEntry, InboxMail } from "./operator-schema.ts";
import type { InboxStore, ListedMail } from "./store.ts";

const TAG = "Operator";
const LIST = "inbox";

export interface InboxDeps {
  pages: ListPages;
  inbox: InboxStore;
  commit: Commit;
  log: Log;
}

export function inboxRoutes(deps: InboxDeps) {
  return new Elysia({ name: "operator inbox", prefix: "/api/v1/operator/inbox" })
    .get(
      "",
      ({ request, query }) => {
        operatorCaller(request);
        return deps.pages.list(
          query,
          LIST,
          (before, limit) => deps.inbox.list(before, limit).map((mail) => ({ ...mail, createdAt: mail.receivedAt })),
          showInList,
        );
      },
      {
        query: CursorQuery,
        detail: describe({
          id: "listInboxMails",
          tag: TAG,
          summary: "List mail to the operator, newest first",
          description:
            "Mail to postmaster and abuse, and reports that match no email. The newest 1,000 are kept for 30 days.",
          responses: answers(200, Type.Array(InboxEntry), [401, 403, 422], CursorMeta),
        }),
      },
    )
    .get(
      "/:id",
      ({ request, params }) => {
        operatorCaller(request);
        const mail = deps.inbox.byUid(params.id.toLowerCase());
        if (mail === undefined) throw noSuchMail();
        const { envelopeFrom, helo, clientAddress, isTls: tls, size } = mail;
        const content = Bun.zstdDecompressSync(mail.content).toString("base64");
        return { data: { ...showInList(mail), envelopeFrom, helo, clientAddress, tls, size, content } };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "getInboxMail",
          tag: TAG,
          summary: "Get a mail to the operator",
          description: "With its content.",
          responses: answers(200, InboxMail, [401, 403, 404, 422]),
        }),
      },
    )
    .delete(
      "/:id",
      async ({ request, params }) => {
        operatorCaller(request);
        const id = params.id.toLowerCase();
        if (!(await deps.commit(() => deps.inbox.delete(id)))) throw noSuchMail();
        deps.log.event("inbox.deleted", { id });
        return { data: { id, deleted: true } };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "deleteInboxMail",
          tag: TAG,
          summary: "Delete a mail to the operator",
          description: "It cannot be restored.",
          responses: answers(200, Deleted, [401, 403, 404, 422, 503]),
        }),
      },
    );
}

function showInList(mail: ListedMail): typeof InboxEntry.static {
  const { uid: id, mailbox, sender: from, subject, receivedAt } = mail;
  return { id, mailbox, from, subject, receivedAt: toIsoTime(receivedAt) };
}

function noSuchMail(): AppError {
  return notFound("There is no mail with this id", "GET /api/v1/operator/inbox lists them.");
}
