// The routes of SMS: send, preview, list, get, and messages received.

import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { AppError } from "../../../platform/errors.ts";
import { wholeWorkspaceCaller } from "../../../platform/http/auth.ts";
import { notFound } from "../../../platform/http/errors.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import { type ListPages, CursorMeta } from "../../../platform/http/pagination.ts";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import { parseTimeRange } from "../../../platform/http/times.ts";
import { uuid } from "../../../platform/http/request-schemas.ts";
import { readIdempotency } from "../../idempotency/key.ts";
import { answerSend, SEND_HEADERS } from "../../idempotency/accept.ts";
import { workspaceGone } from "../../plans/sending-refusal.ts";
import type { MayReadContent } from "../../workspaces/read-content.ts";
import { acceptSms, noRoute, type SmsAcceptDeps } from "./accept.ts";
import type { Coding } from "../encoding/encoding.ts";
import type { NumberingPlan } from "../encoding/phone-number.ts";
import { preview } from "./prepare.ts";
import {
  AcceptedSms,
  InboundQuery,
  InboundSms,
  SmsPreview,
  smsPreview,
  smsQuery,
  SmsRecord,
  SmsRecordWithSender,
  smsSend,
  SmsTimelineEntry,
} from "./schema.ts";
import { showInbound, showMessage } from "./serialize.ts";
import { showSmsTimeline } from "./timeline.ts";

const TAG = "SMS";
const HIDDEN = "For viewers and operators `body` is null unless the workspace lets them see what messages say.";
const SEND_ERRORS = [400, 401, 402, 403, 409, 413, 415, 422, 503];
/** Cursors of the two lists are not good for each other. */
const INBOUND_LIST = "sms inbound";
const MESSAGE_LIST = "sms";
/** Where no route is configured yet. */
const COMMON_CODING: Coding = { segmentation: "udh8", shiftTables: "off", defaultCharset: "gsm7" };

export interface SmsDeps extends SmsAcceptDeps {
  pages: ListPages;
  numbering: NumberingPlan;
  mayReadContent: MayReadContent;
}

export function smsRoutes(deps: SmsDeps) {
  const { numbering } = deps;
  return new Elysia({ name: "sms", prefix: "/api/v1/sms" })
    .post(
      "",
      async ({ request, body, set }) => {
        const caller = wholeWorkspaceCaller(request);
        return answerSend(await acceptSms({ caller, item: body, idempotency: readIdempotency(request) }, deps), set);
      },
      {
        ...jsonBody(smsSend(numbering)),
        detail: describe({
          id: "sendSms",
          tag: TAG,
          summary: "Send an SMS",
          description:
            "Queues one SMS. Each segment takes a credit; credits of segments that never reach the network are refunded. " +
            "With an Idempotency-Key, a repeated request gets the first answer again and sends nothing.",
          headers: SEND_HEADERS,
          responses: answers(202, AcceptedSms, SEND_ERRORS),
        }),
      },
    )
    .post(
      "/preview",
      ({ request, body }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        const workspace = deps.workspaces.byId(workspaceId);
        if (workspace === undefined) throw workspaceGone();
        const route = body.to === undefined ? deps.routing.usual : deps.routing.find(body.to);
        if (route === null && body.to !== undefined) throw noRoute(body.to);
        const coding = route ?? COMMON_CODING;
        return { data: preview(body.body, { coding, folding: workspace.smsFolding }) };
      },
      {
        ...jsonBody(smsPreview(numbering)),
        detail: describe({
          id: "previewSms",
          tag: TAG,
          summary: "Preview the cost of an SMS",
          description: "Sends nothing and takes no credit. A send with the same body costs the same.",
          responses: answers(200, SmsPreview, [400, 401, 403, 413, 415, 422]),
        }),
      },
    )
    .get(
      "",
      async ({ request, query }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        const isRead = await deps.mayReadContent(request);
        const { status = null, to = null } = query;
        const filter = { status, to, ...parseTimeRange(query) };
        return deps.pages.list(
          query,
          MESSAGE_LIST,
          (before, limit) => deps.sms.messages.list(workspaceId, filter, before, limit),
          (row) => showMessage(row, isRead),
        );
      },
      {
        query: smsQuery(numbering),
        detail: describe({
          id: "listSms",
          tag: TAG,
          summary: "List SMS, newest first",
          description:
            "All SMS that the workspace has sent, with their status. With both `status` and `to` a page may have fewer items " +
            `than it could, or none, while \`has_more\` is true: the next cursor looks further. ${HIDDEN}`,
          responses: answers(200, Type.Array(SmsRecord), [401, 403, 422, 503], CursorMeta),
        }),
      },
    )
    .get(
      "/inbound",
      async ({ request, query }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        const isRead = await deps.mayReadContent(request);
        const filter = { from: query.from ?? null, ...parseTimeRange(query) };
        return deps.pages.list(
          query,
          INBOUND_LIST,
          (before, limit) =>
            deps.sms.inbound
              .list(workspaceId, filter, before, limit)
              .map((row) => ({ ...row, createdAt: row.receivedAt })),
          (row) => showInbound(row, isRead),
        );
      },
      {
        query: InboundQuery,
        detail: describe({
          id: "listInboundSms",
          tag: TAG,
          summary: "List received SMS, newest first",
          description: `SMS from subscribers to a number of the workspace. Other sender ids cannot receive replies. ${HIDDEN}`,
          responses: answers(200, Type.Array(InboundSms), [401, 403, 422, 503], CursorMeta),
        }),
      },
    )
    .get(
      "/:id",
      async ({ request, params }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        const found = deps.sms.messages.byUid(workspaceId, params.id.toLowerCase());
        if (found === undefined) throw noSuchSms();
        return {
          data: { ...showMessage(found, await deps.mayReadContent(request)), sentBy: deps.sms.findSender(found) },
        };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "getSms",
          tag: TAG,
          summary: "Get an SMS",
          description: `Its record, with the status from the network. ${HIDDEN}`,
          responses: answers(200, SmsRecordWithSender, [401, 403, 404, 422, 503]),
        }),
      },
    )
    .get(
      "/:id/events",
      ({ request, params }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        const found = deps.sms.messages.byUid(workspaceId, params.id.toLowerCase());
        if (found === undefined) throw noSuchSms();
        return { data: showSmsTimeline(found, deps.sms.segments.listByMessage(found.id)) };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "getSmsTimeline",
          tag: TAG,
          summary: "Get an SMS's timeline",
          description:
            "Oldest first: acceptance, each segment's last submission with the network's answer and receipt, the end.",
          responses: answers(200, Type.Array(SmsTimelineEntry), [401, 403, 404, 422]),
        }),
      },
    );
}

function noSuchSms(): AppError {
  return notFound("This workspace has no SMS with this id");
}
