// Runs requests that bring a JSON object to a fixed path, such as sends, past Elysia's router.

import type { TSchema } from "@sinclair/typebox";
import type { AnyElysia } from "elysia";
import { releaseBody } from "./body/read.ts";
import { validationError } from "./errors.ts";
import { getPath } from "./path.ts";
import { createChecker, findFieldErrors } from "./request-schemas.ts";

// Without its ahead-of-time compiler Elysia takes every request's headers, query and cookies apart and makes a stream of
// its body: an accepted email takes 17 to 28 % more CPU time through its router (Elysia 1.4.30, docs/adr/010). Here the
// same route's own hooks, schema and function run in Elysia's order, and nothing else does. A request that might be
// answered otherwise goes to Elysia.

/** The part of Elysia's context that routes with a body use. */
interface Context {
  request: Request;
  path: string;
  body: unknown;
  set: { headers: Record<string, string | number>; status: number };
}

type Hook = (context: Context & { error?: unknown; code?: unknown }, contentType?: string) => unknown;

/** The parts of a route of Elysia's that are used here: `test/unit/platform/http/body/direct.test.ts` tells when they change. */
interface Route {
  method: string;
  path: string;
  handler: unknown;
  hooks: Record<string, unknown>;
}

interface DirectRoute {
  request: Hook[];
  parse: Hook;
  check: (body: unknown) => void;
  answer: Hook;
  error: Hook[];
}

/** A route with any other hook is Elysia's. */
const KNOWN_HOOKS = new Set(["request", "parse", "transform", "error", "body", "detail"]);

/** `app.handle`, faster for the routes that take a JSON object at a fixed path; it releases the request's body. */
export function createHandler(app: AnyElysia): (request: Request) => Promise<Response> {
  const routes = findDirectRoutes(app);
  return async (request) => {
    const path = getPath(request);
    const route = request.method === "POST" ? routes.get(path) : undefined;
    try {
      return await (route === undefined || !hasTypedBody(request) ? app.handle(request) : run(route, request, path));
    } finally {
      releaseBody(request);
    }
  };
}

/** The routes that bypass Elysia's router, by path. */
export function findDirectRoutes(app: AnyElysia): Map<string, DirectRoute> {
  const posts = (app.routes as Route[]).filter(({ method }) => method === "POST");
  return new Map(
    posts.flatMap((route) => {
      const direct = toDirectRoute(route);
      return direct === null ? [] : [[route.path, direct] as const];
    }),
  );
}

function toDirectRoute({ path, handler, hooks }: Route): DirectRoute | null {
  const isKnown = Object.entries(hooks).every(([name, hook]) => hook === undefined || KNOWN_HOOKS.has(name));
  const { body, parse } = hooks;
  if (!isKnown || body === undefined || /[:*]/.test(path) || typeof handler !== "function") return null;
  // The first parser of a route is the one of platform/http/body/read.ts, which reads every body or throws.
  const reader = getFunctions(parse)[0];
  if (reader === undefined) return null;
  const checker = createChecker(body as TSchema);
  return {
    request: getFunctions(hooks["request"]),
    parse: reader,
    check(value) {
      if (!checker.Check(value)) throw validationError(findFieldErrors(checker, value));
    },
    answer: handler as Hook,
    error: getFunctions(hooks["error"]),
  };
}

function getFunctions(hooks: unknown): Hook[] {
  return ((hooks ?? []) as { fn: unknown }[]).map(({ fn }) => fn).filter((fn) => typeof fn === "function") as Hook[];
}

/** A body is certain to come, and says of what type it is. */
function hasTypedBody({ headers }: Request): boolean {
  return Number(headers.get("content-length")) > 0 && headers.has("content-type");
}

async function run(route: DirectRoute, request: Request, path: string): Promise<Response> {
  const context: Context = { request, path, body: undefined, set: { headers: {}, status: 200 } };
  try {
    for (const hook of route.request) hook(context);
    context.body = await route.parse(context);
    route.check(context.body);
    return toResponse(await route.answer(context), context.set);
  } catch (error) {
    const { code } = error as { code?: unknown };
    for (const hook of route.error) {
      const answer = hook({ ...context, error, code });
      if (answer instanceof Response) return toResponse(answer, context.set);
    }
    throw error;
  }
}

/** `answer` with the status and headers that were set on the way. */
function toResponse(answer: unknown, { headers, status }: Context["set"]): Response {
  const texts = headers as Record<string, string>;
  if (typeof answer === "string") return new Response(answer, { status, headers: texts });
  if (!(answer instanceof Response)) return Response.json(answer, { status, headers: texts });
  for (const name in texts) if (!answer.headers.has(name)) answer.headers.set(name, texts[name] ?? "");
  return answer;
}
