import { Elysia } from "elysia";
import { personCaller } from "../../../platform/http/auth.ts";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import { answers, describe } from "../../../platform/http/openapi.ts";
import { requireUser } from "../factors/change-factors.ts";
import type { AccountDeps } from "../deps.ts";
import { requestAddressLink, requestMagicLink } from "../mailed-links.ts";
import { AddressLinkRequested, Link, LinkToken, LinkUse, MagicLinkRequest, MagicLinkRequested, Me } from "../schema.ts";
import { inspectLink, useLink } from "../use-link.ts";

const TAG = "Sign-in";

export function linkRoutes(deps: AccountDeps) {
  return new Elysia({ name: "links", prefix: "/api/v1/auth" })
    .post(
      "/magic",
      ({ request, body, set }) => {
        requestMagicLink({ request, set }, body.email, deps);
        set.status = 202;
        return { data: { requested: true } };
      },
      {
        ...jsonBody(MagicLinkRequest),
        detail: describe({
          id: "sendMagicLink",
          tag: TAG,
          summary: "Have a link to sign in mailed",
          description:
            "For members, where the operator allows it. The answer is the same whether there is such an account or not; " +
            "the link works in this browser, for 15 minutes, once.",
          isOpen: true,
          responses: answers(202, MagicLinkRequested, [400, 403, 404, 413, 415, 422, 429]),
        }),
      },
    )
    .post(
      "/email-link",
      async ({ request, set }) => {
        const user = requireUser(personCaller(request).userId, deps);
        set.status = 202;
        return { data: { requested: await requestAddressLink(request, user, deps) } };
      },
      {
        detail: describe({
          id: "sendAddressLink",
          tag: TAG,
          summary: "Have a link mailed to one's own address",
          description: "Who opens it while signed in has shown that the address is theirs. At most five an hour.",
          keys: ["sessionCookie"],
          responses: answers(202, AddressLinkRequested, [401, 403, 404, 503]),
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
        responses: answers(200, Me, [400, 401, 403, 410, 413, 415, 422, 429, 503]),
      }),
    });
}
