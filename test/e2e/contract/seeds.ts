// What the paths of the API name, made through the API itself: an operation whose path has an id gets one
// that it can be called with successfully. test/integration/api/examples.test.ts uses them in its own process, run.ts
// against the executable.

/** JSON whose shape the caller knows from the interface. */
// oxlint-disable-next-line no-explicit-any
type Json = any;

/** Requests under one key. */
export interface Caller {
  call(method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }>;
}

/** One pombo, with a workspace that has a verified domain. */
export interface World {
  workspace: Caller;
  operator: Caller;
  workspaceId: string;
  domain: string;
  /** Brings a mail to postmaster. Absent: mail cannot be brought here. */
  bringMail?: () => Promise<void>;
  /** Has a person join the workspace; their id. Absent: nobody can here. */
  addMember?: () => Promise<string>;
}

/** Makes a thing of its own at each call, and names it by the parameters of the operation's path. */
type Seed = (world: World) => Promise<Record<string, string>>;

const email: Seed = async (world) => {
  const { id } = await made(world.workspace, "/api/v1/emails", emailTo(`maria@${uniqueName()}.example`, world));
  return { id };
};

/** Its recipient's domain does not exist: tried again, for ten minutes at least. */
const waitingEmail: Seed = async (world) => {
  const body = emailTo(`maria@${uniqueName()}.invalid`, world);
  const { id } = await made(world.workspace, "/api/v1/emails", body);
  for (const startedAt = performance.now(); performance.now() - startedAt < WAIT_MS;) {
    const answer = await world.workspace.call("GET", `/api/v1/emails/${id}`);
    if (answer.body.data.status === "delivery_delayed") return { id };
  }
  throw new Error(`an email to a domain that does not exist is not delivery_delayed after ${WAIT_MS} ms`);
};

const scheduledEmail: Seed = async (world) => {
  const body = {
    ...emailTo(`maria@${uniqueName()}.example`, world),
    sendAt: new Date(Date.now() + 86_400_000).toISOString(),
  };
  const { id } = await made(world.workspace, "/api/v1/emails", body);
  return { id };
};

const emailWithAttachment: Seed = async (world) => {
  const attachments = [{ filename: "seed", content: Buffer.from("Seed").toString("base64") }];
  const body = { ...emailTo(`maria@${uniqueName()}.example`, world), attachments };
  const { id } = await made(world.workspace, "/api/v1/emails", body);
  return { id, n: "0" };
};

const sms: Seed = async (world) => {
  const { id } = await made(world.workspace, "/api/v1/sms", { to: "+258841234567", body: "Seed" });
  return { id };
};

const domain: Seed = async (world) => {
  const { id } = await made(world.workspace, "/api/v1/domains", { domain: `${uniqueName()}.${world.domain}` });
  return { id };
};

const key: Seed = async (world) => {
  const { id } = await made(world.workspace, "/api/v1/auth/keys", { name: uniqueName() });
  return { id };
};

const suppression: Seed = async (world) => {
  const { address } = await made(world.workspace, "/api/v1/suppressions", { address: `${uniqueName()}@example.net` });
  return { address };
};

const recipient: Seed = async (world) => {
  const address = `maria@${uniqueName()}.example`;
  await made(world.workspace, "/api/v1/emails", emailTo(address, world));
  return { address };
};

const workspace: Seed = async (world) => {
  const { workspaceId } = await made(world.operator, "/api/v1/workspaces", { name: uniqueName() });
  return { id: workspaceId };
};

const senderId: Seed = async (world) => {
  const { id = "" } = await workspace(world);
  const { name } = await made(world.operator, `/api/v1/operator/workspaces/${id}/sender-ids`, { name: "LOJA" });
  return { id, name };
};

const webhook: Seed = async (world) => {
  const hook = { url: `https://${uniqueName()}.example.net/hook`, events: ["webhook.disabled"] };
  const { id } = await made(world.workspace, "/api/v1/webhooks", hook);
  return { id };
};

/** Nobody is there, which makes a delivery that failed. */
const delivery: Seed = async (world) => {
  const { id = "" } = await webhook(world);
  await made(world.workspace, `/api/v1/webhooks/${id}/test`, undefined);
  for (const startedAt = performance.now(); performance.now() - startedAt < WAIT_MS;) {
    const { body } = await world.workspace.call("GET", `/api/v1/webhooks/${id}/deliveries`);
    const [first] = body.data;
    if (first !== undefined) return { id, deliveryId: first.id };
  }
  throw new Error(`a test event was not tried within ${WAIT_MS} ms`);
};

const invitation: Seed = async (world) => {
  const { id } = await made(world.workspace, "/api/v1/workspace/invitations", {
    email: `${uniqueName()}@example.net`,
    role: "viewer",
  });
  return { id };
};

const member: Seed = async ({ addMember }) => {
  if (addMember === undefined) throw new Error("nobody joins here");
  return { id: await addMember() };
};

/** A mail that came for the operator. */
const inboxMail: Seed = async ({ operator, bringMail }) => {
  if (bringMail === undefined) throw new Error("no mail comes in here");
  await bringMail();
  const { body } = await operator.call("GET", "/api/v1/operator/inbox");
  return { id: body.data[0].id };
};

/** By operation, as in `GET /api/v1/emails/{id}`; those of routes that a build does not have are not used. */
const SEEDS: Record<string, Seed> = {
  "POST /api/v1/operator/users/{id}/reset": member,
  "DELETE /api/v1/operator/users/{id}": member,
  "GET /api/v1/emails/{id}": email,
  "GET /api/v1/emails/{id}/events": email,
  "PATCH /api/v1/emails/{id}": scheduledEmail,
  "GET /api/v1/emails/{id}/raw": emailWithAttachment,
  "GET /api/v1/emails/{id}/attachments/{n}": emailWithAttachment,
  "POST /api/v1/emails/{id}/cancel": waitingEmail,
  "POST /api/v1/emails/{id}/preview": email,
  "POST /api/v1/emails/{id}/retry": waitingEmail,
  "GET /api/v1/sms/{id}": sms,
  "GET /api/v1/sms/{id}/events": sms,
  "GET /api/v1/domains/{id}": domain,
  "POST /api/v1/domains/{id}/verification-checks": domain,
  "DELETE /api/v1/domains/{id}": domain,
  "GET /api/v1/domains/{id}/dns-host": domain,
  "GET /api/v1/domains/{id}/zone": domain,
  "POST /api/v1/domains/{id}/share": domain,
  "DELETE /api/v1/domains/{id}/share": domain,
  "DELETE /api/v1/auth/keys/{id}": key,
  "DELETE /api/v1/suppressions/{address}": suppression,
  "GET /api/v1/recipients/{address}": recipient,
  "DELETE /api/v1/recipients/{address}": recipient,
  "DELETE /api/v1/operator/recipients/{address}": recipient,
  "GET /api/v1/webhooks/{id}": webhook,
  "PATCH /api/v1/webhooks/{id}": webhook,
  "DELETE /api/v1/webhooks/{id}": webhook,
  "GET /api/v1/webhooks/{id}/deliveries": webhook,
  "GET /api/v1/webhooks/{id}/deliveries/{deliveryId}": delivery,
  "POST /api/v1/webhooks/{id}/test": webhook,
  "POST /api/v1/webhooks/{id}/rotate-secret": webhook,
  "POST /api/v1/webhooks/{id}/deliveries/{deliveryId}/replay": delivery,
  "POST /api/v1/webhooks/{id}/recover": webhook,
  "PATCH /api/v1/workspace/members/{id}": member,
  "DELETE /api/v1/workspace/members/{id}": member,
  "DELETE /api/v1/workspace/invitations/{id}": invitation,
  "POST /api/v1/workspace/invitations/{id}/resend": invitation,
  "GET /api/v1/operator/workspaces/{id}": workspace,
  "PATCH /api/v1/operator/workspaces/{id}": workspace,
  "DELETE /api/v1/operator/workspaces/{id}": workspace,
  "POST /api/v1/operator/workspaces/{id}/credits": workspace,
  "GET /api/v1/operator/workspaces/{id}/credits": workspace,
  "POST /api/v1/operator/workspaces/{id}/sender-ids": workspace,
  "DELETE /api/v1/operator/workspaces/{id}/sender-ids/{name}": senderId,
  "POST /api/v1/operator/workspaces/{id}/block": workspace,
  "POST /api/v1/operator/workspaces/{id}/unblock": workspace,
  "POST /api/v1/operator/workspaces/{id}/keys": workspace,
  "GET /api/v1/operator/workspaces/{id}/suppressions": workspace,
  "POST /api/v1/operator/workspaces/{id}/suppressions/import": workspace,
  "POST /api/v1/operator/workspaces/{id}/domains": workspace,
  "POST /api/v1/operator/domains/{id}/verification-checks": domain,
  "PATCH /api/v1/operator/domains/{id}": domain,
  "GET /api/v1/operator/trace/{id}": email,
  "GET /api/v1/operator/inbox/{id}": inboxMail,
  "DELETE /api/v1/operator/inbox/{id}": inboxMail,
};

/** After these a key of the world is no key any more: each is called last, or in a world of its own. */
export const LAST = new Set(["POST /api/v1/operator/key/rotate"]);

/** The parameters of a path, freshly made; none where the path has none. Throws what to add for a route without a seed. */
export async function seed(route: string, world: World): Promise<Record<string, string>> {
  if (!route.includes("{")) return {};
  const make = SEEDS[route];
  if (make === undefined)
    throw new Error(
      `${route} is new: say in SEEDS of test/e2e/contract/seeds.ts how to make what its path names, so that it can be called.`,
    );
  return make(world);
}

const WAIT_MS = 10_000;
let count = 0;

/** Another one at each call, also of another process on the same pombo. */
function uniqueName(): string {
  count += 1;
  return `seed${process.pid}x${count}`;
}

function emailTo(to: string, world: World) {
  return { from: `loja@${world.domain}`, to, subject: "Seed", text: "Seed" };
}

async function made(caller: Caller, path: string, body: unknown): Promise<Json> {
  const answer = await caller.call("POST", path, body);
  if (answer.status < 300) return answer.body.data;
  throw new Error(`a seed could not be made: POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
}
