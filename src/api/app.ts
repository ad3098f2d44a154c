import { type AnyElysia, Elysia } from "elysia";
import { operatorDomainRoutes, type OperatorDomainParts } from "../modules/domains/operator-routes.ts";
import { docsRoutes } from "./docs/routes.ts";
import { domainRoutes, type DomainParts } from "../modules/domains/routes.ts";
import { type EmailParts, emailRoutes } from "../modules/emails/api/routes.ts";
import type { Config } from "../config/config.ts";
import { admit, type AdmitParts } from "./admit.ts";
import { OPERATOR_PATHS, ownerOf, requireStillValid, type VerifyKey } from "../platform/http/auth.ts";
import { eventRoutes, type EventParts } from "../modules/events/routes.ts";
import { type InboxParts, inboxRoutes } from "../modules/inbound-mail/operator-routes.ts";
import { type BodyLimits, type BodyParts, bodyPlugin } from "../platform/http/body/read.ts";
import { clientNetwork } from "../platform/http/client-address.ts";
import { errorsPlugin, methodNotAllowed } from "../platform/http/errors.ts";
import { instanceRoutes } from "./instance-routes.ts";
import { type MethodTable, methodTable } from "../platform/http/methods.ts";
import { pathOf } from "../platform/http/path.ts";
import { createRateLimiter } from "./rate-limit.ts";
import { newId } from "../platform/uuid.ts";
import type { HealthIssue } from "../platform/health-issue.ts";
import { type OperatorSuppressionParts, operatorSuppressionRoutes } from "../modules/suppressions/operator-routes.ts";
import { type SuppressionParts, suppressionRoutes } from "../modules/suppressions/routes.ts";
import { type KeyParts, keyRoutes } from "../modules/api-keys/routes.ts";
import { parseRanges } from "../platform/ip/address.ts";
import type { LinkOverview } from "../modules/sms/api/link-overview.ts";
import { linkRoutes } from "../modules/sms/api/operator-routes.ts";
import { smsRoutes, type SmsParts } from "../modules/sms/api/routes.ts";
import { trialRoutes, type TrialRouteParts } from "../modules/sms/link-test/routes.ts";
import { operatorPauseRoutes, type PauseRouteParts } from "../modules/operator/pause-routes.ts";
import { operatorQueueRoutes, type OperatorQueueParts } from "../modules/operator/queue-routes.ts";
import type { StatusParts } from "../modules/operator/status.ts";
import type { TraceParts } from "../modules/operator/trace.ts";
import { operatorTraceRoutes } from "../modules/operator/trace-routes.ts";
import { operatorStatusRoutes } from "../modules/operator/status-routes.ts";
import { usageRoutes, type UsageParts } from "../modules/plans/routes.ts";
import { type BlockParts, blockRoutes } from "../modules/workspaces/operator/block-routes.ts";
import { type CreditParts, creditRoutes } from "../modules/workspaces/operator/credit-routes.ts";
import { type DeleteRouteParts, deleteRoutes } from "../modules/workspaces/operator/delete-routes.ts";
import { type OperatorKeyParts, operatorKeyRoutes } from "../modules/workspaces/operator/key-routes.ts";
import { type OperatorWorkspaceParts, operatorWorkspaceRoutes } from "../modules/workspaces/operator/routes.ts";
import { type SenderIdParts, senderIdRoutes } from "../modules/workspaces/operator/sender-id-routes.ts";
import type { AgainParts } from "../modules/webhooks/api/redeliver.ts";
import { webhookRoutes } from "../modules/webhooks/api/routes.ts";
import { workspaceRoutes, WORKSPACES_PATH, type WorkspaceParts } from "../modules/workspaces/routes.ts";

// All routes in one application. Order of a request: its id, who calls and how often (before the body is
// read), the route, the body, its fields, then the room.

/** What the operator's routes need, by room. */
export interface OperatorParts {
  workspaces: OperatorWorkspaceParts & DeleteRouteParts & BlockParts & CreditParts & SenderIdParts & OperatorKeyParts;
  suppressions: OperatorSuppressionParts;
  domains: OperatorDomainParts;
  inbox: InboxParts;
  queue: OperatorQueueParts;
  pause: PauseRouteParts;
  status: StatusParts;
  trace: TraceParts;
  sms: TrialRouteParts & { overview: LinkOverview };
}

/** All that the routes need, by room. */
export interface ApiParts {
  emails: EmailParts;
  sms: SmsParts;
  domains: DomainParts;
  keys: KeyParts;
  workspaces: WorkspaceParts;
  suppressions: SuppressionParts;
  operator: OperatorParts;
  usage: UsageParts;
  webhooks: AgainParts;
  events: Omit<EventParts, "verifyKey">;
  verifyKey: VerifyKey;
  bodyLimits: BodyLimits;
  bodies: Pick<BodyParts, "budget" | "clock">;
  rateLimits: Config["rateLimits"];
  /** Address ranges of reverse proxies. */
  trustedProxies: string[];
  /** The domain that the examples of the API docs send from. */
  exampleDomain: string;
  /** What keeps the instance from working at the moment; none: it is ready. */
  troubles: () => HealthIssue[];
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
}: OperatorParts): AnyElysia[] {
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
    linkRoutes(sms),
    trialRoutes(sms),
  ];
}

export function createApi(parts: ApiParts): AnyElysia {
  let document: Promise<unknown> | null = null;
  // When it is first asked for, and what writes it is loaded then: both take longer than all else of a start.
  const writeDocument = async () => {
    const { openApiDocument } = await import("../platform/http/openapi-document.ts");
    const { completeDocument } = await import("./docs/complete.ts");
    const { EVENT_PAYLOADS } = await import("./docs/event-payloads.ts");
    return completeDocument(await openApiDocument(rooms), {
      exampleDomain: parts.exampleDomain,
      planNames: parts.workspaces.planNames,
      bodyLimits: parts.bodyLimits,
      events: EVENT_PAYLOADS,
      isForOperator: (path) => admitParts.rules.isForOperator(path),
    });
  };
  const rooms: AnyElysia[] = [
    emailRoutes(parts.emails),
    smsRoutes(parts.sms),
    domainRoutes(parts.domains),
    workspaceRoutes(parts.workspaces),
    usageRoutes(parts.usage),
    keyRoutes(parts.keys),
    suppressionRoutes(parts.suppressions),
    ...operatorRooms(parts.operator),
    webhookRoutes(parts.webhooks),
    eventRoutes({ ...parts.events, verifyKey: parts.verifyKey }),
    instanceRoutes({ troubles: parts.troubles, document: () => (document ??= writeDocument()) }),
    docsRoutes(),
  ];
  const { random, clock, log } = parts.emails;
  const trusted = parseRanges(parts.trustedProxies);
  const limiter = createRateLimiter(parts.rateLimits, {
    clock,
    networkOf: (request) => clientNetwork(request, trusted),
    isCreationOpen: parts.workspaces.creation === "open",
  });
  const admitParts: AdmitParts = {
    verifyKey: parts.verifyKey,
    limiter,
    rules: {
      isOpen: (method, path) => parts.workspaces.creation === "open" && method === "POST" && path === WORKSPACES_PATH,
      isForOperator: (path) => path === WORKSPACES_PATH || path.startsWith(OPERATOR_PATHS),
    },
  };
  const arrived = (request: Request) => requireStillValid(request, parts.verifyKey);
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
    .use(bodyPlugin(parts.bodyLimits, { ...parts.bodies, ownerOf, arrived }));
  for (const room of rooms) app.use(room);
  if (parts.beside !== null) app.use(parts.beside);

  methods = methodTable(app.routes);
  return app;
}
