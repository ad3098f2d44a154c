// What the table of errors needs to know of each route: one line of ROWS makes a new route part of every
// test in error-table.test.ts. All else is read from the API's own document.

import type { Instance, Json } from "../../support/fakes/instance.ts";
import { isForPeople } from "./documented-routes.ts";
import { type Scene, TEXT, tomorrow } from "./error-scene.ts";

interface Conflict {
  path?: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** Null: without a key. */
  key?: null;
  code: string;
}

interface Row {
  /** With its ids; default: the route's own. */
  path?: (scene: Scene) => string;
  /** A body that would be accepted. */
  body?: (scene: Scene) => unknown;
  /** Whose key it is for; default: a workspace's. */
  caller?: "operator" | "nobody";
  /** It is for a domain's key too. */
  isForDomainKeys?: true;
  /** It stores nothing for its caller, also where it may answer 503 to another. */
  isRead?: true;
  /** 404 where the path has no id: what names a thing that is not there; "never": only where the dashboard or [tls] is turned off, or nobody is told. */
  missing?: ((scene: Scene) => { path?: string; body?: unknown }) | "never";
  /** 409. */
  conflict?: (scene: Scene) => Conflict;
}

const reused = (body: unknown): Conflict => ({
  body,
  headers: { "Idempotency-Key": "used", "Idempotency-Strict": "true" },
  code: "IDEMPOTENCY_KEY_REUSED",
});

/** What nothing has. */
const NO_ID = "0198a5a0-0000-7000-8000-000000000000";

/** A route of the operator's about a person. */
function ofUser(rest: string): Row {
  return { path: ({ userId }) => `/api/v1/operator/users/${userId}${rest}`, caller: "operator" };
}

/** A route of the operator's under a workspace. */
function ofWorkspace(rest: string, body?: unknown): Row {
  return {
    path: ({ workspaceId }) => `/api/v1/operator/workspaces/${workspaceId}${rest}`,
    ...(body === undefined ? {} : { body: () => body }),
    caller: "operator",
  };
}

function ofHook(rest: string, body?: unknown): Row {
  return {
    path: ({ hookId }) => `/api/v1/webhooks/${hookId}${rest}`,
    ...(body === undefined ? {} : { body: () => body }),
  };
}

function ofDomain(rest: string): Row {
  return { path: ({ domainId }) => `/api/v1/domains/${domainId}${rest}` };
}

function ofEmail(rest: string): Row {
  return { path: ({ emailId }) => `/api/v1/emails/${emailId}${rest}`, isForDomainKeys: true };
}

/** Every route of the document; one that is missing here, or here and not there, fails the first test. */
export const ROWS: Record<string, Row> = {
  "POST /api/v1/emails": {
    body: ({ pombo }) => pombo.email(),
    isForDomainKeys: true,
    conflict: ({ pombo }) => reused(pombo.email({ subject: "another" })),
  },
  "POST /api/v1/emails/batch": {
    body: ({ pombo }) => ({ emails: [pombo.email()] }),
    isForDomainKeys: true,
    conflict: ({ pombo }) => reused({ emails: [pombo.email({ subject: "another" })] }),
  },
  "GET /api/v1/emails": { isForDomainKeys: true },
  "GET /api/v1/emails.csv": { isForDomainKeys: true },
  "GET /api/v1/emails/{id}": { ...ofEmail(""), isRead: true },
  "GET /api/v1/emails/{id}/events": ofEmail("/events"),
  "GET /api/v1/emails/{id}/live": { ...ofEmail("/live"), isRead: true },
  "GET /api/v1/emails/{id}/raw": { ...ofEmail("/raw"), isRead: true },
  "GET /api/v1/emails/{id}/attachments/{n}": { ...ofEmail("/attachments/0"), isRead: true },
  "PATCH /api/v1/emails/{id}": {
    path: ({ scheduledId }) => `/api/v1/emails/${scheduledId}`,
    body: tomorrow,
    conflict: ({ emailId }) => ({ path: `/api/v1/emails/${emailId}`, body: tomorrow(), code: "NOT_SCHEDULED" }),
  },
  "POST /api/v1/emails/{id}/cancel": {
    path: ({ waitingId }) => `/api/v1/emails/${waitingId}/cancel`,
    conflict: ({ emailId }) => ({ path: `/api/v1/emails/${emailId}/cancel`, code: "NOT_CANCELABLE" }),
  },
  "POST /api/v1/emails/{id}/retry": {
    path: ({ waitingId }) => `/api/v1/emails/${waitingId}/retry`,
    conflict: ({ emailId }) => ({ path: `/api/v1/emails/${emailId}/retry`, code: "NOT_RETRYABLE" }),
  },
  "POST /api/v1/sms": {
    body: () => TEXT,
    conflict: () => reused({ ...TEXT, body: "another" }),
  },
  "POST /api/v1/sms/preview": { body: () => TEXT, isRead: true },
  "GET /api/v1/sms": { isRead: true },
  "GET /api/v1/sms/{id}": { path: ({ smsId }) => `/api/v1/sms/${smsId}`, isRead: true },
  "GET /api/v1/sms/{id}/events": { path: ({ smsId }) => `/api/v1/sms/${smsId}/events` },
  "GET /api/v1/sms/inbound": { isRead: true },
  "POST /api/v1/domains": {
    body: () => ({ domain: "new.test" }),
    conflict: () => ({ body: { domain: "loja.test" }, code: "DOMAIN_ALREADY_EXISTS" }),
  },
  "GET /api/v1/domains": {},
  "GET /api/v1/domains/{id}": ofDomain(""),
  "GET /api/v1/domains/{id}/dns-host": ofDomain("/dns-host"),
  "GET /api/v1/domains/{id}/zone": ofDomain("/zone"),
  "POST /api/v1/domains/{id}/share": ofDomain("/share"),
  "DELETE /api/v1/domains/{id}/share": ofDomain("/share"),
  "POST /api/v1/domains/{id}/verification-checks": {
    path: ({ domainId }) => `/api/v1/domains/${domainId}/verification-checks`,
  },
  "DELETE /api/v1/domains/{id}": { path: ({ domainId }) => `/api/v1/domains/${domainId}` },
  "POST /api/v1/workspaces": { body: () => ({ name: "new" }), caller: "operator" },
  "POST /api/v1/auth/keys": {
    body: () => ({ name: "new" }),
    missing: () => ({ body: { name: "new", domainId: NO_ID } }),
  },
  "GET /api/v1/auth/keys": {},
  "DELETE /api/v1/auth/keys/{id}": {
    path: ({ keyId }) => `/api/v1/auth/keys/${keyId}`,
    conflict: ({ lastKeyId }) => ({ path: `/api/v1/auth/keys/${lastKeyId}`, code: "LAST_KEY" }),
  },
  "GET /api/v1/workspace/usage": {},
  "GET /api/v1/workspace": {},
  "GET /api/v1/workspace/audit": {},
  "GET /api/v1/workspace/credits": {},
  "GET /api/v1/workspace/requests": {},
  "GET /api/v1/workspace/members": {},
  "PATCH /api/v1/workspace/members/{id}": {
    path: ({ memberId }) => `/api/v1/workspace/members/${memberId}`,
    body: () => ({ role: "viewer" }),
    conflict: ({ asLastOwner }) => ({ ...asLastOwner, body: { role: "viewer" }, code: "LAST_OWNER" }),
  },
  "DELETE /api/v1/workspace/members/{id}": {
    path: ({ memberId }) => `/api/v1/workspace/members/${memberId}`,
    conflict: ({ asLastOwner }) => ({ ...asLastOwner, code: "LAST_OWNER" }),
  },
  "GET /api/v1/workspace/invitations": {},
  "POST /api/v1/workspace/invitations": {
    body: () => ({ email: "new@example.com", role: "viewer" }),
    conflict: ({ memberEmail }) => ({ body: { email: memberEmail, role: "viewer" }, code: "ALREADY_MEMBER" }),
  },
  "DELETE /api/v1/workspace/invitations/{id}": {
    path: ({ invitationId }) => `/api/v1/workspace/invitations/${invitationId}`,
  },
  "POST /api/v1/workspace/invitations/{id}/resend": {
    path: ({ invitationId }) => `/api/v1/workspace/invitations/${invitationId}/resend`,
  },
  "GET /api/v1/suppressions": {},
  "GET /api/v1/suppressions.csv": {},
  "POST /api/v1/suppressions/import": { body: () => ({ suppressions: [{ address: "gone@example.com" }] }) },
  "POST /api/v1/suppressions": { body: () => ({ address: "gone@example.com" }) },
  "DELETE /api/v1/suppressions/{address}": {
    path: () => "/api/v1/suppressions/listed%40example.com",
    missing: () => ({ path: "/api/v1/suppressions/nobody%40example.com" }),
  },
  "GET /api/v1/recipients/{address}": { path: () => "/api/v1/recipients/listed%40example.com" },
  "DELETE /api/v1/recipients/{address}": { path: () => "/api/v1/recipients/listed%40example.com" },
  "DELETE /api/v1/operator/recipients/{address}": {
    path: () => "/api/v1/operator/recipients/listed%40example.com",
    caller: "operator",
    missing: () => ({ path: `/api/v1/operator/recipients/listed%40example.com?workspace=${NO_ID}` }),
  },
  "POST /api/v1/operator/dashboard-link": { caller: "operator", missing: "never" },
  "GET /api/v1/operator/users": { caller: "operator" },
  "POST /api/v1/operator/users/{id}/reset": ofUser("/reset"),
  "DELETE /api/v1/operator/users/{id}": ofUser(""),
  "GET /api/v1/operator/workspaces": { caller: "operator" },
  "GET /api/v1/operator/workspaces/{id}": ofWorkspace(""),
  "PATCH /api/v1/operator/workspaces/{id}": ofWorkspace("", { name: "new" }),
  "DELETE /api/v1/operator/workspaces/{id}": ofWorkspace(""),
  "POST /api/v1/operator/workspaces/{id}/block": ofWorkspace("/block", {}),
  "POST /api/v1/operator/workspaces/{id}/unblock": ofWorkspace("/unblock"),
  "POST /api/v1/operator/workspaces/{id}/credits": ofWorkspace("/credits", { amount: 1 }),
  "GET /api/v1/operator/workspaces/{id}/credits": ofWorkspace("/credits"),
  "POST /api/v1/operator/workspaces/{id}/sender-ids": ofWorkspace("/sender-ids", { name: "Loja" }),
  "DELETE /api/v1/operator/workspaces/{id}/sender-ids/{name}": ofWorkspace("/sender-ids/Loja"),
  "POST /api/v1/operator/workspaces/{id}/keys": ofWorkspace("/keys", { name: "new" }),
  "POST /api/v1/operator/key/rotate": { caller: "operator" },
  "POST /api/v1/operator/recovery-key/kept": { caller: "operator" },
  "GET /api/v1/operator/workspaces/{id}/suppressions": ofWorkspace("/suppressions"),
  "POST /api/v1/operator/workspaces/{id}/suppressions/import": ofWorkspace("/suppressions/import", {
    suppressions: [{ address: "gone@example.com" }],
  }),
  "GET /api/v1/operator/domains": {
    caller: "operator",
    missing: () => ({ path: `/api/v1/operator/domains?workspaceId=${NO_ID}` }),
  },
  "POST /api/v1/operator/workspaces/{id}/domains": {
    ...ofWorkspace("/domains", { domain: "newer.test" }),
    conflict: () => ({ body: { domain: "loja.test" }, code: "DOMAIN_ALREADY_EXISTS" }),
  },
  "POST /api/v1/operator/domains/{id}/verification-checks": {
    path: ({ domainId }) => `/api/v1/operator/domains/${domainId}/verification-checks`,
    caller: "operator",
  },
  "PATCH /api/v1/operator/domains/{id}": {
    path: ({ domainId }) => `/api/v1/operator/domains/${domainId}`,
    body: () => ({ suspended: false }),
    caller: "operator",
  },
  "GET /api/v1/operator/held-suppressions": {
    caller: "operator",
    missing: () => ({ path: `/api/v1/operator/held-suppressions?workspaceId=${NO_ID}` }),
  },
  "POST /api/v1/operator/held-suppressions/apply": {
    body: () => ({ all: true }),
    caller: "operator",
    missing: () => ({ body: { workspaceId: NO_ID } }),
  },
  "POST /api/v1/operator/held-suppressions/drop": {
    body: () => ({ all: true }),
    caller: "operator",
    missing: () => ({ body: { workspaceId: NO_ID } }),
  },
  "GET /api/v1/operator/status": { caller: "operator", isRead: true },
  "GET /api/v1/operator/alerts": { caller: "operator" },
  "GET /api/v1/operator/alerts/secrets": { caller: "operator" },
  "POST /api/v1/operator/alerts/test": { caller: "operator", isRead: true, missing: "never" },
  "GET /api/v1/operator/alerts/test": { caller: "operator" },
  "GET /api/v1/operator/doctor": { caller: "operator" },
  "POST /api/v1/operator/doctor": {
    caller: "operator",
    isRead: true,
    missing: () => ({ path: "/api/v1/operator/doctor?domain=nobody.example" }),
  },
  "POST /api/v1/operator/doctor/test-mail": {
    body: () => ({ to: "maria@example.com" }),
    caller: "operator",
    missing: () => ({ body: { to: "maria@example.com", domain: "nobody.example" } }),
  },
  "GET /api/v1/operator/doctor/test-mail": { caller: "operator", missing: "never" },
  "GET /api/v1/operator/tls": { caller: "operator" },
  "POST /api/v1/operator/tls/renew": { caller: "operator", isRead: true, missing: "never" },
  "GET /api/v1/operator/trace": { caller: "operator" },
  "GET /api/v1/operator/trace/{id}": {
    path: ({ emailId }) => `/api/v1/operator/trace/${emailId}`,
    caller: "operator",
  },
  "GET /api/v1/operator/queue": { caller: "operator" },
  "GET /api/v1/operator/queue/messages": {
    caller: "operator",
    missing: () => ({ path: `/api/v1/operator/queue/messages?workspaceId=${NO_ID}` }),
  },
  "POST /api/v1/operator/queue/pause": { body: () => ({}), caller: "operator" },
  "POST /api/v1/operator/queue/resume": { caller: "operator" },
  "POST /api/v1/operator/queue/retry": {
    body: ({ waitingId }) => ({ ids: [waitingId] }),
    caller: "operator",
    missing: () => ({ body: { workspaceId: NO_ID } }),
  },
  "POST /api/v1/operator/queue/drop": {
    body: ({ waitingId }) => ({ ids: [waitingId] }),
    caller: "operator",
    missing: () => ({ body: { workspaceId: NO_ID } }),
  },
  "GET /api/v1/operator/inbox": { caller: "operator" },
  "GET /api/v1/operator/inbox/{id}": { path: ({ mailId }) => `/api/v1/operator/inbox/${mailId}`, caller: "operator" },
  "DELETE /api/v1/operator/inbox/{id}": {
    path: ({ mailId }) => `/api/v1/operator/inbox/${mailId}`,
    caller: "operator",
  },
  "GET /api/v1/operator/sms/links": { caller: "operator" },
  "GET /api/v1/operator/sms/link-history": {
    caller: "operator",
    missing: () => ({ path: "/api/v1/operator/sms/link-history?link=none" }),
  },
  "POST /api/v1/operator/sms/trial": { body: () => ({ to: "+258841234567" }), caller: "operator" },
  "GET /api/v1/operator/sms/trial": { caller: "operator" },
  "DELETE /api/v1/operator/sms/trial": { caller: "operator", isRead: true },
  "POST /api/v1/webhooks": { body: () => ({ url: "https://hooks.example.com/", events: ["*"] }) },
  "GET /api/v1/webhooks": {},
  "GET /api/v1/webhooks/{id}": ofHook(""),
  "PATCH /api/v1/webhooks/{id}": ofHook("", { enabled: true }),
  "DELETE /api/v1/webhooks/{id}": ofHook(""),
  "GET /api/v1/webhooks/{id}/deliveries": ofHook("/deliveries"),
  "GET /api/v1/webhooks/{id}/deliveries/{deliveryId}": {
    path: ({ hookId, deliveryId }) => `/api/v1/webhooks/${hookId}/deliveries/${deliveryId}`,
    isRead: true,
  },
  "POST /api/v1/webhooks/{id}/test": ofHook("/test"),
  "POST /api/v1/webhooks/{id}/rotate-secret": ofHook("/rotate-secret", {}),
  "POST /api/v1/webhooks/{id}/deliveries/{deliveryId}/replay": {
    path: ({ hookId, deliveryId }) => `/api/v1/webhooks/${hookId}/deliveries/${deliveryId}/replay`,
  },
  "POST /api/v1/webhooks/{id}/recover": ofHook("/recover", { since: "2026-01-01T00:00:00Z" }),
  "GET /api/v1/events": {},
  "GET /api/v1/openapi.json": { caller: "nobody" },
  "GET /docs": { caller: "nobody" },
  "GET /health": { caller: "nobody" },
  "GET /ready": { caller: "nobody" },
};

export interface Route extends Row {
  /** `POST /api/v1/emails/{id}/cancel` */
  name: string;
  method: string;
  /** As in the document. */
  documented: string;
  /** No key opens it. */
  isForPeople: boolean;
  statuses: number[];
  hasBody: boolean;
  hasQuery: boolean;
}

/** Every route of the document, with its row. */
export async function routesOf(pombo: Instance): Promise<Route[]> {
  const { body } = await pombo.workspace.call("GET", "/api/v1/openapi.json", { key: null });
  return Object.entries<Json>(body.paths).flatMap(([documented, methods]) =>
    Object.entries<Json>(methods).map(([word, operation]) => {
      const method = word.toUpperCase();
      const name = `${method} ${documented}`;
      return {
        ...{ name, method, documented, isForPeople: isForPeople(name), ...ROWS[name] },
        statuses: Object.keys(operation.responses).map(Number),
        hasBody: operation.requestBody !== undefined,
        hasQuery: (operation.parameters ?? []).some((parameter: Json) => parameter.in === "query"),
      };
    }),
  );
}
