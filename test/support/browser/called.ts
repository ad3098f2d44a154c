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

/**
 * `until` has the ids once all that was sent has been told; the receivers are gone then, and no call is made again before
 * tomorrow.
 */
export async function addWebhooks(place: Place): Promise<{ until: () => Promise<Called> }> {
  const { owner, workspaceId } = place;
  const receiver = startReceiver();
  receiver.answer = answer;
  const create = (path: string, body: object) =>
    mustAsk(owner, "POST /api/v1/webhooks", { workspaceId, body: { url: new URL(path, receiver.url).href, ...body } });
  const gone = await create("/erp/events", { events: ["*"], description: "Contabilidade antiga" });
  const paused = { events: ["sms.*", "email.complained"], enabled: false };
  await create("/webhooks/pombo/production/loja-da-maria/clientes?origem=pombo", paused);
  const shop = await create(SHOP, { events: EVENTS, description: "Loja online" });
  const path = `/api/v1/webhooks/${shop.id as string}`;
  const findCall = async (status: string) => {
    const [{ id }] = await mustAsk(owner, `GET ${path}/deliveries?status=${status}`, { workspaceId });
    return id as string;
  };
  return {
    async until() {
      await waitUntil("all is told", TIMEOUT_MS, async () => {
        const emails = await mustAsk(owner, "GET /api/v1/emails?include=status&limit=100", { workspaceId });
        const ended = (emails as { status: string }[]).filter(({ status }) => ENDS.includes(status));
        const told = receiver.calls.filter((each) => each.path === SHOP);
        const firsts = told.filter(({ event }) => event.type !== "email.complained");
        const calls = await mustAsk(owner, `GET ${path}/deliveries?limit=100`, { workspaceId });
        const { enabled } = await mustAsk(owner, `GET /api/v1/webhooks/${gone.id as string}`, { workspaceId });
        return enabled === false && firsts.length >= ended.length && calls.length >= told.length;
      });
      await receiver[Symbol.asyncDispose]();
      return {
        ...{ webhookId: shop.id as string, goneWebhookId: gone.id as string },
        ...{ deliveredCallId: await findCall("delivered"), failedCallId: await findCall("failed") },
      };
    },
  };
}

const SHOP = "/webhooks/pombo";
const EVENTS = ["email.delivered", "email.bounced", "email.complained"];
/** Of emails of which a receiver was told: a complaint comes after the delivery. */
const ENDS = ["delivered", "bounced", "complained"];

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
