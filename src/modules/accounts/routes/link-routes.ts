import { Elysia } from "elysia";
import { personCaller } from "../../../platform/http/auth.ts";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import { record } from "../factors/change-factors.ts";
import type { AccountDeps } from "../deps.ts";
import { describeMe } from "../me.ts";
import { Link, LinkToken, LinkUse, Me, MeChange } from "../schema.ts";
import { inspectLink, useLink } from "../use-link.ts";

const TAG = "Sign-in";

export function linkRoutes(deps: AccountDeps) {
  return new Elysia({ name: "links", prefix: "/api/v1/auth" })
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
        await deps.commit(() => {
          deps.users.update(userId, body);
          record({ request, userId, sessionId }, "account.changed", deps, body);
        });
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
    .post("/links/inspect", ({ body }) => ({ data: inspectLink(body.token, deps) }), {
      ...jsonBody(LinkToken),
      detail: describe({
        id: "checkLink",
        tag: TAG,
        summary: "Check what a link is for",
        description: "Nothing changes: the link can still be used.",
        isOpen: true,
        responses: answers(200, Link, [400, 403, 410, 413, 415, 422]),
      }),
    })
    .post("/links/use", ({ request, body, set }) => useLink({ request, set }, body, deps), {
      ...jsonBody(LinkUse),
      detail: describe({
        id: "useLink",
        tag: TAG,
        summary: "Use a link",
        description:
          "It works once, and its person is signed in then. `setup`, `reset` and `invitation` take a password or a passkey; " +
          "`setup`, and `invitation` where nobody is signed in, a name and an address too.",
        isOpen: true,
        responses: answers(200, Me, [400, 403, 410, 413, 415, 422, 503]),
      }),
    });
}
