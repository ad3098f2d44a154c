// Webhooks of a workspace, with receivers that answer as real ones do: one that works, one that is down, one that is gone.

import { type Receiver, type ReceivedCall, startReceiver } from "../fakes/receiver.ts";
import { waitUntil } from "../peers/process.ts";
import { mustAsk } from "./people.ts";
import type { Visitor } from "./visitor.ts";

const TIMEOUT_MS = 20_000;

/** Ids. */
export interface Called {
  /** The webhook whose calls are delivered and failed. */
  webhookId: string;
  deliveredCallId: string;
  failedCallId: string;
  /** Turned off by pombo. */
  goneWebhookId: string;
}

interface Place {
  owner: Visitor;
  workspaceId: string;
}

/** `until` has the ids once each of them has been called. The receivers answer for as long as the process lives. */
export async function addWebhooks({ owner, workspaceId }: Place): Promise<{ until: () => Promise<Called> }> {
  const receiver = startReceiver();
  receiver.answer = answer;
  const ask = (request: string, body?: object) => mustAsk(owner, request, { workspaceId, body });
  const create = async (path: string, body: object) =>
    (await ask("POST /api/v1/webhooks", { url: new URL(path, receiver.url).href, ...body })).id as string;
  const goneWebhookId = await create("/erp/events", { events: ["*"], description: "Contabilidade antiga" });
  const paused = { events: ["sms.*", "email.complained"], enabled: false };
  await create("/webhooks/pombo/production/loja-da-maria/clientes?origem=pombo", paused);
  const webhookId = await create("/webhooks/pombo", { events: EVENTS, description: "Loja online" });
  const findCall = async (status: string) => {
    const calls = await ask(`GET /api/v1/webhooks/${webhookId}/deliveries?status=${status}`);
    return (calls as { id: string }[])[0]?.id ?? "";
  };
  return {
    async until() {
      let found: string[] = [];
      await waitUntil("webhooks are called", TIMEOUT_MS, async () => {
        const { enabled } = await ask(`GET /api/v1/webhooks/${goneWebhookId}`);
        found = [await findCall("delivered"), await findCall("failed")];
        return enabled === false && !found.includes("");
      });
      const [deliveredCallId = "", failedCallId = ""] = found;
      return { webhookId, deliveredCallId, failedCallId, goneWebhookId };
    },
  };
}

const EVENTS = ["email.delivered", "email.bounced", "email.complained"];

function answer({ path, event }: ReceivedCall): ReturnType<Receiver["answer"]> {
  if (path === "/erp/events") return new Response("This endpoint was retired.", { status: 410 });
  if (event.type !== "email.bounced") return Response.json({ received: true, id: "evt_48213" });
  const headers = { "retry-after": "86400", "content-type": "text/html" };
  return new Response(MAINTENANCE, { status: 503, headers });
}

const MAINTENANCE = `<!doctype html>
<html lang="pt">
  <head><title>503 Service Unavailable</title></head>
  <body>
    <h1>Estamos em manutenção</h1>
    <p>Voltamos amanhã às 6h.</p>
  </body>
</html>
`;
