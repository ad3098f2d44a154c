// The routes of recipients: a workspace exports or erases one, the operator erases one.

import { Elysia } from "elysia";
import { Type } from "@sinclair/typebox";
import { SYSTEM_WORKSPACE_ID } from "../../platform/db/schema/schema.ts";
import { operatorCaller, wholeWorkspaceCaller } from "../../platform/http/auth.ts";
import { validationError } from "../../platform/http/errors.ts";
import { answers, describe } from "../../platform/http/openapi.ts";
import { CursorMeta } from "../../platform/http/pagination.ts";
import { readAddress } from "../suppressions/address.ts";
import { AddressInPath } from "../suppressions/schema.ts";
import { findWorkspace } from "../workspaces/find.ts";
import type { WorkspaceStore } from "../workspaces/store.ts";
import { type EraseDeps, eraseRecipient, type Recipient } from "./erase.ts";
import { type ExportDeps, exportRecipient } from "./export.ts";
import { Erasure, RecipientItem, RecipientQuery, WorkspaceQuery } from "./schema.ts";

const TAG = "Recipients";

export interface RecipientDeps extends EraseDeps, ExportDeps {
  workspaces: Pick<WorkspaceStore, "byId" | "byUid" | "listIds">;
  emails: EraseDeps["emails"] & ExportDeps["emails"];
  recipientEmails: EraseDeps["recipientEmails"];
  sms: EraseDeps["sms"];
  events: EraseDeps["events"];
  suppressions: EraseDeps["suppressions"];
}

export function recipientRoutes(deps: RecipientDeps) {
  return new Elysia({ name: "recipients", prefix: "/api/v1/recipients" })
    .get(
      "/:address",
      ({ request, params, query }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        return exportRecipient(workspaceId, requireRecipient(params.address), query, deps);
      },
      {
        params: AddressInPath,
        query: RecipientQuery,
        detail: describe({
          id: "getRecipient",
          tag: TAG,
          summary: "Export what is kept about a recipient",
          description:
            "Newest first: emails and SMS with their contents, timelines and events, SMS received from a number, and " +
            "suppressions. The list is empty for an unknown address.",
          responses: answers(200, Type.Array(RecipientItem), [401, 403, 422], CursorMeta),
        }),
      },
    )
    .delete(
      "/:address",
      async ({ request, params }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        const scope = { workspaceIds: [workspaceId], isInstance: false };
        return { data: await eraseRecipient(requireRecipient(params.address), scope, deps) };
      },
      {
        params: AddressInPath,
        detail: describe({
          id: "deleteRecipient",
          tag: TAG,
          summary: "Erase a recipient",
          description:
            "What waits for it is canceled. Its address, contents, and what replies, events and webhook calls quote of " +
            "them are replaced; the records stay and are counted. A suppression goes on blocking it. The answer says " +
            "how many there were; for an unknown address, none. Erasing again does no harm.",
          responses: answers(200, Erasure, [401, 403, 422, 503]),
        }),
      },
    );
}

export function operatorRecipientRoutes(deps: RecipientDeps) {
  return new Elysia({ name: "operator recipients", prefix: "/api/v1/operator/recipients" }).delete(
    "/:address",
    async ({ request, params, query }) => {
      operatorCaller(request);
      const recipient = requireRecipient(params.address);
      const { workspace } = query;
      const scope =
        workspace === undefined
          ? { workspaceIds: [SYSTEM_WORKSPACE_ID, ...deps.workspaces.listIds()], isInstance: true }
          : { workspaceIds: [findWorkspace(workspace, deps).id], isInstance: false };
      return { data: await eraseRecipient(recipient, scope, deps) };
    },
    {
      params: AddressInPath,
      query: WorkspaceQuery,
      detail: describe({
        id: "deleteRecipientEverywhere",
        tag: "Operator",
        summary: "Erase a recipient in all workspaces, or in one",
        description:
          "As a workspace does it for itself. In all workspaces, mail to the operator that names the address is erased " +
          "too, and what came from a number and belongs to no workspace.",
        responses: answers(200, Erasure, [401, 403, 404, 422, 503]),
      }),
    },
  );
}

/** Throws 422 for what is neither an address nor a number. */
function requireRecipient(text: string): Recipient {
  const read = readAddress(text);
  if (read.kind === "address") return { channel: read.channel, address: read.address };
  throw validationError([{ path: ["address"], message: read.message }]);
}
