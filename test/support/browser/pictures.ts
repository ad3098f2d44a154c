// The pages of which docs/images has a picture, which docs/dashboard.md and README.md show: `script/screenshots --docs`
// makes them.

/** Names in pages.ts. */
export const PICTURES = [
  "signin",
  "home",
  "emails",
  "email-bounced",
  "email-dialogue",
  "email-group",
  "email-scheduled",
  "sms",
  "sms-delivered",
  "sms-received",
  "suppressions",
  "sms-compose-dear",
  "credits",
  "webhooks",
  "webhook",
  "webhook-call-failed",
  "domains",
  "domain-pending",
  "dns-link",
  "keys",
  "members",
  "requests",
  "settings",
  "audit",
  "account",
  "dialog-palette",
];
