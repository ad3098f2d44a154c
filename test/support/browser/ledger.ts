// What a ledger of SMS credits has: a grant, a deduction, texts of several parts, and credits that were given back.

import { waitUntil } from "../peers/process.ts";
import type { Sandbox } from "../peers/sandbox.ts";

const SETTLE_TIMEOUT_MS = 20_000;

/** One of its signs makes it three parts: without it there is one. */
export const DEAR_TEXT =
  "Loja da Maria: a encomenda 48213 chega na sexta-feira entre as 9h e as 13h. Se ninguém estiver em casa, ligue para 84 123 4567 até amanhã.";

/** The sandbox refuses what goes to this number. */
const REFUSED = "+258840000010";
const PHONE = "+258841234567";

interface Entry {
  kind: string;
}

/** Ids of an SMS of three parts that was delivered, and of one that was refused. */
export interface SentSms {
  deliveredSmsId: string;
  failedSmsId: string;
}

export async function fillLedger({ url, apiKey, operatorKey, workspaceId }: Sandbox): Promise<SentSms> {
  const ask = async <Data>(path: string, key: string, body?: object): Promise<Data> => {
    const headers = { "x-api-key": key, "content-type": "application/json" };
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const answer = await fetch(`${url}/api/v1${path}`, { headers, ...sent });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return ((await answer.json()) as { data: Data }).data;
  };
  const send = async (to: string, text: string) => (await ask<{ id: string }>("/sms", apiKey, { to, body: text })).id;
  await send(PHONE, "O seu codigo e 482913.");
  const ids = {
    deliveredSmsId: await send(PHONE, DEAR_TEXT),
    failedSmsId: await send(REFUSED, "A sua encomenda saiu do armazem."),
  };
  const body = { amount: -250, note: "Counted twice" };
  await ask(`/operator/workspaces/${workspaceId}/credits`, operatorKey, body);
  await waitUntil("a credit is given back", SETTLE_TIMEOUT_MS, async () =>
    (await ask<Entry[]>("/workspace/credits", apiKey)).some(({ kind }) => kind === "refund"),
  );
  await answerSms(url, { from: PHONE, body: "Obrigada! Posso levantar na loja da Matola?" });
  await waitUntil("it is delivered and answered", SETTLE_TIMEOUT_MS, async () => {
    const { status } = await ask<{ status: string }>(`/sms/${ids.deliveredSmsId}`, apiKey);
    return status === "delivered" && (await ask<Entry[]>("/sms/inbound", apiKey)).length > 0;
  });
  return ids;
}

/** What a person writes back to a number of the sandbox's workspace. @throws Error unless the phone sends it */
export async function answerSms(url: string, { from, body }: { from: string; body: string }): Promise<void> {
  const answer = await fetch(`${url}/sandbox/texts`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ from, body }),
  });
  if (!answer.ok) throw new Error(`the phone: ${answer.status} ${await answer.text()}`);
}
