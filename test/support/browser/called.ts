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

/** What is sent meanwhile is told to them; they are gone afterwards, and no call is made again before tomorrow. */
export async function addWebhooks(place: Place, send: () => Promise<void>): Promise<Called> {
  await using receiver = startReceiver();
  receiver.answer = answer;
  const create = (path: string, body: object) =>
    mustAsk(place.owner, "POST /api/v1/webhooks", {
      workspaceId: place.workspaceId,
      body: { url: new URL(path, receiver.url).href, ...body },
    });
  const { id: goneWebhookId } = await create("/erp/events", { events: ["*"], description: "Contabilidade antiga" });
  const paused = { events: ["sms.*", "email.complained"], enabled: false };
  await create("/webhooks/pombo/production/loja-da-maria/clientes?origem=pombo", paused);
  const events = ["email.delivered", "email.bounced", "email.complained", "suppression.created"];
  const { id: webhookId } = await create("/webhooks/pombo", { events, description: "Loja online" });
  await send();
  const findCall = (status: string) => findFirst(place, `/api/v1/webhooks/${webhookId}/deliveries?status=${status}`);
  const [deliveredCallId, failedCallId] = [await findCall("delivered"), await findCall("failed")];
  await untilGone(place, goneWebhookId);
  return { webhookId, deliveredCallId, failedCallId, goneWebhookId };
}

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

async function findFirst({ owner, workspaceId }: Place, path: string): Promise<string> {
  let id: string | undefined;
  await waitUntil(`something in ${path}`, TIMEOUT_MS, async () => {
    const [first] = (await mustAsk(owner, `GET ${path}`, { workspaceId })) as { id: string }[];
    id = first?.id;
    return id !== undefined;
  });
  return id ?? "";
}

async function untilGone({ owner, workspaceId }: Place, id: string): Promise<void> {
  await waitUntil("a webhook is turned off", TIMEOUT_MS, async () => {
    const { enabled } = await mustAsk(owner, `GET /api/v1/webhooks/${id}`, { workspaceId });
    return enabled === false;
  });
}
