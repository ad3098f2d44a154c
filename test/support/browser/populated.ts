// A sandbox in which something has happened, for whoever looks at the pages: mail with each end, keys, people.

import { waitUntil } from "../peers/process.ts";
import type { Sandbox } from "../peers/sandbox.ts";
import { createWorkspace, join, makeSetupLink, mustAsk, signInToSandbox } from "./people.ts";
import type { Visitor } from "./visitor.ts";

const SETTLE_TIMEOUT_MS = 20_000;
const LONG_SUBJECT = "A sua encomenda nº 48213 saiu do armazém da Matola e chega amanhã entre as 9h e as 13h";

const MAILS = [
  { to: "rui@example.com", subject: "Bem-vindo à Loja da Maria" },
  { to: "bounce@example.com", subject: "A sua fatura de outubro" },
  { to: "complaint@example.com", subject: "Promoção: 20 % em capulanas" },
  { to: "um.endereco.bastante.comprido.de.alguem@departamento.example.com", subject: LONG_SUBJECT },
  { to: "defer@example.com", subject: "Código de confirmação 204 118" },
];

export interface Populated {
  url: string;
  workspaceId: string;
  /** A workspace in which nothing has happened. */
  emptyWorkspaceId: string;
  /** Of an email that was delivered, and of one that bounced. */
  deliveredId: string;
  bouncedId: string;
  setupLink: string;
  invitationLink: string;
}

/** `owner` is signed in then, as the sandbox's own person; `others` are profiles of people who join its workspace. */
export async function populate(sandbox: Sandbox, owner: Visitor, others: Visitor[]): Promise<Populated> {
  const { apiKey, workspaceId } = sandbox;
  const place = { url: owner.origin, operatorKey: sandbox.operatorKey };
  await signInToSandbox(owner, sandbox);
  const emptyWorkspaceId = await createWorkspace(owner, "Padaria Nova");
  const asked = { workspaceId };
  const [rui, maria] = others;
  if (rui !== undefined)
    await join(owner, workspaceId, { visitor: rui, email: "rui@example.com", role: "admin", name: "Rui Tembe" });
  if (maria !== undefined)
    await join(owner, workspaceId, {
      visitor: maria,
      email: "maria@example.com",
      role: "viewer",
      name: "Maria João Nhantumbo",
    });
  await mustAsk(owner, "POST /api/v1/auth/keys", { ...asked, body: { name: "Loja online" } });
  const invitation = { email: "carlos@example.com", role: "member" };
  const { url } = await mustAsk(owner, "POST /api/v1/workspace/invitations", { ...asked, body: invitation });

  const ids: string[] = [];
  for (const mail of MAILS) {
    const body = { from: "Loja da Maria <loja@sandbox.test>", html: `<h1>${mail.subject}</h1>`, ...mail };
    const headers = { "x-api-key": apiKey, "content-type": "application/json" };
    const answer = await fetch(`${sandbox.url}/api/v1/emails`, { method: "POST", headers, body: JSON.stringify(body) });
    ids.push(((await answer.json()) as { data: { id: string } }).data.id);
  }
  const [deliveredId = "", bouncedId = ""] = ids;
  await waitUntil("mail has its ends", SETTLE_TIMEOUT_MS, async () => {
    const statuses = await Promise.all(
      [deliveredId, bouncedId].map(async (id) => (await mustAsk(owner, `GET /api/v1/emails/${id}`, asked)).status),
    );
    return statuses.join() === "delivered,bounced";
  });
  const setupLink = await makeSetupLink(place);
  return { url: place.url, workspaceId, emptyWorkspaceId, deliveredId, bouncedId, setupLink, invitationLink: url };
}
