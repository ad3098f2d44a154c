import { Elysia } from "elysia";
import { personCaller } from "../../../platform/http/auth.ts";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import { requireOwnArrival, writeSessionCookie } from "../../../platform/http/browser-request.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import type { AccountDeps } from "../deps.ts";
import { record } from "../factors/change-factors.ts";
import { Me, PasskeySignIn, SignedOut, SignIn } from "../schema.ts";
import { beginSession } from "../sign-in/begin-session.ts";
import { checkPasskey, withPassword } from "../sign-in/sign-in.ts";

const TAG = "Sign-in";
const CHANGE = [400, 401, 403, 413, 415, 422, 503];

export function signInRoutes(deps: AccountDeps) {
  return new Elysia({ name: "sign-in", prefix: "/api/v1/auth" })
    .post(
      "/session",
      ({ request, body, set }) =>
        withPassword(request, body, (find) => beginSession({ request, set }, find, deps), deps),
      {
        ...jsonBody(SignIn),
        detail: describe({
          id: "createSession",
          tag: TAG,
          summary: "Sign in with a password",
          description:
            "The answer sets the session's cookie. It is the same for a wrong password and for an address without account. " +
            "Where an authenticator app is used, SECOND_FACTOR_REQUIRED asks for its code.",
          isOpen: true,
          responses: answers(200, Me, [...CHANGE, 429]),
        }),
      },
    )
    .post(
      "/session/passkey",
      async ({ request, body, set }) => {
        const find = await checkPasskey(request, body, (purpose) => purpose.for === "sign_in", deps);
        return beginSession({ request, set }, find, deps);
      },
      {
        ...jsonBody(PasskeySignIn),
        detail: describe({
          id: "createPasskeySession",
          tag: TAG,
          summary: "Sign in with a passkey",
          description: "Begin with POST /api/v1/auth/passkeys/options, `for` = `sign_in`.",
          isOpen: true,
          responses: answers(200, Me, CHANGE),
        }),
      },
    )
    .delete(
      "/session",
      async ({ request, set }) => {
        const { userId, sessionId } = personCaller(request);
        await deps.commit(() => {
          deps.sessions.end(sessionId);
          record({ request, userId, sessionId }, "session.ended", deps);
        });
        set.headers["set-cookie"] = writeSessionCookie(requireOwnArrival(request, deps.site), null, 0);
        return { data: { signedOut: true } };
      },
      {
        detail: describe({
          id: "deleteSession",
          tag: TAG,
          summary: "Sign out",
          description: "The session ends, and its cookie is removed.",
          keys: ["sessionCookie"],
          responses: answers(200, SignedOut, [401, 403, 503]),
        }),
      },
    );
}
