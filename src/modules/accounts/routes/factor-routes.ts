import { Elysia } from "elysia";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import type { AccountDeps } from "../deps.ts";
import { beginTotp, confirmTotp, removeTotp, setPassword } from "../factors/change-factors.ts";
import { describeMe } from "../me.ts";
import { Me, NewPassword, RecoveryCodes, TotpCode, TotpSecret } from "../schema.ts";
import { findSelf } from "./self.ts";

const TAG = "Sign-in";
const CHANGE = [400, 401, 403, 413, 415, 422, 503];

/** Password and authenticator app; each change asks for a fresh proof. */
export function factorRoutes(deps: AccountDeps) {
  return new Elysia({ name: "factors", prefix: "/api/v1/auth" })
    .put(
      "/password",
      async ({ request, body }) => {
        const owner = findSelf(request, deps);
        await setPassword(owner, body.password, deps);
        return { data: describeMe(owner.sessionId, deps) };
      },
      {
        ...jsonBody(NewPassword),
        detail: describe({
          id: "setPassword",
          tag: TAG,
          summary: "Set one's password",
          description: "At least 15 characters, or 12 with an authenticator app. All other sessions end.",
          keys: ["sessionCookie"],
          responses: answers(200, Me, CHANGE),
        }),
      },
    )
    .post("/totp", async ({ request }) => ({ data: await beginTotp(findSelf(request, deps), deps) }), {
      detail: describe({
        id: "createTotp",
        tag: TAG,
        summary: "Begin to use an authenticator app",
        description: "The secret is for the app. Nothing changes before a code of it is sent with PUT.",
        keys: ["sessionCookie"],
        responses: answers(200, TotpSecret, [400, 401, 403, 413, 415, 503]),
      }),
    })
    .put(
      "/totp",
      async ({ request, body }) => ({
        data: { recoveryCodes: await confirmTotp(findSelf(request, deps), body.code, deps) },
      }),
      {
        ...jsonBody(TotpCode),
        detail: describe({
          id: "confirmTotp",
          tag: TAG,
          summary: "Use an authenticator app from now on",
          description:
            "Sign-ins with the password ask for a code then. Each of the recovery codes replaces one; they are shown only in this answer.",
          keys: ["sessionCookie"],
          responses: answers(200, RecoveryCodes, CHANGE),
        }),
      },
    )
    .delete(
      "/totp",
      async ({ request }) => {
        const owner = findSelf(request, deps);
        await deps.commit(() => removeTotp(owner, deps));
        return { data: describeMe(owner.sessionId, deps) };
      },
      {
        detail: describe({
          id: "deleteTotp",
          tag: TAG,
          summary: "Use no authenticator app any more",
          description: "The recovery codes are removed with it.",
          keys: ["sessionCookie"],
          responses: answers(200, Me, [401, 403, 503]),
        }),
      },
    );
}
