import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { personCaller } from "../../../platform/http/auth.ts";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import { answers, Deleted, describe } from "../../../platform/http/openapi.ts";
import { uuid } from "../../../platform/http/request-schemas.ts";
import { toIsoTime, toIsoTimeOrNull } from "../../../platform/http/times.ts";
import type { AccountDeps } from "../deps.ts";
import { addPasskey, removePasskey } from "../factors/change-factors.ts";
import { offerPasskey } from "../factors/offer-passkey.ts";
import { Passkey, PasskeyCreate, PasskeyOptions, PasskeyRequest } from "../schema.ts";
import type { PasskeyRow } from "../store.ts";
import { findSelf } from "./self.ts";

const TAG = "Sign-in";
const CHANGE = [400, 401, 403, 413, 415, 422, 503];

export function passkeyRoutes(deps: AccountDeps) {
  return new Elysia({ name: "passkeys", prefix: "/api/v1/auth" })
    .post("/passkeys/options", async ({ request, body }) => ({ data: await offerPasskey(request, body, deps) }), {
      ...jsonBody(PasskeyRequest),
      detail: describe({
        id: "createPasskeyOptions",
        tag: TAG,
        summary: "Begin a passkey's ceremony",
        description:
          "The answer goes to the browser's WebAuthn functions, and what they give to the route that the passkey is for, " +
          "within 5 minutes and once. `register` and `proof` are for people who are signed in, `link` needs the link's token.",
        isOpen: true,
        responses: answers(200, PasskeyOptions, [...CHANGE, 410]),
      }),
    })
    .get("/passkeys", ({ request }) => ({ data: deps.users.passkeys(personCaller(request).userId).map(showPasskey) }), {
      detail: describe({
        id: "listPasskeys",
        tag: TAG,
        summary: "List one's passkeys",
        description: "Those of the person who is signed in, the oldest first.",
        keys: ["sessionCookie"],
        responses: answers(200, Type.Array(Passkey), [401, 403]),
      }),
    })
    .post(
      "/passkeys",
      async ({ request, body, set }) => {
        const row = await addPasskey(findSelf(request, deps), body, deps);
        set.status = 201;
        return { data: showPasskey(row) };
      },
      {
        ...jsonBody(PasskeyCreate),
        detail: describe({
          id: "createPasskey",
          tag: TAG,
          summary: "Add a passkey",
          description: "Begin with POST /api/v1/auth/passkeys/options, `for` = `register`.",
          keys: ["sessionCookie"],
          responses: answers(201, Passkey, CHANGE),
        }),
      },
    )
    .delete(
      "/passkeys/:id",
      async ({ request, params }) => {
        const id = params.id.toLowerCase();
        const owner = findSelf(request, deps);
        await deps.commit(() => removePasskey(owner, id, deps));
        return { data: { id, deleted: true } };
      },
      {
        params: Type.Object({ id: uuid() }),
        detail: describe({
          id: "deletePasskey",
          tag: TAG,
          summary: "Remove a passkey",
          description: "The last way to sign in cannot be removed.",
          keys: ["sessionCookie"],
          responses: answers(200, Deleted, [401, 403, 404, 409, 422, 503]),
        }),
      },
    );
}

function showPasskey({ uid, name, createdAt, lastUsedAt }: PasskeyRow) {
  return { id: uid, name, createdAt: toIsoTime(createdAt), lastUsedAt: toIsoTimeOrNull(lastUsedAt) };
}
