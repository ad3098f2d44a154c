// The pages of a workspace by the first word of their address: each section is a script of its own.

import { createLaterPage } from "./shell/later.tsx";

const SECTIONS = {
  "emails/new": createLaterPage(async () => (await import("./pages/workspace/compose/index.tsx")).Compose, "compose"),
  credits: createLaterPage(async () => (await import("./pages/workspace/credits.tsx")).Credits, "credits"),
  domains: createLaterPage(async () => (await import("./pages/workspace/domains/index.tsx")).DomainPages, "domains"),
  requests: createLaterPage(async () => (await import("./pages/workspace/requests/index.tsx")).Requests, "requests"),
  settings: createLaterPage(async () => (await import("./pages/workspace/settings/index.tsx")).Settings, "settings"),
  sms: createLaterPage(async () => (await import("./pages/workspace/sms/index.tsx")).SmsPages, "sms"),
  "sms/new": createLaterPage(
    async () => (await import("./pages/workspace/sms-compose/index.tsx")).ComposeSms,
    "sms-compose",
  ),
  suppressions: createLaterPage(
    async () => (await import("./pages/workspace/suppressions/index.tsx")).Suppressions,
    "suppressions",
  ),
  webhooks: createLaterPage(
    async () => (await import("./pages/workspace/webhooks/index.tsx")).WebhookPages,
    "webhooks",
  ),
};

/** The start page, and those that nearly everybody opens. */
const others = createLaterPage(async () => (await import("./pages/workspace/index.tsx")).WorkspacePages);

/** `path`: of the address, /dashboard/w/:workspace/SECTION/… */
export function findSection(path: string) {
  const [, , , , name = "", id] = path.split("/");
  const find = (wanted: string) => Object.entries(SECTIONS).find(([section]) => section === wanted)?.[1];
  return find(`${name}/${id}`) ?? find(name) ?? others;
}
