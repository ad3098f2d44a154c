import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { requireFreshProof, wholeWorkspaceCaller } from "../../../platform/http/auth.ts";
import { answers, Deleted, describe } from "../../../platform/http/openapi.ts";
import { CursorMeta, CursorQuery } from "../../../platform/http/pagination.ts";
import { jsonBody } from "../../../platform/http/body/validate.ts";
import { uuid } from "../../../platform/http/request-schemas.ts";
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  findDelivery,
  findWebhook,
  type Place,
  replayDelivery,
  rotateSecret,
  testWebhook,
  type WebhookDeps,
  type WithSecret,
} from "./manage.ts";
import { listDeliveries } from "./list-deliveries.ts";
import { createRecover } from "./recover-missed.ts";
import {
  DeliveryPageMeta,
  DeliveryQuery,
  Queued,
  Recovered,
  Recovery,
  SecretRotation,
  Webhook,
  buildCreateSchema,
  WebhookDelivery,
  WebhookDeliveryRecord,
  buildChangeSchema,
  WebhookWithSecret,
} from "./schema.ts";
import { showDeliveryRecord, showWebhook } from "./serialize.ts";

const TAG = "Webhooks";
const LIST = "webhooks";
const DEFAULT_GRACE_HOURS = 24;
const CHANGE_ERRORS = [400, 401, 403, 404, 413, 415, 422, 503];

const OneWebhook = Type.Object({ id: uuid() });
const OneDelivery = Type.Object({ id: uuid(), deliveryId: uuid() });

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
    .get("/:id", ({ request, params }) => ({ data: showWebhook(findWebhook(getPlace(request, params.id), deps)) }), {
      params: OneWebhook,
      detail: describe({
        id: "getWebhook",
        tag: TAG,
        summary: "Get a webhook",
        description: "Without its secret, which is shown only when the webhook is created.",
        responses: answers(200, Webhook, [401, 403, 404, 422]),
      }),
    })
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
        return listDeliveries(findWebhook(getPlace(request, params.id), deps), query, deps);
      },
      {
        params: OneWebhook,
        query: DeliveryQuery,
        detail: describe({
          id: "listWebhookDeliveries",
          tag: TAG,
          summary: "List a webhook's deliveries, newest first",
          description:
            "One item for each HTTP attempt. With `status`, at most 10,000 are counted and can be paged through; " +
            "`totalIsMinimum` says that there are more.",
          responses: answers(200, Type.Array(WebhookDelivery), [401, 403, 404, 422], DeliveryPageMeta),
        }),
      },
    )
    .get(
      "/:id/deliveries/:deliveryId",
      async ({ request, params }) => {
        const { webhook, delivery: row } = findDelivery(
          getPlace(request, params.id),
          params.deliveryId.toLowerCase(),
          deps,
        );
        const mayRead = await deps.mayReadContent(request);
        const payload = deps.events.byId(row.eventId)?.body ?? null;
        const attempts = deps.deliveries.listAttempts(webhook.id, row.eventId);
        return { data: showDeliveryRecord({ row, payload, attempts }, mayRead) };
      },
      {
        params: OneDelivery,
        detail: describe({
          id: "getWebhookDelivery",
          tag: TAG,
          summary: "Get one delivery of a webhook",
          description:
            "One HTTP attempt with the body of the request, the beginning of the answer, and the other attempts of the same event. " +
            "Viewers and operators get bodies only where an owner lets them see what messages say.",
          responses: answers(200, WebhookDeliveryRecord, [401, 403, 404, 422, 503]),
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
        params: OneDelivery,
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
