import type { EventType } from "../events/schema.ts";

/** Whether one of a webhook's names (`email.delivered`, `email.*`, `*`) means events of this type. */
export function isSubscribed(names: readonly string[], type: EventType): boolean {
  // Made by hand, for one webhook: it goes to that one whatever it wants.
  if (type === "webhook.test") return false;
  return names.some(
    (name) => name === "*" || name === type || (name.endsWith(".*") && type.startsWith(name.slice(0, -1))),
  );
}
