import { Elysia } from "elysia";
import { personCaller } from "../../platform/http/auth.ts";
import { jsonBody } from "../../platform/http/body/validate.ts";
import { requireOwnArrival, writeSessionCookie } from "../../platform/http/browser-request.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { beginSession } from "./begin-session.ts";
import type { AccountDeps } from "./deps.ts";
import { describeMe } from "./me.ts";
import { Link, LinkToken, LinkUse, Me, MeChange, SignedOut, SignIn } from "./schema.ts";
import { checkSignIn } from "./sign-in.ts";
import { inspectLink, useLink } from "./use-link.ts";

const TAG = "Sign-in";

export function accountRoutes(deps: AccountDeps) {
  return new Elysia({ name: "accounts", prefix: "/api/v1/auth" })
    .get("/me", ({ request }) => ({ data: describeMe(personCaller(request).sessionId, deps) }), {
      detail: describe({
        id: "getMe",
        tag: TAG,
        summary: "Get the person who is signed in",
        description: "With their session, the ways in which they can sign in, and their workspaces.",
        responses: answers(200, Me, [401, 403]),
      }),
    })
    .patch(
      "/me",
      async ({ request, body }) => {
        const { userId, sessionId } = personCaller(request);
        await deps.commit(() => void deps.users.update(userId, body));
        return { data: describeMe(sessionId, deps) };
      },
      {
        ...jsonBody(MeChange),
        detail: describe({
          id: "updateMe",
          tag: TAG,
          summary: "Change one's name or language",
          description: "Members that are left out stay as they are.",
          responses: answers(200, Me, [400, 401, 403, 413, 415, 422, 503]),
        }),
      },
    )
    .post(
      "/session",
      async ({ request, body, set }) => beginSession(request, set, await checkSignIn(body, deps), deps),
      {
        ...jsonBody(SignIn),
        detail: describe({
          id: "signIn",
          tag: TAG,
          summary: "Sign in with a password",
          description:
            "The answer sets the session's cookie. It is the same for a wrong password and an address without account.",
          isOpen: true,
          responses: answers(200, Me, [400, 401, 403, 413, 415, 422, 503]),
        }),
      },
    )
    .delete(
      "/session",
      async ({ request, set }) => {
        const { sessionId } = personCaller(request);
        await deps.commit(() => void deps.sessions.end(sessionId));
        set.headers["set-cookie"] = writeSessionCookie(requireOwnArrival(request, deps.site), null, 0);
        return { data: { signedOut: true } };
      },
      {
        detail: describe({
          id: "signOut",
          tag: TAG,
          summary: "Sign out",
          description: "The session ends, and its cookie is removed.",
          responses: answers(200, SignedOut, [401, 403, 503]),
        }),
      },
    )
    .post("/links/inspect", ({ body }) => ({ data: inspectLink(body.token, deps) }), {
      ...jsonBody(LinkToken),
      detail: describe({
        id: "inspectLink",
        tag: TAG,
        summary: "See what a link is for",
        description: "Nothing changes: the link can still be used.",
        isOpen: true,
        responses: answers(200, Link, [400, 403, 410, 413, 415, 422]),
      }),
    })
    .post("/links/use", async ({ request, body, set }) => beginSession(request, set, await useLink(body, deps), deps), {
      ...jsonBody(LinkUse),
      detail: describe({
        id: "useLink",
        tag: TAG,
        summary: "Use a link",
        description: "The person is signed in then; the link works once.",
        isOpen: true,
        responses: answers(200, Me, [400, 403, 410, 413, 415, 422, 503]),
      }),
    });
}
