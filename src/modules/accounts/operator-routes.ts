import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import { operatorCaller, requireFreshProof } from "../../platform/http/auth.ts";
import { notFound } from "../../platform/http/errors.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { CursorMeta, CursorQuery, type ListPages } from "../../platform/http/pagination.ts";
import { uuid } from "../../platform/http/request-schemas.ts";
import { toIsoTime, toIsoTimeOrNull } from "../../platform/http/times.ts";
import type { RecordAudit } from "../audit/record.ts";
import type { AccountDeps } from "./deps.ts";
import { insertLink, type LinkPlace, showLink } from "./links.ts";
import { describeFactors } from "./me.ts";
import { DashboardLink, OperatorUser, RemovedUser } from "./operator-schema.ts";
import { removeUser, resetUser } from "./remove-user.ts";
import type { UserRow } from "./store.ts";

const TAG = "Operator";
const LIST = "users";
const DELETE_ERRORS = [401, 403, 404, 422, 503];
const POST_ERRORS = [400, 401, 403, 413, 415, 503];
const UserPath = Type.Object({ id: uuid() });

export interface OperatorAccountDeps extends AccountDeps {
  pages: ListPages;
  recordAudit: RecordAudit;
  /** Where the dashboard is; null: it is turned off. Throws UNAVAILABLE while nobody knows. */
  findPlace: (() => LinkPlace) | null;
}

export function operatorAccountRoutes(deps: OperatorAccountDeps) {
  return [linkRoutes(deps), userRoutes(deps), userChangeRoutes(deps)];
}

function linkRoutes(deps: OperatorAccountDeps) {
  return new Elysia({ name: "operator dashboard", prefix: "/api/v1/operator" }).post(
    "/dashboard-link",
    async ({ request, set }) => {
      operatorCaller(request);
      requireFreshProof(request);
      const place = requireDashboard(deps);
      const link = await deps.commit(() => {
        deps.recordAudit({ workspaceId: null, request, action: "dashboard_link.created", target: null });
        return insertLink({ kind: "setup", userId: null }, deps);
      });
      deps.log.event("dashboard.link_created");
      set.status = 201;
      return { data: showLink(link, place) };
    },
    {
      detail: describe({
        id: "createDashboardLink",
        tag: TAG,
        summary: "Create a link that makes an operator of the dashboard",
        description:
          "Whoever opens it first makes an account there that operates this server. It is valid for 30 minutes.",
        responses: answers(201, DashboardLink, [...POST_ERRORS, 404]),
      }),
    },
  );
}

function userRoutes(deps: OperatorAccountDeps) {
  return new Elysia({ name: "operator users", prefix: "/api/v1/operator/users" }).get(
    "",
    ({ request, query }) => {
      operatorCaller(request);
      return deps.pages.list(
        query,
        LIST,
        (before, limit) => deps.users.page(before, limit),
        (user) => show(user, deps),
      );
    },
    {
      query: CursorQuery,
      detail: describe({
        id: "listUsers",
        tag: TAG,
        summary: "List the people who have an account, newest first",
        description: "With what they can sign in by, and their workspaces.",
        responses: answers(200, Type.Array(OperatorUser), [401, 403, 422], CursorMeta),
      }),
    },
  );
}

function userChangeRoutes(deps: OperatorAccountDeps) {
  return new Elysia({ name: "operator user changes", prefix: "/api/v1/operator/users/:id" })
    .post(
      "/reset",
      async ({ request, params, set }) => {
        operatorCaller(request);
        requireFreshProof(request);
        const place = requireDashboard(deps);
        const { link, user } = await deps.commit(() => {
          const found = findUser(params.id, deps);
          deps.recordAudit({ workspaceId: null, request, action: "user.reset", target: found.email });
          return { user: found, link: resetUser(found, deps) };
        });
        deps.log.event("user.reset", { id: user.uid });
        set.status = 201;
        return { data: showLink(link, place) };
      },
      {
        params: UserPath,
        detail: describe({
          id: "createResetLink",
          tag: TAG,
          summary: "Let a person who has lost everything sign in again",
          description:
            "Removes the password, the passkeys, the authenticator app, the recovery codes, the sessions and the links of " +
            "this person, whose roles stay. The link that it answers with sets a new password or passkey; it is valid for 30 minutes.",
          responses: answers(201, DashboardLink, [...POST_ERRORS, 404, 422]),
        }),
      },
    )
    .delete(
      "",
      async ({ request, params }) => {
        operatorCaller(request);
        requireFreshProof(request);
        const removed = await deps.commit(() => {
          const user = findUser(params.id, deps);
          deps.recordAudit({ workspaceId: null, request, action: "user.removed", target: user.email });
          const ownerless = removeUser(user, deps);
          return { id: user.uid, email: user.email, ownerless, operators: deps.users.countOperators() };
        });
        deps.log.event("user.removed", { id: removed.id });
        return { data: removed };
      },
      {
        params: UserPath,
        detail: describe({
          id: "deleteUser",
          tag: TAG,
          summary: "Remove a person from this server",
          description:
            "The account, its sessions and its memberships end at once. API keys that the person created go on. " +
            "A workspace whose last owner it was goes on without one, and the answer names it.",
          responses: answers(200, RemovedUser, DELETE_ERRORS),
        }),
      },
    );
}

/** Throws 404 where there is no dashboard to open a link in. */
function requireDashboard({ findPlace }: OperatorAccountDeps): LinkPlace {
  if (findPlace !== null) return findPlace();
  const hint = "Set it to true in the configuration, and start again.";
  throw notFound("The dashboard is turned off on this server: [dashboard] enabled = false", hint);
}

/** Throws 404. */
function findUser(id: string, { users }: OperatorAccountDeps): UserRow {
  const user = users.byUid(id.toLowerCase());
  if (user !== undefined) return user;
  throw notFound("There is no person with this id", "GET /api/v1/operator/users lists them.");
}

function show(user: UserRow, deps: OperatorAccountDeps): typeof OperatorUser.static {
  const { password, totp, passkeys } = describeFactors(user, deps);
  return {
    id: user.uid,
    email: user.email,
    name: user.name,
    isOperator: user.isOperator,
    emailVerified: user.emailVerifiedAt !== null,
    factors: { password, totp, passkeys },
    workspaces: deps.members.listOfUser(user.id),
    createdAt: toIsoTime(user.createdAt),
    lastSeenAt: toIsoTimeOrNull(deps.sessions.list(user.id)[0]?.lastSeenAt ?? null),
  };
}
