import { type AnyElysia, Elysia } from "elysia";
import { operatorDomainRoutes, type OperatorDomainDeps } from "../modules/domains/operator-routes.ts";
import { docsRoutes } from "./docs/routes.ts";
import { domainRoutes, type DomainDeps } from "../modules/domains/routes.ts";
import { type EmailDeps, emailRoutes } from "../modules/emails/api/routes.ts";
import type { Config } from "../config/config.ts";
import { admit, type AdmitDeps } from "./admit.ts";
import { OPERATOR_PATHS, ownerOf, requireStillValid, type VerifyKey } from "../platform/http/auth.ts";
import { eventRoutes, type EventDeps } from "../modules/events/routes.ts";
import { type InboxDeps, inboxRoutes } from "../modules/inbound-mail/operator-routes.ts";
import { type BodyLimits, type BodyDeps, bodyPlugin } from "../platform/http/body/read.ts";
import { clientNetwork } from "../platform/http/client-address.ts";
import { errorsPlugin, methodNotAllowed } from "../platform/http/errors.ts";
import { instanceRoutes } from "./instance-routes.ts";
import { type MethodTable, methodTable } from "../platform/http/methods.ts";
import { pathOf } from "../platform/http/path.ts";
import { createRateLimiter } from "./rate-limit.ts";
import { newId } from "../platform/uuid.ts";
import type { HealthIssue } from "../platform/health-issue.ts";
import { type OperatorSuppressionDeps, operatorSuppressionRoutes } from "../modules/suppressions/operator-routes.ts";
import { type SuppressionDeps, suppressionRoutes } from "../modules/suppressions/routes.ts";
import { type KeyDeps, keyRoutes } from "../modules/api-keys/routes.ts";
import { parseRanges } from "../platform/ip/address.ts";
import type { Sms } from "../modules/sms/index.ts";
import { operatorPauseRoutes, type PauseRouteDeps } from "../modules/operator/pause-routes.ts";
import { operatorQueueRoutes, type OperatorQueueDeps } from "../modules/operator/queue-routes.ts";
import type { StatusDeps } from "../modules/operator/instance-status.ts";
import type { TraceDeps } from "../modules/operator/trace.ts";
import { operatorTraceRoutes } from "../modules/operator/trace-routes.ts";
import { operatorStatusRoutes } from "../modules/operator/status-routes.ts";
import { usageRoutes, type UsageDeps } from "../modules/plans/routes.ts";
import { type BlockDeps, blockRoutes } from "../modules/workspaces/operator/block-routes.ts";
import { type CreditDeps, creditRoutes } from "../modules/workspaces/operator/credit-routes.ts";
import { type DeleteRouteDeps, deleteRoutes } from "../modules/workspaces/operator/delete-routes.ts";
import { type OperatorKeyDeps, operatorKeyRoutes } from "../modules/workspaces/operator/key-routes.ts";
import { type OperatorWorkspaceDeps, operatorWorkspaceRoutes } from "../modules/workspaces/operator/routes.ts";
import { type SenderIdDeps, senderIdRoutes } from "../modules/workspaces/operator/sender-id-routes.ts";
import type { RedeliverDeps } from "../modules/webhooks/api/redeliver.ts";
import { webhookRoutes } from "../modules/webhooks/api/routes.ts";
import { workspaceRoutes, WORKSPACES_PATH, type WorkspaceDeps } from "../modules/workspaces/routes.ts";

// All routes in one application. Order of a request: its id, who calls and how often (before the body is
// read), the route, the body, its fields, then the room.

/** The dependencies of the operator's routes, by module. */
export interface OperatorDeps {
  workspaces: OperatorWorkspaceDeps & DeleteRouteDeps & BlockDeps & CreditDeps & SenderIdDeps & OperatorKeyDeps;
  suppressions: OperatorSuppressionDeps;
  domains: OperatorDomainDeps;
  inbox: InboxDeps;
  queue: OperatorQueueDeps;
  pause: PauseRouteDeps;
  status: StatusDeps;
  trace: TraceDeps;
  sms: Pick<Sms, "operatorRoutes">;
}

/** All that the routes need, by room. */
export interface ApiDeps {
  emails: EmailDeps;
  sms: Pick<Sms, "routes">;
  domains: DomainDeps;
  keys: KeyDeps;
  workspaces: WorkspaceDeps;
  suppressions: SuppressionDeps;
  operator: OperatorDeps;
  usage: UsageDeps;
  webhooks: RedeliverDeps;
  events: Omit<EventDeps, "verifyKey">;
  verifyKey: VerifyKey;
  bodyLimits: BodyLimits;
  bodies: Pick<BodyDeps, "budget" | "clock">;
  rateLimits: Config["rateLimits"];
  /** Address ranges of reverse proxies. */
  trustedProxies: string[];
  /** The domain that the examples of the API docs send from. */
  exampleDomain: string;
  /** The current health issues; an instance with none is ready. */
  issues: () => HealthIssue[];
  /** Routes beside the API: the sandbox's. */
  beside: AnyElysia | null;
}

/** The rooms under /api/v1/operator; each of their routes asks who calls. */
export function operatorRooms({
  workspaces,
  suppressions,
  domains,
  inbox,
  queue,
  pause,
  status,
  trace,
  sms,
}: OperatorDeps): AnyElysia[] {
  return [
    operatorWorkspaceRoutes(workspaces),
    deleteRoutes(workspaces),
    blockRoutes(workspaces),
    creditRoutes(workspaces),
    senderIdRoutes(workspaces),
    operatorKeyRoutes(workspaces),
    operatorSuppressionRoutes(suppressions),
    operatorDomainRoutes(domains),
    inboxRoutes(inbox),
    operatorStatusRoutes(status),
    operatorQueueRoutes(queue),
    operatorPauseRoutes(pause),
    operatorTraceRoutes(trace),
    ...sms.operatorRoutes(),
  ];
}

export function createApi(deps: ApiDeps): AnyElysia {
  let document: Promise<unknown> | null = null;
  // When it is first asked for, and what writes it is loaded then: both take longer than all else of a start.
  const writeDocument = async () => {
    const { openApiDocument } = await import("../platform/http/openapi-document.ts");
    const { completeDocument } = await import("./docs/complete.ts");
    const { EVENT_PAYLOADS } = await import("./docs/event-payloads.ts");
    return completeDocument(await openApiDocument(rooms), {
      exampleDomain: deps.exampleDomain,
      planNames: deps.workspaces.planNames,
      bodyLimits: deps.bodyLimits,
      events: EVENT_PAYLOADS,
      isForOperator: (path) => admitParts.rules.isForOperator(path),
    });
  };
  const rooms: AnyElysia[] = [
    emailRoutes(deps.emails),
    deps.sms.routes(),
    domainRoutes(deps.domains),
    workspaceRoutes(deps.workspaces),
    usageRoutes(deps.usage),
    keyRoutes(deps.keys),
    suppressionRoutes(deps.suppressions),
    ...operatorRooms(deps.operator),
    webhookRoutes(deps.webhooks),
    eventRoutes({ ...deps.events, verifyKey: deps.verifyKey }),
    instanceRoutes({ issues: deps.issues, document: () => (document ??= writeDocument()) }),
    docsRoutes(),
  ];
  const { random, clock, log } = deps.emails;
  const trusted = parseRanges(deps.trustedProxies);
  const limiter = createRateLimiter(deps.rateLimits, {
    clock,
    networkOf: (request) => clientNetwork(request, trusted),
    isCreationOpen: deps.workspaces.creation === "open",
  });
  const admitParts: AdmitDeps = {
    verifyKey: deps.verifyKey,
    limiter,
    rules: {
      isOpen: (method, path) => deps.workspaces.creation === "open" && method === "POST" && path === WORKSPACES_PATH,
      isForOperator: (path) => path === WORKSPACES_PATH || path.startsWith(OPERATOR_PATHS),
    },
  };
  const arrived = (request: Request) => requireStillValid(request, deps.verifyKey);
  let methods: MethodTable = methodTable([]);

  // aot off: Elysia's ahead-of-time compiler reads functions' source text and fails in the compiled
  // binary. normalize off: it would drop unknown members instead of telling of them.
  const app = new Elysia({ name: "api", aot: false, normalize: false })
    .onError(({ request, set }) => limiter.uncountCreation(request, set.headers))
    .use(errorsPlugin(log, (path) => methods.of(path)))
    .onRequest(({ request, set }) => {
      set.headers["x-request-id"] = newId(clock.now(), random);
      admit(request, set.headers, admitParts);
      const path = pathOf(request);
      if (methods.isTakenForAnother(request.method, path)) throw methodNotAllowed(request.method, methods.of(path));
    })
    .use(bodyPlugin(deps.bodyLimits, { ...deps.bodies, ownerOf, arrived }));
  for (const room of rooms) app.use(room);
  if (deps.beside !== null) app.use(deps.beside);

  methods = methodTable(app.routes);
  return app;
}
