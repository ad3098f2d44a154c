import { Elysia } from "elysia";
import { personCaller } from "../../../platform/http/auth.ts";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import type { AccountDeps } from "../deps.ts";
import { record } from "../factors/change-factors.ts";
import { describeMe } from "../me.ts";
import { Me, MeChange, Proof, Proved } from "../schema.ts";
import { prove } from "../sign-in/prove.ts";

const TAG = "Sign-in";

export function meRoutes(deps: AccountDeps) {
  return new Elysia({ name: "me", prefix: "/api/v1/auth" })
    .get("/me", ({ request }) => ({ data: describeMe(personCaller(request).sessionId, deps) }), {
      detail: describe({
        id: "getMe",
        tag: TAG,
        summary: "Get the person who is signed in",
        description: "With their session, the ways in which they can sign in, and their workspaces.",
        keys: ["sessionCookie"],
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
          keys: ["sessionCookie"],
          responses: answers(200, Me, [400, 401, 403, 413, 415, 422, 503]),
        }),
      },
    )
    .post("/proof", async ({ request, body }) => ({ data: await prove(request, body, deps) }), {
      ...jsonBody(Proof),
      detail: describe({
        id: "createProof",
        tag: TAG,
        summary: "Prove again who one is",
        description:
          "With `password` and, where an authenticator app is used, `code`; or with a passkey: `challengeId` and `response`. " +
          "Dangerous acts ask for it with PROOF_REQUIRED when the last proof is older than 10 minutes.",
        keys: ["sessionCookie"],
        responses: answers(200, Proved, [400, 401, 403, 413, 415, 422, 429, 503]),
      }),
    });
}
