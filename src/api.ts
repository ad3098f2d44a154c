import { type AnyElysia, Elysia } from "elysia";
import { domainRoutes, type DomainParts } from "./domains/routes.ts";
import type { AcceptParts } from "./emails/accept.ts";
import { emailRoutes } from "./emails/routes.ts";
import { eventRoutes, type EventParts } from "./events/routes.ts";
import { authenticate, type AuthRules, ownerOf, type VerifyKey } from "./http/auth.ts";
import { type BodyLimits, bodyPlugin } from "./http/body.ts";
import { openApiDocument } from "./http/document.ts";
import { errorsPlugin } from "./http/errors.ts";
import { instanceRoutes } from "./http/instance-routes.ts";
import { methodTable } from "./http/methods.ts";
import { newId } from "./id.ts";
import type { Trouble } from "./trouble.ts";
import { type KeyParts, keyRoutes } from "./keys/routes.ts";
import type { AgainParts } from "./webhooks/again.ts";
import { webhookRoutes } from "./webhooks/routes.ts";
import { workspaceRoutes, WORKSPACES_PATH, type WorkspaceParts } from "./workspaces/routes.ts";

// All routes in one application. Order of a request: its id, who calls (before the body is read),
// the route, the body, its fields, then the room.

/** All that the routes need, by room. */
export interface ApiParts {
  emails: AcceptParts;
  domains: DomainParts;
  keys: KeyParts;
  workspaces: WorkspaceParts;
  webhooks: AgainParts;
  events: EventParts;
  verifyKey: VerifyKey;
  bodyLimits: BodyLimits;
  /** What keeps the instance from working at the moment; none: it is ready. */
  troubles: () => Trouble[];
  /** Routes beside the API: the sandbox's. */
  beside: AnyElysia | null;
}

export async function createApi(parts: ApiParts): Promise<AnyElysia> {
  let document: unknown = null;
  const rooms = [
    emailRoutes(parts.emails),
    domainRoutes(parts.domains),
    workspaceRoutes(parts.workspaces),
    keyRoutes(parts.keys),
    webhookRoutes(parts.webhooks),
    eventRoutes(parts.events),
    instanceRoutes({ troubles: parts.troubles, document: () => document }),
  ];
  document = await openApiDocument(rooms);
  const { random, clock, log } = parts.emails;
  const authRules: AuthRules = {
    isOpen: (method, path) => parts.workspaces.creation === "open" && method === "POST" && path === WORKSPACES_PATH,
    isForOperator: (path) => path === WORKSPACES_PATH || path.startsWith("/api/v1/operator/"),
  };

  let methodsOf: (path: string) => string[] = () => [];

  // aot off: Elysia's ahead-of-time compiler reads functions' source text and fails in the compiled
  // binary. normalize off: it would drop unknown members instead of telling of them.
  const app = new Elysia({ name: "api", aot: false, normalize: false })
    .use(errorsPlugin(log, (path) => methodsOf(path)))
    .onRequest(({ request, set }) => {
      set.headers["x-request-id"] = newId(clock.now(), random);
      authenticate(request, parts.verifyKey, authRules);
    })
    .use(bodyPlugin(parts.bodyLimits, { clock, ownerOf }));
  for (const room of rooms) app.use(room);
  if (parts.beside !== null) app.use(parts.beside);

  methodsOf = methodTable(app.routes);
  return app;
}
