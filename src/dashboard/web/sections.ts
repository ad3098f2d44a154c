// The pages of a workspace by the first word of their address: each section is a script of its own.

import { createLaterPage } from "./shell/later.tsx";

const SECTIONS = {
  "emails/new": createLaterPage(async () => (await import("./pages/workspace/compose/index.tsx")).Compose, "compose"),
  domains: createLaterPage(async () => (await import("./pages/workspace/domains/index.tsx")).DomainPages, "domains"),
  requests: createLaterPage(async () => (await import("./pages/workspace/requests/index.tsx")).Requests, "requests"),
  settings: createLaterPage(async () => (await import("./pages/workspace/settings/index.tsx")).Settings, "settings"),
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
  return Object.entries(SECTIONS).find(([section]) => section === name || section === `${name}/${id}`)?.[1] ?? others;
}
