// The pages of webhooks, by their addresses.

import { useLocation } from "../../../kit.ts";
import { WebhookCall } from "./call.tsx";
import { Webhooks } from "./list.tsx";
import { Webhook } from "./webhook.tsx";

/** /dashboard/w/:workspace/webhooks/ID/CALL */
export function WebhookPages() {
  const [id = "", call = ""] = useLocation().path.split("/").slice(5);
  if (call !== "") return <WebhookCall key={call} id={id} deliveryId={call} />;
  return id === "" ? <Webhooks /> : <Webhook key={id} id={id} />;
}
