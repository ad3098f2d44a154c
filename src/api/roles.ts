// The rights of each role in a workspace, and the right that a person needs for each route.

import type { Role } from "../platform/http/auth.ts";

const READERS = ["owner", "admin", "member", "viewer", "operator"] as const;
const SENDERS = ["owner", "admin", "member"] as const;
const MANAGERS = ["owner", "admin", "operator"] as const;

/** The roles that have each right. "operator" is an operator of the instance who is not a member of the workspace. */
export const GRANTS = {
  read: READERS,
  send: SENDERS,
  manage: MANAGERS,
  /** Members and invitations. */
  people: MANAGERS,
  own: ["owner", "operator"],
  "keys-only": [],
} as const satisfies Record<string, readonly (Role | "operator")[]>;

/** `person`: anybody who is signed in; `open`: everybody; `operator`: operators of the instance. */
export type Right = keyof typeof GRANTS | "person" | "open" | "operator";

/** A route that is not here, or under the operator's paths, is closed to sessions. */
export const ROUTE_RIGHTS: Record<string, Right> = {
  "POST /api/v1/emails": "send",
  "POST /api/v1/emails/batch": "send",
  "GET /api/v1/emails": "read",
  "GET /api/v1/emails.csv": "read",
  // Without html, text and headers for those who may not see what messages say (modules/workspaces/read-content.ts). The same holds for SMS.
  "GET /api/v1/emails/:id": "read",
  "GET /api/v1/emails/:id/events": "read",
  "GET /api/v1/emails/:id/live": "read",
  // Only for those who may see what messages say.
  "GET /api/v1/emails/:id/attachments/:n": "read",
  "GET /api/v1/emails/:id/raw": "read",
  // Only for those who may see what messages say.
  "POST /api/v1/emails/:id/preview": "read",
  "PATCH /api/v1/emails/:id": "send",
  "POST /api/v1/emails/:id/cancel": "send",
  "POST /api/v1/emails/:id/retry": "send",

  "POST /api/v1/sms": "send",
  "POST /api/v1/sms/preview": "send",
  "GET /api/v1/sms": "read",
  "GET /api/v1/sms/inbound": "read",
  "GET /api/v1/sms/:id": "read",
  "GET /api/v1/sms/:id/events": "read",

  "GET /api/v1/domains": "read",
  "GET /api/v1/domains/:id": "read",
  "POST /api/v1/domains": "manage",
  "DELETE /api/v1/domains/:id": "manage",
  "GET /api/v1/domains/:id/dns-host": "read",
  "GET /api/v1/domains/:id/zone": "read",
  "POST /api/v1/domains/:id/share": "manage",
  "DELETE /api/v1/domains/:id/share": "manage",
  "GET /api/v1/dns-share": "open",
  "GET /api/v1/dns-share/live": "open",
  "POST /api/v1/domains/:id/verification-checks": "send",

  "GET /api/v1/suppressions": "read",
  "GET /api/v1/suppressions.csv": "read",
  "POST /api/v1/suppressions": "send",
  "POST /api/v1/suppressions/import": "send",
  "DELETE /api/v1/suppressions/:address": "send",
  // With what the messages say.
  "GET /api/v1/recipients/:address": "send",
  "DELETE /api/v1/recipients/:address": "manage",

  "GET /api/v1/webhooks": "read",
  "GET /api/v1/webhooks/:id": "read",
  "GET /api/v1/webhooks/:id/deliveries": "read",
  // Without payload and answer for those who may not see what messages say.
  "GET /api/v1/webhooks/:id/deliveries/:deliveryId": "read",
  "POST /api/v1/webhooks": "manage",
  "PATCH /api/v1/webhooks/:id": "manage",
  "DELETE /api/v1/webhooks/:id": "manage",
  "POST /api/v1/webhooks/:id/rotate-secret": "manage",
  "POST /api/v1/webhooks/:id/test": "send",
  "POST /api/v1/webhooks/:id/deliveries/:deliveryId/replay": "send",
  "POST /api/v1/webhooks/:id/recover": "send",

  // Events are kept for whoever listens: an open page would make every email of the workspace write one.
  "GET /api/v1/events": "keys-only",

  "GET /api/v1/auth/keys": "read",
  "POST /api/v1/auth/keys": "manage",
  "DELETE /api/v1/auth/keys/:id": "manage",

  "POST /api/v1/workspaces": "operator",
  "GET /api/v1/workspace": "read",
  "PATCH /api/v1/workspace": "own",
  "POST /api/v1/workspace/preview": "send",
  "GET /api/v1/workspace/usage": "read",
  "GET /api/v1/workspace/credits": "read",
  "GET /api/v1/workspace/live": "read",
  "GET /api/v1/workspace/requests": "read",
  "GET /api/v1/workspace/audit": "manage",
  "GET /api/v1/workspace/members": "read",
  "PATCH /api/v1/workspace/members/:id": "people",
  // Everybody may leave; for another member the module asks for more.
  "DELETE /api/v1/workspace/members/:id": "read",
  "GET /api/v1/workspace/invitations": "people",
  "POST /api/v1/workspace/invitations": "people",
  "DELETE /api/v1/workspace/invitations/:id": "people",
  "POST /api/v1/workspace/invitations/:id/resend": "people",

  "POST /api/v1/auth/session": "open",
  "POST /api/v1/auth/session/passkey": "open",
  "POST /api/v1/auth/passkeys/options": "open",
  "POST /api/v1/auth/links/inspect": "open",
  "POST /api/v1/auth/links/use": "open",
  "POST /api/v1/auth/magic": "open",
  "POST /api/v1/auth/email-link": "person",
  "DELETE /api/v1/auth/session": "person",
  "GET /api/v1/auth/me": "person",
  "PATCH /api/v1/auth/me": "person",
  "POST /api/v1/auth/proof": "person",
  "GET /api/v1/auth/passkeys": "person",
  "POST /api/v1/auth/passkeys": "person",
  "DELETE /api/v1/auth/passkeys/:id": "person",
  "PUT /api/v1/auth/password": "person",
  "POST /api/v1/auth/totp": "person",
  "PUT /api/v1/auth/totp": "person",
  "DELETE /api/v1/auth/totp": "person",
  "GET /api/v1/auth/sessions": "person",
  "DELETE /api/v1/auth/sessions": "person",
  "DELETE /api/v1/auth/sessions/:id": "person",
};

const TEMPLATES = Object.entries(ROUTE_RIGHTS)
  .filter(([route]) => route.includes(":"))
  .map(([route, right]) => ({ pattern: new RegExp(`^${route.replaceAll(/:[^/]+/g, "[^/]+")}$`), right }));

/** The right that a request needs; null: its route is closed to sessions, or there is none. */
export function findRight(method: string, path: string): Right | null {
  const route = `${method} ${path.endsWith("/") ? path.slice(0, -1) : path}`;
  return ROUTE_RIGHTS[route] ?? TEMPLATES.find(({ pattern }) => pattern.test(route))?.right ?? null;
}
