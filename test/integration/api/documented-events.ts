import type { Instance } from "../../support/fakes/instance.ts";
import type { Receiver } from "../../support/fakes/receiver.ts";
import { documentOf } from "./document.ts";
import { faultsAgainst } from "./json-schema.ts";

/** What is wrong with the events that `receiver` was told of, by the document's `webhooks`. */
export async function faultsOfEvents(pombo: Instance, receiver: Receiver): Promise<string[]> {
  const { webhooks } = await documentOf(pombo);
  return receiver.calls.flatMap(({ event }) => {
    const content = webhooks[event.type]?.post.requestBody.content["application/json"];
    if (content === undefined) return [`${event.type} is not in the document`];
    return faultsAgainst(content.schema, event, event.type);
  });
}
