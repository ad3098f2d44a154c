// The calls about people: sign-in, accounts, and the first workspace of an operator.

import type { Static } from "@sinclair/typebox";
import type {
  AddressLinkRequested,
  EndedSessions,
  Link,
  LinkToken,
  LinkUse,
  MagicLinkRequest,
  MagicLinkRequested,
  Me,
  MeChange,
  NewPassword,
  Passkey,
  PasskeyCreate,
  PasskeyOptions,
  PasskeyRequest,
  PasskeySignIn,
  Proof,
  Proved,
  RecoveryCodes,
  Session,
  SignedOut,
  SignIn,
  TotpCode,
  TotpSecret,
} from "../../../modules/accounts/schema.ts";
import type { CreatedWorkspace, WorkspaceCreate } from "../../../modules/workspaces/schema.ts";
import type { Deleted } from "../../../platform/http/openapi.ts";

/** As in calls.ts. */
export interface AccountCalls {
  "GET /api/v1/auth/me": { data: Static<typeof Me> };
  "PATCH /api/v1/auth/me": { body: Static<typeof MeChange>; data: Static<typeof Me> };
  "POST /api/v1/auth/proof": { body: Static<typeof Proof>; data: Static<typeof Proved> };
  "POST /api/v1/auth/session": { body: Static<typeof SignIn>; data: Static<typeof Me> };
  "POST /api/v1/auth/session/passkey": { body: Static<typeof PasskeySignIn>; data: Static<typeof Me> };
  "DELETE /api/v1/auth/session": { data: Static<typeof SignedOut> };
  "POST /api/v1/auth/links/inspect": { body: Static<typeof LinkToken>; data: Static<typeof Link> };
  "POST /api/v1/auth/links/use": { body: Static<typeof LinkUse>; data: Static<typeof Me> };
  "POST /api/v1/auth/magic": { body: Static<typeof MagicLinkRequest>; data: Static<typeof MagicLinkRequested> };
  "POST /api/v1/auth/email-link": { data: Static<typeof AddressLinkRequested> };
  "PUT /api/v1/auth/password": { body: Static<typeof NewPassword>; data: Static<typeof Me> };
  "POST /api/v1/auth/passkeys/options": { body: Static<typeof PasskeyRequest>; data: Static<typeof PasskeyOptions> };
  "GET /api/v1/auth/passkeys": { data: Static<typeof Passkey>[] };
  "POST /api/v1/auth/passkeys": { body: Static<typeof PasskeyCreate>; data: Static<typeof Passkey> };
  "DELETE /api/v1/auth/passkeys/:id": { data: Static<typeof Deleted> };
  "POST /api/v1/auth/totp": { data: Static<typeof TotpSecret> };
  "PUT /api/v1/auth/totp": { body: Static<typeof TotpCode>; data: Static<typeof RecoveryCodes> };
  "DELETE /api/v1/auth/totp": { data: Static<typeof Me> };
  "GET /api/v1/auth/sessions": { data: Static<typeof Session>[] };
  "DELETE /api/v1/auth/sessions/:id": { data: Static<typeof Deleted> };
  "DELETE /api/v1/auth/sessions": { data: Static<typeof EndedSessions> };
  "POST /api/v1/workspaces": { body: Static<typeof WorkspaceCreate>; data: Static<typeof CreatedWorkspace> };
}
