import { SANDBOX_DOMAIN } from "../../../sandbox/dns/zone.ts";
import { SANDBOX_SENDERS } from "./config.ts";

// What a new sandbox has when it is ready, made over its own API.

/** What the sandbox hands to its user, kept in the data directory for the next run. */
export interface SandboxKeys {
  operatorKey: string;
  apiKey: string;
  workspaceId: string;
}

const WORKSPACE_NAME = "Sandbox";
const SANDBOX_CREDITS = 1_000_000;

/** The ready workspace with its verified domain, sender ids and credits, made as a user would make it. */
export async function furnish(url: string, operatorKey: string): Promise<SandboxKeys> {
  const workspace = await post<{ workspaceId: string; apiKey: { key: string } }>(
    `${url}/api/v1/workspaces`,
    operatorKey,
    {
      name: WORKSPACE_NAME,
      plan: "scale",
    },
  );
  const apiKey = workspace.apiKey.key;
  const domain = await post<{ id: string }>(`${url}/api/v1/domains`, apiKey, { domain: SANDBOX_DOMAIN });
  const checked = await post<{ verifiedAt: string | null }>(
    `${url}/api/v1/domains/${domain.id}/verification-checks`,
    apiKey,
    null,
  );
  const ofWorkspace = `${url}/api/v1/operator/workspaces/${workspace.workspaceId}`;
  const { name, number } = SANDBOX_SENDERS;
  for (const sender of [name, number]) await post(`${ofWorkspace}/sender-ids`, operatorKey, { name: sender });
  await post(`${ofWorkspace}/credits`, operatorKey, { amount: SANDBOX_CREDITS, note: "Sandbox" });
  if (checked.verifiedAt === null) throw new Error("the sandbox's own domain could not be verified");
  return { operatorKey, apiKey, workspaceId: workspace.workspaceId };
}

async function post<T>(url: string, key: string, body: object | null): Promise<T> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "x-api-key": key, ...(body === null ? {} : { "content-type": "application/json" }) },
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as { data: T };
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${JSON.stringify(answer)}`);
  return answer.data;
}
