// What the API's document must hold: openapi.test.ts compares.

/** Of every route that asks for a key. */
export const KEYED = ["401", "429", "500"];
const SEND_STATUSES = ["202", "400", "402", "403", "409", "413", "415", "422", "503"];
const CHANGE_STATUSES = ["400", "403", "404", "409", "413", "415", "422", "503"];
const CREATE_STATUSES = ["201", "400", "403", "413", "415", "422", "503"];
const OPERATOR_READ_STATUSES = ["200", "401", "403", "404", "422"];
const OPERATOR_CHANGE_STATUSES = ["400", "401", "403", "404", "413", "415", "422", "503"];
const HOOK_STATUSES = ["400", "403", "404", "413", "415", "422", "503"];

/** Every route and the statuses that it is documented with. */
export const ROUTES: Record<string, string[]> = {
  "POST /api/v1/emails": SEND_STATUSES,
  "POST /api/v1/emails/batch": SEND_STATUSES,
  "GET /api/v1/emails": ["200", "403", "422"],
  "GET /api/v1/emails/{id}": ["200", "403", "404", "422"],
  "GET /api/v1/emails/{id}/events": ["200", "403", "404", "422"],
  "POST /api/v1/emails/{id}/cancel": ["200", ...CHANGE_STATUSES],
  "POST /api/v1/emails/{id}/retry": ["202", ...CHANGE_STATUSES],
  "POST /api/v1/sms": SEND_STATUSES,
  "POST /api/v1/sms/preview": ["200", "400", "403", "413", "415", "422"],
  "GET /api/v1/sms": ["200", "403", "422"],
  "GET /api/v1/sms/{id}": ["200", "403", "404", "422"],
  "GET /api/v1/sms/inbound": ["200", "403", "422"],
  "POST /api/v1/domains": [...CREATE_STATUSES, "402", "409"],
  "GET /api/v1/domains": ["200", "403", "422"],
  "POST /api/v1/domains/{id}/verification-checks": [...["200", "400", "403", "404", "413", "415", "422", "503"]],
  "DELETE /api/v1/domains/{id}": ["200", "403", "404", "422", "503"],
  "POST /api/v1/workspaces": CREATE_STATUSES,
  "POST /api/v1/auth/keys": [...CREATE_STATUSES, "402", "404"],
  "GET /api/v1/auth/keys": ["200", "403", "422"],
  "DELETE /api/v1/auth/keys/{id}": ["200", "403", "404", "409", "422", "503"],
  "GET /api/v1/operator/workspaces": ["200", "401", "403", "422"],
  "GET /api/v1/operator/workspaces/{id}": OPERATOR_READ_STATUSES,
  "PATCH /api/v1/operator/workspaces/{id}": ["200", ...OPERATOR_CHANGE_STATUSES],
  "DELETE /api/v1/operator/workspaces/{id}": ["200", "401", "403", "404", "422", "503"],
  "POST /api/v1/operator/workspaces/{id}/block": ["200", ...OPERATOR_CHANGE_STATUSES],
  "POST /api/v1/operator/workspaces/{id}/unblock": ["200", ...OPERATOR_CHANGE_STATUSES],
  "POST /api/v1/operator/workspaces/{id}/credits": ["201", ...OPERATOR_CHANGE_STATUSES],
  "GET /api/v1/operator/workspaces/{id}/credits": OPERATOR_READ_STATUSES,
  "POST /api/v1/operator/workspaces/{id}/sender-ids": ["200", "201", ...OPERATOR_CHANGE_STATUSES],
  "DELETE /api/v1/operator/workspaces/{id}/sender-ids/{name}": ["200", "401", "403", "404", "422", "503"],
  "POST /api/v1/operator/workspaces/{id}/keys": ["201", ...OPERATOR_CHANGE_STATUSES],
  "POST /api/v1/operator/key/rotate": ["200", "400", "401", "403", "413", "415", "503"],
  "GET /api/v1/suppressions": ["200", "401", "403", "422"],
  "POST /api/v1/suppressions": ["200", ...CREATE_STATUSES],
  "DELETE /api/v1/suppressions/{address}": ["200", "401", "403", "404", "422", "503"],
  "GET /api/v1/operator/workspaces/{id}/suppressions": OPERATOR_READ_STATUSES,
  "POST /api/v1/operator/workspaces/{id}/suppressions/import": ["200", ...OPERATOR_CHANGE_STATUSES],
  "GET /api/v1/operator/held-suppressions": OPERATOR_READ_STATUSES,
  "POST /api/v1/operator/held-suppressions/apply": ["200", ...OPERATOR_CHANGE_STATUSES],
  "POST /api/v1/operator/held-suppressions/drop": ["200", ...OPERATOR_CHANGE_STATUSES],
  "GET /api/v1/workspace/usage": ["200", "401", "403", "422"],
  "GET /api/v1/domains/{id}": ["200", "401", "403", "404", "422"],
  "GET /api/v1/operator/domains": ["200", "401", "403", "404", "422"],
  "PATCH /api/v1/operator/domains/{id}": ["200", "400", "401", "403", "404", "413", "415", "422", "503"],
  "GET /docs": ["200"],
  "POST /api/v1/webhooks": [...CREATE_STATUSES, "402"],
  "GET /api/v1/webhooks": ["200", "403", "422"],
  "PATCH /api/v1/webhooks/{id}": ["200", ...HOOK_STATUSES],
  "DELETE /api/v1/webhooks/{id}": ["200", "403", "404", "422", "503"],
  "GET /api/v1/webhooks/{id}/deliveries": ["200", "403", "404", "422"],
  "POST /api/v1/webhooks/{id}/test": ["202", ...HOOK_STATUSES],
  "POST /api/v1/webhooks/{id}/rotate-secret": ["200", ...HOOK_STATUSES],
  "POST /api/v1/webhooks/{id}/deliveries/{deliveryId}/replay": ["202", ...HOOK_STATUSES],
  "POST /api/v1/webhooks/{id}/recover": ["202", ...HOOK_STATUSES],
  "GET /api/v1/events": ["200", "403", "422"],
  "GET /api/v1/openapi.json": ["200"],
  "GET /health": ["200"],
  "GET /ready": ["200", "503"],
};
