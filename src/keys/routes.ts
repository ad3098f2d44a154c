import { Elysia } from "elysia";
import type { Clock } from "../clock.ts";
import type { Plan } from "../config.ts";
import type { Commit } from "../db/commit.ts";
import type { DomainStore } from "../domains/store.ts";
import { AppError } from "../errors.ts";
import { wholeWorkspaceCaller } from "../http/auth.ts";
import { answers, describe } from "../http/openapi.ts";
import { requestBody } from "../http/request-body.ts";
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
  /** The plan of a workspace. */
  planOf: (workspaceId: number) => Plan;
}

export function keyRoutes(parts: KeyParts) {
  return new Elysia({ name: "keys", prefix: "/api/v1/auth/keys" }).post(
    "",
    async ({ request, body, set }) => {
      const caller = wholeWorkspaceCaller(request);
      const created = await parts.commit(() => {
        const domain =
          typeof body.domainId === "string"
            ? parts.domains.byUid(caller.workspaceId, body.domainId.toLowerCase())
            : null;
        if (domain === undefined) throw noSuchDomain();
        refuseOverLimit(caller.workspaceId, parts);
        return insertKey({ workspaceId: caller.workspaceId, name: body.name, domain }, parts);
      });
      set.status = 201;
      return { data: created };
    },
    {
      body: requestBody(KeyCreate),
      parse: "json",
      detail: describe({
        tag: "API keys",
        summary: "Make an API key",
        description: "The key itself is shown in this answer only.",
        responses: answers(201, CreatedKey, [400, 401, 402, 403, 404, 413, 415, 422, 503]),
      }),
    },
  );
}

function noSuchDomain(): AppError {
  return new AppError("NOT_FOUND", "There is no domain with this domainId in this workspace", {
    field: "domainId",
    hint: "GET /api/v1/domains shows the ids.",
  });
}

function refuseOverLimit(workspaceId: number, parts: KeyParts): void {
  const limit = parts.planOf(workspaceId).apiKeys;
  if (limit < 0 || parts.keys.countOf(workspaceId) < limit) return;
  throw new AppError("PLAN_LIMIT_REACHED", `The plan allows ${limit} API ${limit === 1 ? "key" : "keys"}`, {
    hint: "Ask the operator to raise the plan's limits.",
  });
}
