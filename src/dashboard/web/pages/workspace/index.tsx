// The pages of a workspace, by their addresses.

import { NotFound, useLocation } from "../../kit.ts";
import { Audit } from "./audit.tsx";
import { Email } from "./emails/email.tsx";
import { Emails } from "./emails/index.tsx";
import { Home } from "./home/index.tsx";
import { Keys } from "./keys.tsx";
import { Members } from "./members/index.tsx";
import { Suppressions } from "./suppressions/index.tsx";
import { WebhookCall } from "./webhooks/call.tsx";
import { Webhooks } from "./webhooks/index.tsx";
import { Webhook } from "./webhooks/webhook.tsx";

/** /dashboard/w/:workspace/PAGE/ID/PART */
export function WorkspacePages() {
  const [page = "", id = "", part = ""] = useLocation().path.split("/").slice(4);
  if (page === "emails" && id !== "") return <Email key={id} id={id} />;
  if (page === "webhooks" && part !== "") return <WebhookCall key={part} id={id} deliveryId={part} />;
  if (page === "webhooks" && id !== "") return <Webhook key={id} id={id} />;
  const Shown = PAGES[page];
  return Shown === undefined ? <NotFound /> : <Shown />;
}

const PAGES: Record<string, () => ReturnType<typeof Home>> = {
  "": Home,
  emails: Emails,
  keys: Keys,
  webhooks: Webhooks,
  members: Members,
  suppressions: Suppressions,
  audit: Audit,
};
