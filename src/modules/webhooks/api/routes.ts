import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { requireFreshProof, wholeWorkspaceCaller } from "../../../platform/http/auth.ts";
import { answers, Deleted, describe } from "../../../platform/http/openapi.ts";
import {
  CursorMeta,
  CursorQuery,
  PageMeta,
  PageQuery,
  buildPageMeta,
  parsePage,
} from "../../../platform/http/pagination.ts";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import { uuid } from "../../../platform/http/request-schemas.ts";
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  findWebhook,
  type Place,
  replayDelivery,
  rotateSecret,
  testWebhook,
  type WebhookDeps,
  type WithSecret,
} from "./manage.ts";
import { createRecover } from "./recover-missed.ts";
import {
  Queued,
  Recovered,
  Recovery,
  SecretRotation,
  Webhook,
  buildCreateSchema,
  WebhookDelivery,
  buildChangeSchema,
  WebhookWithSecret,
} from "./schema.ts";
import { showDelivery, showWebhook } from "./serialize.ts";

const TAG = "Webhooks";
const LIST = "webhooks";
const DEFAULT_GRACE_HOURS = 24;
const CHANGE_ERRORS = [400, 401, 403, 404, 413, 415, 422, 503];

const OneWebhook = Type.Object({ id: uuid() });

export function webhookRoutes(deps: WebhookDeps) {
  const recover = createRecover(deps);
  return new Elysia({ name: "webhooks", prefix: "/api/v1/webhooks" })
    .post(
      "",
      async ({ request, body, set }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        requireFreshProof(request);
        const created = await createWebhook({ workspaceId, request }, body, deps);
        set.status = 201;
        return { data: withSecret(created) };
      },
      {
        ...jsonBody(buildCreateSchema(deps.rules)),
        detail: describe({
          id: "createWebhook",
          tag: TAG,
          summary: "Create a webhook",
          description:
            "Its secret is shown only in this answer. Calls are signed with it according to Standard Webhooks. " +
            "Every event is delivered at least once: a copy has the same webhook-id. Order by its " +
            "timestamp, not by its arrival: the first calls about one resource are made in the order of its events, over a " +
            "restart too, but a call that failed is made again after later events, and so may a copy be.",
          responses: answers(201, WebhookWithSecret, [400, 401, 402, 403, 413, 415, 422, 503]),
        }),
      },
    )
    .get(
      "",
      ({ request, query }) => {
        const { workspaceId } = wholeWorkspaceCaller(request);
        return deps.pages.list(
          query,
          LIST,
          (before, limit) => deps.webhooks.list(workspaceId, before, limit),
          showWebhook,
        );
      },
      {
        query: CursorQuery,
        detail: describe({
          id: "listWebhooks",
          tag: TAG,
          summary: "List webhooks, newest first",
          description: "Without their secrets, which are shown only when webhooks are created.",
          responses: answers(200, Type.Array(Webhook), [401, 403, 422], CursorMeta),
        }),
      },
    )
    .patch(
      "/:id",
      async ({ request, params, body }) => {
        const changed = await changeWebhook(getPlace(request, params.id), body, deps);
        return { data: showWebhook(changed) };
      },
      {
        params: OneWebhook,
        ...jsonBody(buildChangeSchema(deps.rules)),
        detail: describe({
          id: "updateWebhook",
          tag: TAG,
          summary: "Change a webhook",
          description:
            "While it is turned off nothing is delivered to it, events that waited before included: POST /webhooks/{id}/recover " +
            "delivers those that are stored.",
          responses: answers(200, Webhook, CHANGE_ERRORS),
        }),
      },
    )
    .delete(
      "/:id",
      async ({ request, params }) => {
        requireFreshProof(request);
        const webhook = await deleteWebhook(getPlace(request, params.id), deps);
        deps.deleted();
        return { data: { id: webhook.uid, deleted: true } };
      },
      {
        params: OneWebhook,
        detail: describe({
          id: "deleteWebhook",
          tag: TAG,
          summary: "Delete a webhook",
          description: "It is not called any more, and its deliveries are removed.",
          responses: answers(200, Deleted, [401, 403, 404, 422, 503]),
        }),
      },
    )
    .get(
      "/:id/deliveries",
      ({ request, params, query }) => {
        const webhook = findWebhook(getPlace(request, params.id), deps);
        const page = parsePage(query);
        const total = webhook.deliveryCount;
        const rows = page.offset < total ? deps.deliveries.list(webhook.id, page.limit, page.offset) : [];
        return { data: rows.map(showDelivery), meta: buildPageMeta(total, page) };
      },
      {
        params: OneWebhook,
        query: PageQuery,
        detail: describe({
          id: "listWebhookDeliveries",
          tag: TAG,
          summary: "List a webhook's deliveries, newest first",
          description: "One item for each HTTP attempt.",
          responses: answers(200, Type.Array(WebhookDelivery), [401, 403, 404, 422], PageMeta),
        }),
      },
    )
    .post(
      "/:id/test",
      async ({ request, params, set }) => {
        const eventId = await testWebhook(getPlace(request, params.id), deps);
        set.status = 202;
        return { data: { eventId } };
      },
      {
        params: OneWebhook,
        detail: describe({
          id: "testWebhook",
          tag: TAG,
          summary: "Send a test event",
          description: "Sends the event webhook.test to this webhook only; its deliveries show the result.",
          responses: answers(202, Queued, CHANGE_ERRORS),
        }),
      },
    )
    .post(
      "/:id/rotate-secret",
      async ({ request, params, body }) => {
        requireFreshProof(request);
        const rotated = await rotateSecret(getPlace(request, params.id), body.graceHours ?? DEFAULT_GRACE_HOURS, deps);
        return { data: withSecret(rotated) };
      },
      {
        params: OneWebhook,
        ...jsonBody(SecretRotation),
        detail: describe({
          id: "rotateWebhookSecret",
          tag: TAG,
          summary: "Rotate a webhook's secret",
          description:
            "Until the grace is over calls carry a signature by the old secret too; after several rotations each old one ends at its own time.",
          responses: answers(200, WebhookWithSecret, CHANGE_ERRORS),
        }),
      },
    )
    .post(
      "/:id/deliveries/:deliveryId/replay",
      async ({ request, params, set }) => {
        const eventId = await replayDelivery(getPlace(request, params.id), params.deliveryId.toLowerCase(), deps);
        set.status = 202;
        return { data: { eventId } };
      },
      {
        params: Type.Object({ id: uuid(), deliveryId: uuid() }),
        detail: describe({
          id: "replayWebhookDelivery",
          tag: TAG,
          summary: "Deliver an event again",
          description: "With the same webhook-id, so that a receiver that has it already can recognize it.",
          responses: answers(202, Queued, CHANGE_ERRORS),
        }),
      },
    )
    .post(
      "/:id/recover",
      async ({ request, params, body, set }) => {
        const queued = await recover(getPlace(request, params.id), Date.parse(body.since));
        set.status = 202;
        return { data: { queued } };
      },
      {
        params: OneWebhook,
        ...jsonBody(Recovery),
        detail: describe({
          id: "recoverWebhookEvents",
          tag: TAG,
          summary: "Deliver missed events",
          description:
            "Every stored event from that time on that the webhook wants and has never got. Events of emails and SMS are stored while " +
            "a webhook wants them, also one that pombo turned off; they are not while you have turned it off yourself.",
          responses: answers(202, Recovered, CHANGE_ERRORS),
        }),
      },
    );
}

function getPlace(request: Request, id: string): Place {
  return { workspaceId: wholeWorkspaceCaller(request).workspaceId, uid: id.toLowerCase(), request };
}

function withSecret({ webhook, secret }: WithSecret): typeof WebhookWithSecret.static {
  return { ...showWebhook(webhook), secret };
}
