// What a ledger of SMS credits has: a grant, a deduction, texts of several parts, and credits that were given back.

import { waitUntil } from "../peers/process.ts";
import type { Sandbox } from "../peers/sandbox.ts";

const SETTLE_TIMEOUT_MS = 20_000;

/** One of its signs makes it three parts: without it there is one. */
export const DEAR_TEXT =
  "Loja da Maria: a encomenda 48213 chega na sexta-feira entre as 9h e as 13h. Se ninguém estiver em casa, ligue para 84 123 4567 até amanhã.";

/** The sandbox refuses what goes to this number. */
const REFUSED = "+258840000010";

interface Entry {
  kind: string;
}

export async function fillLedger({ url, apiKey, operatorKey, workspaceId }: Sandbox): Promise<void> {
  const ask = async (path: string, key: string, body?: object) => {
    const headers = { "x-api-key": key, "content-type": "application/json" };
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const answer = await fetch(`${url}/api/v1${path}`, { headers, ...sent });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return ((await answer.json()) as { data: Entry[] }).data;
  };
  await ask("/sms", apiKey, { to: "+258841234567", body: "O seu codigo e 482913." });
  await ask("/sms", apiKey, { to: "+258841234567", body: DEAR_TEXT });
  await ask("/sms", apiKey, { to: REFUSED, body: "A sua encomenda saiu do armazem." });
  const body = { amount: -250, note: "Counted twice" };
  await ask(`/operator/workspaces/${workspaceId}/credits`, operatorKey, body);
  await waitUntil("a credit is given back", SETTLE_TIMEOUT_MS, async () =>
    (await ask("/workspace/credits", apiKey)).some(({ kind }) => kind === "refund"),
  );
}
