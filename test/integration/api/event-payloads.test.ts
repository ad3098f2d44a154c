import { expect, test } from "bun:test";
import { EVENT_TYPES } from "../../../src/modules/events/schema.ts";
import { type Json, startInstance } from "../../support/fakes/instance.ts";
import { documentOf } from "./document.ts";
import { faultsAgainst } from "./json-schema.ts";

// Real events are held against the document where they are made: faultsOfEvents() in the tests of webhooks.

test("every event has its payload in the document, with an example, the headers, and an answer", async () => {
  await using pombo = await startInstance();
  const { webhooks, paths, components } = await documentOf(pombo);
  expect(Object.keys(webhooks)).toEqual([...EVENT_TYPES]);
  for (const [type, { post }] of Object.entries<Json>(webhooks)) {
    const { schema, example } = post.requestBody.content["application/json"];
    expect([type, faultsAgainst(schema, example)]).toEqual([type, []]);
    expect(example.type).toBe(type);
    const [family, event] = type.split(".");
    // An example of another state would tell the reader wrong.
    if (family === "email" || family === "sms")
      expect([type, example.data.status]).toEqual([type, type === "sms.received" ? undefined : event]);
    const headers = post.parameters.map(({ name, required, in: place }: Json) => [name, required, place]);
    expect(headers).toEqual(["id", "timestamp", "signature"].map((name) => [`webhook-${name}`, true, "header"]));
    expect(Object.keys(post.responses)).toEqual(["200", "410"]);
  }
  const { callbacks } = paths["/api/v1/webhooks"].post;
  expect(Object.keys(callbacks.event)).toEqual(["{$request.body#/url}"]);
  const { oneOf, discriminator } = components.schemas.WebhookEvent;
  expect(oneOf.flatMap((one: Json) => one.properties.type.enum).toSorted()).toEqual([...EVENT_TYPES].toSorted());
  expect(Object.keys(discriminator.mapping)).toEqual([...EVENT_TYPES]);
});
