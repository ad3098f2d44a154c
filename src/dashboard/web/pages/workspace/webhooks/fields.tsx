// The fields of a webhook, as a new one and a changed one have them.

import type { EventType } from "../../../../../modules/events/schema.ts";
import { Checkbox, Field, t } from "../../../kit.ts";

export const WEBHOOKS = "/api/v1/webhooks";

const ALL = "*";

const EVENTS = Object.keys({
  "email.queued": 0,
  "email.scheduled": 0,
  "email.sent": 0,
  "email.delivered": 0,
  "email.delivery_delayed": 0,
  "email.bounced": 0,
  "email.complained": 0,
  "email.failed": 0,
  "email.suppressed": 0,
  "email.canceled": 0,
  "sms.queued": 0,
  "sms.sent": 0,
  "sms.delivered": 0,
  "sms.undelivered": 0,
  "sms.failed": 0,
  "sms.expired": 0,
  "sms.received": 0,
  "domain.verified": 0,
  "domain.warning": 0,
  "domain.failed": 0,
  "suppression.created": 0,
  "suppression.deleted": 0,
  "workspace.quota_warning": 0,
  "workspace.sending_warning": 0,
  "workspace.sending_blocked": 0,
  "webhook.disabled": 0,
  "webhook.test": 0,
} satisfies Record<EventType, 0>);

const FAMILIES = [...new Set(EVENTS.map(findFamily))];

/** `email.*` of `email.sent`. */
function findFamily(event: string): string {
  return `${event.split(".")[0]}.*`;
}

interface Values {
  url: string;
  events: string[];
  description: string | null;
}

export function WebhookFields({ url, events, description }: Values) {
  const words = t().webhooks;
  return (
    <>
      <Field
        name="url"
        label={words.url}
        hint={words.urlHint}
        placeholder="https://example.com/webhooks/pombo"
        defaultValue={url}
        autoComplete="off"
        isFocused
      />
      <Field
        name="description"
        label={words.description}
        hint={words.descriptionHint}
        defaultValue={description ?? ""}
        autoComplete="off"
      />
      <fieldset class="choices events">
        <legend>{words.events}</legend>
        <Checkbox name={ALL} label={words.eventsAll} hint={words.eventsHint} checked={events.includes(ALL)} />
        {FAMILIES.map((family) => (
          <div key={family} class="event-names">
            {[family, ...EVENTS.filter((event) => findFamily(event) === family)].map((name) => (
              <Checkbox key={name} name={name} label={name} checked={events.includes(name)} />
            ))}
          </div>
        ))}
      </fieldset>
    </>
  );
}

/** As the API takes them: what stands for others stands alone. */
export function readWebhook({ url = "", description = "", ...chosen }: Record<string, string>) {
  const families = FAMILIES.filter((name) => name in chosen);
  const names = EVENTS.filter((name) => name in chosen && !families.includes(findFamily(name)));
  return { url: url.trim(), events: ALL in chosen ? [ALL] : [...families, ...names], description: description.trim() };
}
