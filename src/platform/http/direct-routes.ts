import type { TSchema } from "@sinclair/typebox";
import type { AnyElysia } from "elysia";
import { releaseBody } from "./body/read.ts";
import { checkerOf } from "./checker.ts";
import { validationError } from "./errors.ts";
import { pathOf } from "./path.ts";
import { faultsOf } from "./rules.ts";

// Requests that bring a JSON object to a fixed path, as sending does, past Elysia's router. Without its
// ahead-of-time compiler Elysia takes every request's headers, query and cookies apart and makes a stream
// of its body: more time than the parsing, checking and storing of an email take together. Here the
// same route's own hooks, schema and function run in Elysia's order, and nothing else does. What is not
// certain to come out the same goes to Elysia.

/** What a hook or a route is given here; of the rest of Elysia's context no route with a body makes use. */
interface Context {
  request: Request;
  path: string;
  body: unknown;
  set: { headers: Record<string, string | number>; status: number };
}

type Hook = (context: Context & { error?: unknown; code?: unknown }, contentType?: string) => unknown;

/** The parts of a route of Elysia's that are used here: `test/http/direct.test.ts` tells when they change. */
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

/** What a route may have to be run here; with anything else it is Elysia's. */
const KNOWN_HOOKS = new Set(["request", "parse", "transform", "error", "body", "detail"]);

/** `app.handle`, which ends what the body took, and is faster for the routes that take a JSON object at a fixed path. */
export function handlerOf(app: AnyElysia): (request: Request) => Promise<Response> {
  const routes = new Map<string, DirectRoute>();
  for (const route of app.routes as Route[]) {
    const direct = route.method === "POST" ? directRouteOf(route) : null;
    if (direct !== null) routes.set(route.path, direct);
  }
  return async (request) => {
    const path = pathOf(request);
    const route = request.method === "POST" ? routes.get(path) : undefined;
    try {
      return await (route === undefined || !hasTypedBody(request) ? app.handle(request) : run(route, request, path));
    } finally {
      releaseBody(request);
    }
  };
}

/** The paths that `handlerOf` takes past Elysia's router. */
export function directPaths(app: AnyElysia): string[] {
  return (app.routes as Route[])
    .filter((route) => route.method === "POST" && directRouteOf(route) !== null)
    .map(({ path }) => path);
}

function directRouteOf({ path, handler, hooks }: Route): DirectRoute | null {
  const isKnown = Object.entries(hooks).every(([name, hook]) => hook === undefined || KNOWN_HOOKS.has(name));
  const { body, parse } = hooks;
  if (!isKnown || body === undefined || /[:*]/.test(path) || typeof handler !== "function") return null;
  // The first parser of a route is the one of platform/http/body/read.ts, which reads every body or throws.
  const reader = functionsIn(parse)[0];
  if (reader === undefined) return null;
  const checker = checkerOf(body as TSchema);
  return {
    request: functionsIn(hooks["request"]),
    parse: reader,
    check(value) {
      if (!checker.Check(value)) throw validationError(faultsOf(checker, value));
    },
    answer: handler as Hook,
    error: functionsIn(hooks["error"]),
  };
}

function functionsIn(hooks: unknown): Hook[] {
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
    return responseOf(await route.answer(context), context.set);
  } catch (error) {
    const { code } = error as { code?: unknown };
    for (const hook of route.error) {
      const answer = hook({ ...context, error, code });
      if (answer instanceof Response) return responseOf(answer, context.set);
    }
    throw error;
  }
}

/** `answer` with the status and headers that were set on the way. */
function responseOf(answer: unknown, { headers, status }: Context["set"]): Response {
  const texts = headers as Record<string, string>;
  if (typeof answer === "string") return new Response(answer, { status, headers: texts });
  if (!(answer instanceof Response)) return Response.json(answer, { status, headers: texts });
  for (const name in texts) if (!answer.headers.has(name)) answer.headers.set(name, texts[name] ?? "");
  return answer;
}
