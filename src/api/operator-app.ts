import { type AnyElysia, Elysia } from "elysia";
import { type ApiDeps, operatorRooms } from "./app.ts";
import { asOperator, OPERATOR_PATHS, ownerOf } from "../platform/http/auth.ts";
import { bodyPlugin } from "../platform/http/body/read.ts";
import { errorsPlugin, methodNotAllowed, notFound } from "../platform/http/errors.ts";
import { type MethodTable, methodTable } from "../platform/http/methods.ts";
import { pathOf } from "../platform/http/path.ts";
import { newId } from "../platform/uuid.ts";
import { workspaceRoutes, WORKSPACES_PATH } from "../modules/workspaces/routes.ts";

/** A share of what a command sends: more than over the network, where tenants could use it up. */
const BODY_BYTES = 1024 * 1024;

/**
 * The operator's routes alone, without a key: for the socket in the data directory, and for commands while no
 * instance runs. What is not the operator's does not exist in it.
 */
export function createOperatorApi(deps: ApiDeps): AnyElysia {
  const { random, clock, log } = deps;
  let methods: MethodTable = methodTable([]);
  const { bodyLimits } = deps;
  const otherBytes = Math.max(bodyLimits.otherBytes, BODY_BYTES);
  const app = new Elysia({ name: "operator-api", aot: false, normalize: false })
    .use(errorsPlugin(log, (path) => methods.of(path)))
    .onRequest(({ request, set }) => {
      set.headers["x-request-id"] = newId(clock.now(), random);
      set.headers["cache-control"] = "no-store";
      const path = pathOf(request);
      if (path !== WORKSPACES_PATH && !path.startsWith(OPERATOR_PATHS))
        throw notFound("There is nothing at this path of the operator's socket");
      asOperator(request);
      if (methods.isTakenForAnother(request.method, path)) throw methodNotAllowed(request.method, methods.of(path));
    })
    .use(bodyPlugin({ ...bodyLimits, otherBytes }, { ...deps.bodies, ownerOf }));
  for (const room of [workspaceRoutes(deps.workspaces), ...operatorRooms(deps.operator)]) app.use(room);
  methods = methodTable(app.routes);
  return app;
}
