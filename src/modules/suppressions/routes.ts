// A workspace's suppressions, as it sees and changes them. A change holds for the next message accepted and for what
// waits: deliver.ts checks again before it sends.

import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import type { Context } from "../../platform/context.ts";
import type { AppError } from "../../platform/errors.ts";
import { wholeWorkspaceCaller } from "../../platform/http/auth.ts";
import { notFound, validationError } from "../../platform/http/errors.ts";
import {
  answers,
  csvAnswer,
  describe,
  buildEnvelope,
  errorAnswers,
  limitedAnswer,
} from "../../platform/http/openapi.ts";
import { type ListPages, CursorMeta } from "../../platform/http/pagination.ts";
import { jsonBody } from "../../platform/http/body/validate.ts";
import { type Channel, readAddress, requireAddress } from "./address.ts";
import { exportSuppressions } from "./export.ts";
import { readFilter } from "./filter.ts";
import { importSuppressions } from "./import.ts";
import { Imported, suppressionImport } from "./operator-schema.ts";
import {
  AddressInPath,
  DeletedSuppression,
  FilterQuery,
  LiftQuery,
  Suppression,
  SuppressionCreate,
  SuppressionQuery,
} from "./schema.ts";
import { showSuppression } from "./serialize.ts";
import type { SuppressionStore } from "./store.ts";

const TAG = "Suppressions";
const LIST = "suppressions";

export interface SuppressionDeps extends Pick<Context, "commit" | "clock" | "log"> {
  pages: ListPages;
  /** Undefined: it is gone. */
  workspaces: { byId(id: number): { id: number; uid: string } | undefined };
  suppressions: SuppressionStore;
}

export function suppressionRoutes(deps: SuppressionDeps) {
  return new Elysia({ name: "suppressions", prefix: "/api/v1/suppressions" })
    .get(
      "",
      ({ request, query }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        const filter = readFilter(workspaceId, query, deps.suppressions);
        return deps.pages.list(
          query,
          LIST,
          (before, limit) => deps.suppressions.list(filter, before, limit),
          showSuppression,
        );
      },
      {
        query: SuppressionQuery,
        detail: describe({
          id: "listSuppressions",
          tag: TAG,
          summary: "List suppressed addresses, newest first",
          description:
            "Email addresses and phone numbers. Each filter narrows the list; a cursor goes with the same filters.",
          responses: answers(200, Type.Array(Suppression), [401, 403, 422], CursorMeta),
        }),
      },
    )
    .post(
      "",
      async ({ request, body, set }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        const { address, channel } = requireAddress(body.address);
        const { row, isNew } = await deps.commit(() => {
          requireWorkspace(workspaceId, deps);
          const key = { workspaceId, channel, address, list: body.list ?? "" };
          const reason = body.reason ?? "manual";
          const isInserted = deps.suppressions.insert({ ...key, reason, createdAt: deps.clock.now() });
          const found = deps.suppressions.find(key);
          if (found === undefined) throw new Error("a suppression is not there after it was written");
          return { row: found, isNew: isInserted };
        });
        set.status = isNew ? 201 : 200;
        return { data: showSuppression(row) };
      },
      {
        ...jsonBody(SuppressionCreate),
        detail: describe({
          id: "createSuppression",
          tag: TAG,
          summary: "Suppress an address",
          description:
            "It gets no more messages, not even waiting ones; with `list` no more mail of that list. A suppressed address keeps its first reason.",
          responses: {
            ...answers(201, Suppression, [400, 401, 403, 413, 415, 422, 503]),
            200: limitedAnswer(200, "It was suppressed already; this is how", buildEnvelope(Suppression)),
          },
        }),
      },
    )
    .post(
      "/import",
      async ({ request, body }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        return {
          data: await importSuppressions(() => requireWorkspace(workspaceId, deps), body.suppressions, deps),
        };
      },
      {
        ...jsonBody(suppressionImport(() => deps.clock.now())),
        detail: describe({
          id: "importOwnSuppressions",
          tag: TAG,
          summary: "Suppress many addresses",
          description: "Up to 500, all or none. A suppressed address keeps its first reason.",
          responses: answers(200, Imported, [400, 401, 403, 413, 415, 422, 503]),
        }),
      },
    )
    .delete(
      "/:address",
      async ({ request, params, query }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        const { channel = null, list } = query;
        const read = readAddress(params.address);
        // Lower case can be longer: what the list shows is found even where it is too long for an address.
        const address = read.kind === "address" ? read.address : params.address.toLowerCase().normalize("NFC");
        const meant = { workspaceId, address, channel, ...(list === undefined ? {} : { list }) };
        const isLifted = await deps.commit(() => deps.suppressions.delete(meant));
        if (isLifted) return { data: { address, deleted: true } };
        if (read.kind === "fault") throw validationError([{ path: ["address"], message: read.message }]);
        throw noSuchSuppression(address, { channel, list });
      },
      {
        params: AddressInPath,
        query: LiftQuery,
        detail: describe({
          id: "deleteSuppression",
          tag: TAG,
          summary: "Lift the suppression of an address",
          description:
            "Without `channel`, on all channels. The one for a list is lifted only with `list`, and then no other. If it bounces again, it is suppressed again.",
          responses: answers(200, DeletedSuppression, [401, 403, 404, 422, 503]),
        }),
      },
    );
}

/**
 * The list as a file, beside it: its path has no slash behind `suppressions`. `requireReader` throws once its caller may
 * not read any more.
 */
export function suppressionFileRoutes(
  deps: Pick<SuppressionDeps, "clock" | "suppressions">,
  requireReader: (request: Request) => void,
) {
  return new Elysia({ name: "suppressions file", prefix: "/api/v1" }).get(
    "/suppressions.csv",
    ({ request, query }) => {
      const { workspaceId } = wholeWorkspaceCaller(request);
      const filter = readFilter(workspaceId, query, deps.suppressions);
      return exportSuppressions(filter, {
        ...deps,
        now: deps.clock.now(),
        requireReader: () => requireReader(request),
      });
    },
    {
      query: FilterQuery,
      detail: describe({
        id: "exportSuppressions",
        tag: TAG,
        summary: "Export suppressed addresses as CSV",
        description:
          "Newest first, with the columns `address,channel,reason,suppressedAt,list`, as `pombo suppression export` writes them: " +
          "an apostrophe stands before a value that a spreadsheet would compute. An import takes the file back. It breaks off when its key or session ends.",
        responses: { 200: csvAnswer("The file"), ...errorAnswers([401, 403, 422]) },
      }),
    },
  );
}

/** It may have been deleted while the body came. */
function requireWorkspace(id: number, { workspaces }: Pick<SuppressionDeps, "workspaces">) {
  const workspace = workspaces.byId(id);
  if (workspace === undefined) throw notFound("The workspace no longer exists");
  return workspace;
}

function noSuchSuppression(
  address: string,
  { channel, list }: { channel: Channel | null; list: string | undefined },
): AppError {
  const where =
    (channel === null ? "" : ` on the channel ${channel}`) +
    (list === undefined ? " for all messages" : ` for the list ${list}`);
  return notFound(
    `The address is not suppressed in this workspace${where}`,
    `It was understood as ${address}; GET /api/v1/suppressions shows what is suppressed, and for which list.`,
  );
}
