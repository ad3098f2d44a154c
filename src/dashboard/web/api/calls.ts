// The calls of the API that the dashboard makes, typed by the schemas that the server checks. A test holds each line against the OpenAPI document.

import type { Static, TSchema } from "@sinclair/typebox";
import type { CreatedKey, KeyCreate, KeyInList } from "../../../modules/api-keys/schema.ts";
import type { AuditRecord } from "../../../modules/audit/schema.ts";
import type {
  DomainCreate,
  DomainDnsHost,
  DomainInList,
  DomainRecord,
  DomainShare,
  DomainWithDns,
  EndedShare,
  SharedDns,
} from "../../../modules/domains/schema.ts";
import type {
  Accepted,
  EmailChange,
  EmailInListWithStatus,
  EmailRecord,
  EmailRecordWithHint,
  EmailSend,
  GroupQuery,
  TimelineEntry,
  TimelineQuery,
} from "../../../modules/emails/api/schema.ts";
import type { EmailPageMeta, EmailQuery } from "../../../modules/emails/list/schema.ts";
import type { HtmlPreview, PreviewTicket } from "../../../modules/emails/preview/schema.ts";
import type {
  Invitation,
  InvitationCreate,
  InvitationWithLink,
  Member as WorkspaceMember,
  MemberChange,
} from "../../../modules/members/schema.ts";
import type { LoggedRequest, RequestQuery } from "../../../modules/requests/schema.ts";
import type {
  AcceptedSms,
  InboundQuery,
  InboundSms,
  SmsPreview,
  smsPreview,
  smsQuery,
  SmsRecord,
  SmsRecordWithSender,
  SmsSend,
  SmsTimelineEntry,
} from "../../../modules/sms/api/schema.ts";
import type { Imported, SuppressionsImport } from "../../../modules/suppressions/operator-schema.ts";
import type {
  DeletedSuppression,
  LiftQuery,
  Suppression,
  SuppressionCreate,
  SuppressionQuery,
} from "../../../modules/suppressions/schema.ts";
import type {
  buildChangeSchema,
  buildCreateSchema,
  DeliveryPageMeta,
  DeliveryQuery,
  Queued,
  SecretRotation,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryRecord,
  WebhookWithSecret,
} from "../../../modules/webhooks/api/schema.ts";
import type {
  OwnCreditEntry,
  OwnWorkspace,
  OwnWorkspaceChange,
  OwnWorkspaceQuery,
  OwnWorkspaceWithUsage,
} from "../../../modules/workspaces/schema.ts";
import type { Deleted } from "../../../platform/http/openapi.ts";
import type { CursorMeta, CursorQuery } from "../../../platform/http/pagination.ts";
import type { AccountCalls } from "./account-calls.ts";

/** Read page by page, each behind the cursor of the one before. */
interface List<Item extends TSchema> {
  query: Static<typeof CursorQuery>;
  data: Static<Item>[];
  meta: Static<typeof CursorMeta>;
}

/** One call a line: `"METHOD /path/:param": { body, query, data, meta }`, each the schema that the document names. */
export interface Calls extends AccountCalls {
  "GET /api/v1/workspace": { query: Static<typeof OwnWorkspaceQuery>; data: Static<typeof OwnWorkspaceWithUsage> };
  "PATCH /api/v1/workspace": { body: Static<typeof OwnWorkspaceChange>; data: Static<typeof OwnWorkspace> };
  "GET /api/v1/auth/keys": List<typeof KeyInList>;
  "POST /api/v1/auth/keys": { body: Static<typeof KeyCreate>; data: Static<typeof CreatedKey> };
  "DELETE /api/v1/auth/keys/:id": { data: Static<typeof Deleted> };
  "GET /api/v1/domains": List<typeof DomainInList>;
  "GET /api/v1/domains/:id": { data: Static<typeof DomainRecord> };
  "POST /api/v1/domains": { body: Static<typeof DomainCreate>; data: Static<typeof DomainWithDns> };
  "DELETE /api/v1/domains/:id": { data: Static<typeof Deleted> };
  "GET /api/v1/domains/:id/dns-host": { data: Static<typeof DomainDnsHost> };
  "POST /api/v1/domains/:id/share": { data: Static<typeof DomainShare> };
  "DELETE /api/v1/domains/:id/share": { data: Static<typeof EndedShare> };
  "GET /api/v1/dns-share": { data: Static<typeof SharedDns> };
  "GET /api/v1/emails": {
    query: Static<typeof EmailQuery>;
    data: Static<typeof EmailInListWithStatus>[];
    /** By a cursor without numbers. */
    meta: EmailPageMeta;
  };
  "POST /api/v1/emails": { body: EmailSend; data: Static<typeof Accepted> };
  "GET /api/v1/emails/:id": { data: Static<typeof EmailRecord> };
  "POST /api/v1/emails/:id/preview": { data: Static<typeof PreviewTicket> };
  "POST /api/v1/workspace/preview": { body: Static<typeof HtmlPreview>; data: Static<typeof PreviewTicket> };
  "GET /api/v1/emails/:id/events": { query: Static<typeof TimelineQuery>; data: Static<typeof TimelineEntry>[] };
  "PATCH /api/v1/emails/:id": {
    body: Static<typeof EmailChange>;
    query: Static<typeof GroupQuery>;
    data: Static<typeof EmailRecord>;
  };
  "POST /api/v1/emails/:id/cancel": { query: Static<typeof GroupQuery>; data: Static<typeof EmailRecordWithHint> };
  "POST /api/v1/emails/:id/retry": { data: Static<typeof EmailRecordWithHint> };
  "GET /api/v1/workspace/members": List<typeof WorkspaceMember>;
  "PATCH /api/v1/workspace/members/:id": { body: Static<typeof MemberChange>; data: Static<typeof WorkspaceMember> };
  "DELETE /api/v1/workspace/members/:id": { data: Static<typeof Deleted> };
  "GET /api/v1/workspace/invitations": List<typeof Invitation>;
  "POST /api/v1/workspace/invitations": {
    body: Static<typeof InvitationCreate>;
    data: Static<typeof InvitationWithLink>;
  };
  "POST /api/v1/workspace/invitations/:id/resend": { data: Static<typeof InvitationWithLink> };
  "DELETE /api/v1/workspace/invitations/:id": { data: Static<typeof Deleted> };
  "GET /api/v1/sms": {
    query: Static<ReturnType<typeof smsQuery>>;
    data: Static<typeof SmsRecord>[];
    meta: Static<typeof CursorMeta>;
  };
  "GET /api/v1/sms/:id": { data: Static<typeof SmsRecordWithSender> };
  "GET /api/v1/sms/:id/events": { data: Static<typeof SmsTimelineEntry>[] };
  "GET /api/v1/sms/inbound": {
    query: Static<typeof InboundQuery>;
    data: Static<typeof InboundSms>[];
    meta: Static<typeof CursorMeta>;
  };
  "POST /api/v1/sms": { body: SmsSend; data: Static<typeof AcceptedSms> };
  "POST /api/v1/sms/preview": { body: Static<ReturnType<typeof smsPreview>>; data: Static<typeof SmsPreview> };
  "GET /api/v1/workspace/credits": List<typeof OwnCreditEntry>;
  "GET /api/v1/suppressions": {
    query: Static<typeof SuppressionQuery>;
    data: Static<typeof Suppression>[];
    meta: Static<typeof CursorMeta>;
  };
  "POST /api/v1/suppressions": { body: Static<typeof SuppressionCreate>; data: Static<typeof Suppression> };
  "POST /api/v1/suppressions/import": { body: SuppressionsImport; data: Static<typeof Imported> };
  "DELETE /api/v1/suppressions/:address": {
    query: Static<typeof LiftQuery>;
    data: Static<typeof DeletedSuppression>;
  };
  "GET /api/v1/workspace/audit": List<typeof AuditRecord>;
  "GET /api/v1/workspace/requests": {
    query: Static<typeof RequestQuery>;
    data: Static<typeof LoggedRequest>[];
    meta: Static<typeof CursorMeta>;
  };
  "GET /api/v1/webhooks": List<typeof Webhook>;
  "POST /api/v1/webhooks": {
    body: Static<ReturnType<typeof buildCreateSchema>>;
    data: Static<typeof WebhookWithSecret>;
  };
  "GET /api/v1/webhooks/:id": { data: Static<typeof Webhook> };
  "PATCH /api/v1/webhooks/:id": {
    body: Static<ReturnType<typeof buildChangeSchema>>;
    data: Static<typeof Webhook>;
  };
  "DELETE /api/v1/webhooks/:id": { data: Static<typeof Deleted> };
  "POST /api/v1/webhooks/:id/test": { data: Static<typeof Queued> };
  "POST /api/v1/webhooks/:id/rotate-secret": {
    body: Static<typeof SecretRotation>;
    data: Static<typeof WebhookWithSecret>;
  };
  "GET /api/v1/webhooks/:id/deliveries": {
    query: Static<typeof DeliveryQuery>;
    data: Static<typeof WebhookDelivery>[];
    meta: Static<typeof DeliveryPageMeta>;
  };
  "GET /api/v1/webhooks/:id/deliveries/:deliveryId": { data: Static<typeof WebhookDeliveryRecord> };
  "POST /api/v1/webhooks/:id/deliveries/:deliveryId/replay": { data: Static<typeof Queued> };
}

export type Call = keyof Calls;
type Member<C extends Call, Name extends string> = Calls[C] extends Record<Name, infer Value> ? Value : undefined;
export type Body<C extends Call> = Member<C, "body">;
export type Query<C extends Call> = Member<C, "query">;
export type Data<C extends Call> = Member<C, "data">;
export type Meta<C extends Call> = Member<C, "meta">;

type Names<Path extends string> = Path extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer Others}`
    ? Name | Names<Others>
    : Rest
  : never;
export type Params<C extends Call> = Names<C>;
