// The fields of a webhook, as a new one and a changed one have them.

import { Field, t } from "../../../kit.ts";

export const WEBHOOKS = "/api/v1/webhooks";

interface Values {
  url: string;
  events: string[];
  description: string | null;
}

export function WebhookFields({ url, events, description }: Values) {
  const words = t().webhooks;
  return (
    <>
      <Field name="url" label={words.url} hint={words.urlHint} defaultValue={url} autoComplete="off" isFocused />
      <Field
        name="events"
        label={words.events}
        hint={words.eventsHint}
        defaultValue={events.join(" ")}
        autoComplete="off"
      />
      <Field
        name="description"
        label={words.description}
        hint={words.descriptionHint}
        defaultValue={description ?? ""}
        autoComplete="off"
      />
    </>
  );
}

/** As the API takes them. */
export function readWebhook({ url = "", events = "", description = "" }: Record<string, string>) {
  const names = events.split(/[\s,]+/).filter((name) => name !== "");
  return { url: url.trim(), events: names, description: description.trim() };
}
