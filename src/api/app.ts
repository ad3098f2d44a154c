// The API as one application: what comes before and after the routes that the modules bring.

import { type AnyElysia, Elysia } from "elysia";
import type { Config } from "../config/config.ts";
import type { NumberingPlan } from "../modules/sms/encoding/phone-number.ts";
import type { SharedLimits } from "../modules/plans/shared-limits.ts";
import { WORKSPACES_PATH } from "../modules/workspaces/routes.ts";
import { hasIdempotencyHeader } from "../modules/idempotency/key.ts";
import type { Context } from "../platform/context.ts";
import type { HealthIssue } from "../platform/health-issue.ts";
import { markAsOperator, OPERATOR_PATHS, getOwner, requireStillValid, type VerifyKey } from "../platform/http/auth.ts";
import { type BodyDeps, type BodyLimits, bodyPlugin } from "../platform/http/body/read.ts";
import { getCookieName } from "../platform/http/browser-request.ts";
import { clientNetwork } from "../platform/http/client-address.ts";
import { errorsPlugin, methodNotAllowed, notFound, type OnRefused } from "../platform/http/errors.ts";
import { type MethodTable, createMethodTable } from "../platform/http/methods.ts";
import { getPath } from "../platform/http/path.ts";
import { parseRanges } from "../platform/ip/address.ts";
import { newId } from "../platform/uuid.ts";
import { admit } from "./admit.ts";
import { createPersonFinder, type PeopleDeps } from "./admit-person.ts";
import { docsRoutes } from "./docs/routes.ts";
import { instanceRoutes } from "./instance-routes.ts";
import { createRateLimiter } from "./rate-limit.ts";

export interface AppOptions extends Pick<Context, "clock" | "random" | "log"> {
  /** Those of the modules. */
  routes: AnyElysia[];
  bodyLimits: BodyLimits;
  bodies: Pick<BodyDeps, "budget" | "clock">;
  refused?: OnRefused | undefined;
}

export interface ApiOptions extends AppOptions {
  verifyKey: VerifyKey;
  /** Finds the person of a session and their workspace. createApi() adds the addresses of reverse proxies. */
  people: Omit<PeopleDeps, "site" | "clock"> & { dashboardUrl: string | null };
  rateLimits: Config["rateLimits"];
  sharedLimits: SharedLimits;
  /** Address ranges of reverse proxies. */
  trustedProxies: string[];
  /** The keys that may create workspaces: the operator's, any, or none is needed. */
  creation: Config["workspaces"]["creation"];
  planNames: string[];
  /** The domain that the examples of the API docs send from. */
  exampleDomain: string;
  /** The path of the keys that requests are tried with there; null: readers type theirs. */
  docsKeys: string | null;
  /** For the numbers in those examples. */
  numbering: NumberingPlan;
  /** The current health issues; an instance with none is ready. */
  issues: () => HealthIssue[];
  /** Hears of each wrong key for a path that the operator key is for. */
  operatorKeyFailed: () => void;
  /** Routes beside the API: the dashboard's and the sandbox's. */
  beside: AnyElysia[];
}

/** For everybody, over the network. */
export function createApi(options: ApiOptions): AnyElysia {
  const { routes, clock, verifyKey, creation, planNames, exampleDomain, numbering, bodyLimits, issues, beside } =
    options;
  const { dashboardUrl, ...people } = options.people;
  const isForOperator = (path: string) => path === WORKSPACES_PATH || path.startsWith(OPERATOR_PATHS);
  let written: ReturnType<typeof writeDocument> | null = null;
  // When it is first asked for, and what writes it is loaded then: both take longer than all else of a start.
  const writeDocument = async () =>
    (await import("./docs/document.ts")).writeDocument(documented, {
      exampleDomain,
      numbering,
      planNames,
      bodyLimits,
      isForOperator,
      sessionCookie: getCookieName({ isHttps: dashboardUrl !== null }),
    });
  const document = async () => {
    const [{ setExampleTimes }, whole] = await Promise.all([
      import("./docs/document.ts"),
      (written ??= writeDocument()),
    ]);
    return setExampleTimes(whole, clock.now());
  };
  const documented: AnyElysia[] = [...routes, instanceRoutes({ issues, document }), docsRoutes(options.docsKeys)];
  const trusted = parseRanges(options.trustedProxies);
  const limiter = createRateLimiter(options.rateLimits, {
    clock,
    shared: options.sharedLimits,
    findNetwork: (request) => clientNetwork(request, trusted),
    isCreationOpen: creation === "open",
  });
  const isOpen = (method: string, path: string) => creation === "open" && method === "POST" && path === WORKSPACES_PATH;
  const findPerson = createPersonFinder({ ...people, clock, site: { url: dashboardUrl, trustedProxies: trusted } });
  const rules = { isOpen, isForOperator, findPerson };
  return createApp(
    "api",
    { ...options, routes: [...documented, ...beside] },
    {
      enter: (request, headers) => admit(request, headers, { ...options, limiter, rules }),
      arrived: (request) => requireStillValid(request, verifyKey),
      failed: (request, headers) => limiter.uncountCreation(request, headers),
    },
  );
}

/** One command of the operator's may send as much: more than over the network, where tenants could use it up. */
const OPERATOR_BODY_BYTES = 1024 * 1024;

/**
 * The operator's routes, without a key: for the socket in the data directory, and for commands while no instance
 * runs. Other paths are not found.
 */
export function createOperatorApi(options: AppOptions): AnyElysia {
  const { bodyLimits } = options;
  const otherBytes = Math.max(bodyLimits.otherBytes, OPERATOR_BODY_BYTES);
  return createApp(
    "operator-api",
    { ...options, bodyLimits: { ...bodyLimits, otherBytes } },
    {
      enter(request, headers) {
        headers["cache-control"] = "no-store";
        const path = getPath(request);
        if (path !== WORKSPACES_PATH && !path.startsWith(OPERATOR_PATHS))
          throw notFound("There is nothing at this path of the operator's socket");
        markAsOperator(request);
      },
    },
  );
}

type AnswerHeaders = Record<string, string | number>;

interface AppHooks {
  /** Before the body is read: throws where the request goes no further. */
  enter: (request: Request, headers: AnswerHeaders) => void;
  /** The body has come. */
  arrived?: (request: Request) => void;
  /** The answer is an error. */
  failed?: (request: Request, headers: AnswerHeaders) => void;
}

/** Order of a request: its id, who calls and how often, the route, the body, its fields, then the module. */
function createApp(name: string, options: AppOptions, { enter, failed, ...hooks }: AppHooks): AnyElysia {
  const { routes, bodyLimits, bodies, clock, random, log, refused } = options;
  let methods: MethodTable = createMethodTable([]);
  // aot off: Elysia's ahead-of-time compiler reads functions' source text and fails in the compiled
  // binary. normalize off: it would drop unknown members instead of refusing them.
  const app = new Elysia({ name, aot: false, normalize: false })
    .onError(({ request, set }) => failed?.(request, set.headers))
    .use(errorsPlugin(log, (path) => methods.of(path), refused))
    .onRequest(({ request, set }) => {
      set.headers["x-request-id"] = newId(clock.now(), random);
      enter(request, set.headers);
      const path = getPath(request);
      if (methods.isTakenForAnother(request.method, path)) throw methodNotAllowed(request.method, methods.of(path));
    })
    .use(bodyPlugin(bodyLimits, { ...bodies, getOwner, isHashed: hasIdempotencyHeader, ...hooks }));
  for (const each of routes) app.use(each);
  methods = createMethodTable(app.routes);
  return app;
}
