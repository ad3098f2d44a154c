import { Elysia } from "elysia";
import type { Clock } from "../clock.ts";
import type { Commit } from "../db/commit.ts";
import type { DomainStore } from "../domains/store.ts";
import { wholeWorkspaceCaller } from "../http/auth.ts";
import { notFound } from "../http/errors.ts";
import { answers, describe } from "../http/openapi.ts";
import type { Random } from "../random.ts";
import { insertKey } from "./create.ts";
import { CreatedKey, KeyCreate } from "./schema.ts";
import type { KeyStore } from "./store.ts";

export interface KeyParts {
  keys: KeyStore;
  domains: DomainStore;
  commit: Commit;
  clock: Clock;
  random: Random;
}

export function keyRoutes(parts: KeyParts) {
  return new Elysia({ name: "keys", prefix: "/api/v1/auth/keys" }).post(
    "",
    async ({ request, body, set }) => {
      const caller = wholeWorkspaceCaller(request);
      const created = await parts.commit(() => {
        const domain = body.domainId === undefined ? null : parts.domains.byUid(caller.workspaceId, body.domainId.toLowerCase());
        if (domain === undefined) throw notFound("There is no domain with that domainId in this workspace");
        return insertKey({ workspaceId: caller.workspaceId, name: body.name, domain }, parts);
      });
      set.status = 201;
      return { data: created };
    },
    {
      body: KeyCreate,
      parse: "json",
      detail: describe({
        tag: "API keys",
        summary: "Make an API key",
        description: "The key itself is shown in this answer only.",
        responses: answers(201, CreatedKey, [401, 403, 404, 413, 415, 422, 503]),
      }),
    },
  );
}
