// Every page and every dialog, for axe and for pictures.

import { DEAR_TEXT } from "./ledger.ts";
import type { Populated } from "./populated.ts";
import type { Visitor } from "./visitor.ts";

/** Who looks: nobody who is signed in, the owner, or an owner whose proof is too old for what is dangerous. */
export type Viewer = "nobody" | "owner" | "late";

export interface PageCase {
  name: string;
  /** Path and fragment. */
  path: (world: Populated) => string;
  who: Viewer;
  /** What is there once the page is; without it its heading. */
  sign?: string;
  /** What is done on the page before it is looked at; in any language. */
  act?: (visitor: Visitor) => Promise<void>;
}

const fragment = (link: string) => new URL(link).hash;
const workspace = (page: string) => (world: Populated) => `/dashboard/w/${world.workspaceId}${page}`;
const webhook = (find: (world: Populated) => string) => (world: Populated) =>
  workspace(`/webhooks/${find(world)}`)(world);

const pendingDomain = ({ pendingWorkspaceId, pendingDomainId }: Populated) =>
  `/dashboard/w/${pendingWorkspaceId}/domains/${pendingDomainId}`;

/** The button that makes something new. */
const CREATE = "main .page-head .primary";
/** The one that does it, of the dialog that lies on top. */
const SUBMIT = "dialog[open] [type=submit]";

/** It stands before the button of the export. */
const TEST_SEND = "main .page-head .actions button:not(:last-child)";

const click =
  (...buttons: string[]) =>
  async ({ page }: Visitor) => {
    for (const button of buttons) await page.locator(button).last().click();
    await page.locator("dialog[open]").last().waitFor();
  };
const press = (keys: string) => async (visitor: Visitor) => {
  await visitor.page.keyboard.press(keys);
  await visitor.page.locator("dialog[open]").waitFor();
};
const createKey = async (visitor: Visitor) => {
  await click(CREATE)(visitor);
  await visitor.page.locator("dialog[open] [name=name]").fill("Loja online");
  await visitor.page.locator(SUBMIT).click();
};

/** A message of the sandbox's inbox, with one of its tabs open. */
function message(name: string, find: (world: Populated) => string, tab: string): PageCase {
  const act = ({ page }: Visitor) => page.locator(`#tab-${tab}`).click();
  return { name, path: (world) => `/sandbox#${find(world)}`, who: "nobody", sign: "#frame:not([hidden])", act };
}

/** By the order of their buttons, behind that of the test call. */
const WEBHOOK_DIALOGS = ["edit", "disable", "rotate", "delete"];

const DIALOGS: PageCase[] = [
  { name: "dialog-test-send", path: workspace("/emails"), who: "owner", act: click(TEST_SEND) },
  {
    name: "dialog-test-sent",
    path: workspace("/emails"),
    who: "owner",
    async act(visitor) {
      await click(TEST_SEND)(visitor);
      await visitor.page.locator("dialog[open] [name=to]").fill("maria@example.com");
      await visitor.page.locator(SUBMIT).click();
      await visitor.page.locator("dialog[open] .live .badge").waitFor();
      await visitor.page.locator("dialog[open] .dialogue").waitFor();
    },
  },
  {
    name: "dialog-reschedule",
    path: (world) => workspace(`/emails/${world.scheduledId}`)(world),
    who: "owner",
    act: click("main .card:first-of-type .actions button:first-child"),
  },
  {
    name: "dialog-cancel",
    path: (world) => workspace(`/emails/${world.scheduledId}`)(world),
    who: "owner",
    act: click("main .card:first-of-type .actions button:nth-child(2)"),
  },
  {
    name: "dialog-preview",
    path: workspace("/emails/new"),
    who: "owner",
    async act(visitor) {
      await visitor.page.locator("[name=html]").fill("<h1>Obrigado, Ana!</h1><p>O seu recibo vai em anexo.</p>");
      await visitor.page.locator("main form .actions button").first().click();
      await visitor.page.frameLocator("dialog[open] iframe").locator("h1").waitFor();
    },
  },
  { name: "dialog-create-key", path: workspace("/keys"), who: "owner", act: click(CREATE) },
  {
    name: "dialog-secret",
    path: workspace("/keys"),
    who: "owner",
    async act(visitor) {
      await createKey(visitor);
      await visitor.page.locator("dialog[open] pre").first().waitFor();
    },
  },
  {
    name: "dialog-delete",
    path: workspace("/keys"),
    who: "owner",
    act: click("main tbody tr:last-child .row-actions button"),
  },
  { name: "dialog-invite", path: workspace("/members"), who: "owner", act: click(CREATE) },
  {
    name: "dialog-invitation",
    path: workspace("/members"),
    who: "owner",
    async act(visitor) {
      await click(CREATE)(visitor);
      await visitor.page.locator("dialog[open] [name=email]").fill("telma.cossa@example.com");
      await visitor.page.locator(SUBMIT).click();
      await visitor.page.locator("dialog[open] pre").waitFor();
    },
  },
  {
    name: "dialog-proof",
    path: workspace("/keys"),
    who: "late",
    async act(visitor) {
      visitor.allow(/^answer: POST \/api\/v1\/auth\/keys 403$/);
      await createKey(visitor);
      await visitor.page.locator("dialog[open] [name=password]").waitFor();
    },
  },
  { name: "dialog-add-domain", path: workspace("/domains"), who: "owner", act: click(CREATE) },
  { name: "dialog-share-domain", path: pendingDomain, who: "owner", act: click("main .actions button:nth-child(2)") },
  { name: "dialog-delete-domain", path: pendingDomain, who: "owner", act: click("main .actions button:last-child") },
  { name: "dialog-suppress", path: workspace("/suppressions"), who: "owner", act: click(CREATE) },
  {
    name: "dialog-lift",
    path: workspace("/suppressions?reason=complaint"),
    who: "owner",
    act: click("main tbody .row-actions button"),
  },
  {
    name: "dialog-import",
    path: workspace("/suppressions"),
    who: "owner",
    act: click("main .page-head .actions button:nth-last-child(2)"),
  },
  {
    name: "dialog-import-report",
    path: workspace("/suppressions"),
    who: "owner",
    async act(visitor) {
      visitor.allow(/^answer: POST \/api\/v1\/suppressions\/import 422$/);
      await click("main .page-head .actions button:nth-last-child(2)")(visitor);
      await visitor.page.locator("dialog[open] textarea").fill("rui@example.com\nrui.example.com\n+258,84");
      await visitor.page.locator(SUBMIT).click();
      await visitor.page.locator("dialog[open] [role=status] ul").waitFor();
    },
  },
  { name: "dialog-create-webhook", path: workspace("/webhooks"), who: "owner", act: click(CREATE) },
  ...WEBHOOK_DIALOGS.map((name, nth): PageCase => ({
    name: `dialog-webhook-${name}`,
    path: webhook(({ webhookId }) => webhookId),
    who: "owner",
    act: click(`main .card:first-of-type .actions button:nth-child(${nth + 2})`),
  })),
  {
    name: "dialog-request",
    path: workspace("/requests?status=failed"),
    who: "owner",
    act: click("main tbody th button"),
  },
  { name: "dialog-palette", path: workspace(""), who: "owner", act: press("ControlOrMeta+K") },
  { name: "dialog-keys", path: workspace(""), who: "owner", act: press("?") },
];

export const PAGES: PageCase[] = [
  { name: "signin", path: () => "/dashboard/signin", who: "nobody" },
  { name: "setup", path: ({ setupLink }) => `/dashboard/setup${fragment(setupLink)}`, who: "nobody" },
  { name: "setup-used", path: () => "/dashboard/setup#not-a-link", who: "nobody" },
  { name: "invite", path: ({ invitationLink }) => `/dashboard/invite${fragment(invitationLink)}`, who: "nobody" },
  { name: "recover", path: () => "/dashboard/recover#not-a-link", who: "nobody" },
  { name: "home", path: workspace(""), who: "owner" },
  { name: "home-empty", path: ({ emptyWorkspaceId }) => `/dashboard/w/${emptyWorkspaceId}`, who: "owner" },
  { name: "emails", path: workspace("/emails"), who: "owner" },
  { name: "emails-empty", path: ({ emptyWorkspaceId }) => `/dashboard/w/${emptyWorkspaceId}/emails`, who: "owner" },
  { name: "email-delivered", path: (world) => workspace(`/emails/${world.deliveredId}`)(world), who: "owner" },
  { name: "email-bounced", path: (world) => workspace(`/emails/${world.bouncedId}`)(world), who: "owner" },
  {
    name: "emails-filtered",
    path: workspace("/emails?status=bounced&subject=e&from_day=2026-01-01&category=invalid_recipient"),
    who: "owner",
  },
  {
    name: "email-dialogue",
    path: (world) => workspace(`/emails/${world.bouncedId}`)(world),
    who: "owner",
    act: ({ page }) => page.locator("main .timeline summary").click(),
  },
  { name: "emails-tagged", path: workspace("/emails?tag=receipt"), who: "owner" },
  { name: "email-group", path: (world) => workspace(`/emails/${world.group.to}`)(world), who: "owner" },
  { name: "email-blind", path: (world) => workspace(`/emails/${world.group.bcc}`)(world), who: "owner" },
  { name: "email-smtp", path: (world) => workspace(`/emails/${world.submittedId}`)(world), who: "owner" },
  { name: "email-scheduled", path: (world) => workspace(`/emails/${world.scheduledId}`)(world), who: "owner" },
  { name: "compose", path: workspace("/emails/new"), who: "owner" },
  { name: "keys", path: workspace("/keys"), who: "owner" },
  { name: "domains", path: workspace("/domains"), who: "owner" },
  { name: "domains-empty", path: ({ emptyWorkspaceId }) => `/dashboard/w/${emptyWorkspaceId}/domains`, who: "owner" },
  { name: "domain-verified", path: (world) => workspace(`/domains/${world.verifiedDomainId}`)(world), who: "owner" },
  { name: "domain-pending", path: pendingDomain, who: "owner" },
  { name: "dns-link", path: ({ dnsLink }) => `/dashboard/dns${fragment(dnsLink)}`, who: "nobody" },
  { name: "members", path: workspace("/members"), who: "owner" },
  { name: "suppressions", path: workspace("/suppressions"), who: "owner" },
  {
    name: "suppressions-empty",
    path: ({ emptyWorkspaceId }) => `/dashboard/w/${emptyWorkspaceId}/suppressions`,
    who: "owner",
  },
  { name: "suppressions-filtered", path: workspace("/suppressions?reason=complaint&q=nobody"), who: "owner" },
  { name: "webhooks", path: workspace("/webhooks"), who: "owner" },
  { name: "webhooks-empty", path: ({ emptyWorkspaceId }) => `/dashboard/w/${emptyWorkspaceId}/webhooks`, who: "owner" },
  { name: "webhook", path: webhook(({ webhookId }) => webhookId), who: "owner" },
  { name: "webhook-failed", path: webhook(({ webhookId }) => `${webhookId}?status=failed`), who: "owner" },
  { name: "webhook-disabled", path: webhook(({ goneWebhookId }) => goneWebhookId), who: "owner" },
  {
    name: "webhook-call-delivered",
    path: webhook(({ webhookId, deliveredCallId }) => `${webhookId}/${deliveredCallId}`),
    who: "owner",
  },
  {
    name: "webhook-call-failed",
    path: webhook(({ webhookId, failedCallId }) => `${webhookId}/${failedCallId}`),
    who: "owner",
  },
  { name: "requests", path: workspace("/requests"), who: "owner" },
  { name: "requests-empty", path: ({ emptyWorkspaceId }) => `/dashboard/w/${emptyWorkspaceId}/requests`, who: "owner" },
  { name: "requests-failed", path: workspace("/requests?status=failed"), who: "owner" },
  { name: "sms", path: workspace("/sms"), who: "owner" },
  { name: "sms-filtered", path: workspace("/sms?status=expired"), who: "owner" },
  { name: "sms-delivered", path: (world) => workspace(`/sms/${world.deliveredSmsId}`)(world), who: "owner" },
  { name: "sms-failed", path: (world) => workspace(`/sms/${world.failedSmsId}`)(world), who: "owner" },
  { name: "sms-received", path: workspace("/sms/received"), who: "owner" },
  { name: "sms-empty", path: ({ emptyWorkspaceId }) => `/dashboard/w/${emptyWorkspaceId}/sms`, who: "owner" },
  { name: "sms-compose", path: workspace("/sms/new"), who: "owner" },
  {
    name: "sms-compose-none",
    path: ({ emptyWorkspaceId }) => `/dashboard/w/${emptyWorkspaceId}/sms/new`,
    who: "owner",
  },
  {
    name: "sms-compose-dear",
    path: workspace("/sms/new"),
    who: "owner",
    async act({ page }) {
      await page.locator("[name=to]").fill("+258 84 123 4567");
      await page.locator("[name=body]").fill(DEAR_TEXT);
      await page.locator("main mark").first().waitFor();
    },
  },
  { name: "credits", path: workspace("/credits"), who: "owner" },
  { name: "credits-empty", path: ({ emptyWorkspaceId }) => `/dashboard/w/${emptyWorkspaceId}/credits`, who: "owner" },
  { name: "settings", path: workspace("/settings"), who: "owner" },
  { name: "audit", path: workspace("/audit"), who: "owner" },
  { name: "account", path: () => "/dashboard/account", who: "owner" },
  { name: "unsubscribe", path: ({ unsubscribeLinks }) => unsubscribeLinks.open, who: "nobody" },
  { name: "unsubscribe-done", path: ({ unsubscribeLinks }) => unsubscribeLinks.used, who: "nobody" },
  message("sandbox-message", ({ group }) => group.to, "html"),
  message("sandbox-blind", ({ group }) => group.bcc, "attachments"),
  message("sandbox-headers", ({ group }) => group.to, "headers"),
  message("sandbox-details", ({ group }) => group.to, "details"),
  {
    name: "sandbox-scheduled",
    path: ({ scheduledId }) => `/sandbox#${scheduledId}`,
    who: "nobody",
    sign: "#reason:not([hidden])",
  },
  { name: "not-found", path: workspace("/nothing"), who: "owner" },
  ...DIALOGS,
];

/** Opens the page and waits until all of it is there. @throws Error with the page's name */
export async function openPage(
  visitor: Visitor,
  { name, path, sign = "main h1", act }: PageCase,
  world: Populated,
): Promise<void> {
  try {
    await open(visitor, { path: path(world), sign, act });
  } catch (cause) {
    throw new Error(`${name}: ${String(cause)}`, { cause });
  }
}

async function open(
  visitor: Visitor,
  { path, sign, act }: { path: string; sign: string; act: PageCase["act"] },
): Promise<void> {
  // A change of the fragment only would load nothing.
  await visitor.page.goto("about:blank");
  await visitor.page.goto(path);
  await visitor.until(
    "the page is there",
    `document.querySelector(${JSON.stringify(sign)}) !== null && document.querySelector("main .loading") === null`,
  );
  await act?.(visitor);
}
