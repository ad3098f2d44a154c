// A sandbox in which something has happened, and those who look at its pages: mail with each end, keys, people.

import { waitUntil } from "../peers/process.ts";
import type { Sandbox } from "../peers/sandbox.ts";
import { addWebhooks, type Called } from "./called.ts";
import { sendEverything } from "./everything.ts";
import { fillLedger, type SentSms } from "./ledger.ts";
import { handIn } from "./hand-in.ts";
import type { Viewer } from "./pages.ts";
import { createWorkspace, join, makeSetupLink, mustAsk, signInLongAgo, signInToSandbox } from "./people.ts";
import type { StorageState, Visitor } from "./visitor.ts";

const SETTLE_TIMEOUT_MS = 20_000;
const DAY_MS = 24 * 60 * 60_000;
const LONG_SUBJECT = "A sua encomenda nº 48213 saiu do armazém da Matola e chega amanhã entre as 9h e as 13h";

const MAILS = [
  { to: "rui@example.com", subject: "Bem-vindo à Loja da Maria" },
  { to: "bounce@example.com", subject: "A sua fatura de outubro" },
  { to: "complaint@example.com", subject: "Promoção: 20 % em capulanas" },
  { to: "um.endereco.bastante.comprido.de.alguem@departamento.example.com", subject: LONG_SUBJECT },
  { to: "defer@example.com", subject: "Código de confirmação 204 118" },
];

const SUPPRESSED = [
  { address: "promocoes@example.com", reason: "unsubscribe", list: "novidades" },
  { address: "caixa.cheia@example.com", reason: "hard_bounce" },
  { address: "carlos.machava@example.com", reason: "complaint" },
  { address: "um.endereco.bastante.comprido.de.alguem.que.saiu@departamento.example.com", reason: "hard_bounce" },
  { address: "+258841112233", channel: "sms", reason: "opt_out" },
  { address: "+351912345678", channel: "sms", reason: "invalid_number" },
  { address: "antigo.cliente@example.com" },
];

export interface Populated extends Called, SentSms {
  url: string;
  workspaceId: string;
  /** A workspace in which nothing has happened. */
  emptyWorkspaceId: string;
  /** One whose domain has no DNS records yet. */
  pendingWorkspaceId: string;
  pendingDomainId: string;
  /** A link to its records. */
  dnsLink: string;
  /** That of the sandbox, whose records are there. */
  verifiedDomainId: string;
  /** Of an email that was delivered, and of one that bounced. */
  deliveredId: string;
  bouncedId: string;
  /** Of a send to several, those to the first recipient and to the one with a blind copy. */
  group: { to: string; bcc: string };
  /** The first one of a send to several tomorrow. */
  scheduledId: string;
  /** Of one that came by SMTP. */
  submittedId: string;
  /** A link to unsubscribe that nobody has used, and one that somebody has. */
  unsubscribeLinks: { open: string; used: string };
  setupLink: string;
  invitationLink: string;
  /** Cookies of each who is signed in. */
  cookies: Record<Viewer, StorageState>;
}

const PEOPLE = [
  { email: "rui@example.com", role: "admin", name: "Rui Tembe" },
  { email: "maria@example.com", role: "viewer", name: "Maria João Nhantumbo" },
] as const;
const LATE = { email: "telma@example.com", role: "owner", name: "Telma Cossa" } as const;

/** `open` gives each person a browser profile of their own. */
export async function populate(sandbox: Sandbox, open: () => Promise<Visitor>): Promise<Populated> {
  const { apiKey, workspaceId } = sandbox;
  const nobody = (await open()).context;
  const owner = await open();
  const place = { url: owner.origin, operatorKey: sandbox.operatorKey };
  await signInToSandbox(owner, sandbox);
  const emptyWorkspaceId = await createWorkspace(owner, "Padaria Nova");
  const pendingWorkspaceId = await createWorkspace(owner, "Capulanas da Beira");
  const domain = { workspaceId: pendingWorkspaceId, body: { domain: "capulanas.invalid" } };
  const pending = await mustAsk(owner, "POST /api/v1/domains", domain);
  const pendingDomainId = pending.id as string;
  const share = await mustAsk(owner, `POST /api/v1/domains/${pendingDomainId}/share`, {
    workspaceId: pendingWorkspaceId,
  });
  const asked = { workspaceId };
  const [verified] = await mustAsk(owner, "GET /api/v1/domains", asked);
  const verifiedDomainId = verified.id as string;
  await mustAsk(owner, `POST /api/v1/domains/${verifiedDomainId}/verification-checks`, asked);
  for (const person of [...PEOPLE, LATE]) await join(owner, workspaceId, { visitor: await open(), ...person });
  const late = await open();
  await signInLongAgo(late, sandbox, LATE.email);
  await mustAsk(owner, "POST /api/v1/auth/keys", { ...asked, body: { name: "Loja online" } });
  const invitation = { email: "carlos@example.com", role: "member" };
  const { url } = await mustAsk(owner, "POST /api/v1/workspace/invitations", { ...asked, body: invitation });

  const ids: string[] = [];
  const webhooks = await addWebhooks({ owner, workspaceId });
  for (const mail of MAILS) {
    const body = { from: "Loja da Maria <loja@sandbox.test>", html: `<h1>${mail.subject}</h1>`, ...mail };
    const headers = { "x-api-key": apiKey, "content-type": "application/json" };
    const answer = await fetch(`${sandbox.url}/api/v1/emails`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    ids.push(((await answer.json()) as { data: { id: string } }).data.id);
  }
  // The log of requests has one that failed, too.
  const headers = { "x-api-key": apiKey };
  await fetch(`${sandbox.url}/api/v1/suppressions/rui%40example.com`, { method: "DELETE", headers });
  await waitUntil("mail has its ends", SETTLE_TIMEOUT_MS, async () => {
    const statuses = await Promise.all(
      ids.slice(0, 2).map(async (id) => (await mustAsk(owner, `GET /api/v1/emails/${id}`, asked)).status),
    );
    return statuses.join() === "delivered,bounced";
  });
  const [deliveredId = "", bouncedId = ""] = ids;
  const suppressions = SUPPRESSED.map((each, nth) => ({
    ...each,
    suppressedAt: new Date(Date.now() - nth * DAY_MS).toISOString(),
  }));
  await mustAsk(owner, "POST /api/v1/suppressions/import", { ...asked, body: { suppressions } });
  const texts = await fillLedger(sandbox);
  const carrying = await sendCarrying(sandbox);
  const submittedId = await handIn(sandbox);
  const called = await webhooks.until();
  const setupLink = await makeSetupLink(place);
  const [ofNobody, ofOwner, ofLate] = await Promise.all(
    [nobody, owner.context, late.context].map((context) => context.storageState()),
  );
  return {
    ...{ pendingDomainId, dnsLink: share.url as string, verifiedDomainId },
    ...{ url: place.url, workspaceId, emptyWorkspaceId, pendingWorkspaceId },
    ...{ deliveredId, bouncedId, setupLink, invitationLink: url, submittedId, ...carrying, ...called, ...texts },
    cookies: { nobody: ofNobody, owner: ofOwner, late: ofLate } as Record<Viewer, StorageState>,
  };
}

/** Emails that carry all that an email can. */
async function sendCarrying(sandbox: Sandbox): Promise<Pick<Populated, "group" | "scheduledId" | "unsubscribeLinks">> {
  const [first, , , last] = (await sendEverything(sandbox)).recipients;
  const sendAt = new Date(Date.now() + DAY_MS).toISOString();
  const scheduled = await sendEverything(sandbox, { sendAt });
  const used = await findUnsubscribeLink(sandbox, "rui@example.com");
  await fetch(used, { method: "POST", body: "List-Unsubscribe=One-Click" });
  return {
    group: { to: first?.id ?? "", bcc: last?.id ?? "" },
    scheduledId: scheduled.id,
    unsubscribeLinks: { open: await findUnsubscribeLink(sandbox, "contas@example.com"), used },
  };
}

/** In the newest message to the address that has one. */
async function findUnsubscribeLink({ url }: Sandbox, to: string): Promise<string> {
  const ask = async (path: string) => (await fetch(`${url}/sandbox/messages${path}`)).json() as Promise<never>;
  let link: string | undefined;
  await waitUntil(`a link to ${to}`, SETTLE_TIMEOUT_MS, async () => {
    for (const { id } of (await ask(`?raw=false&to=${to}`)) as { id: string }[])
      link ??= ((await ask(`/${id}`)) as { unsubscribe: string[] }).unsubscribe[0];
    return link !== undefined;
  });
  return link ?? "";
}
