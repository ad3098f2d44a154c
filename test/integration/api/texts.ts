import type { Answer, Instance, Json, Workspace } from "../../support/fakes/instance.ts";
import { startInstance } from "../../support/fakes/instance.ts";

// Texts, for the tests of the API of SMS.

export const TO = "+258841234567";

export const text = (changes: Record<string, unknown> = {}) => ({ to: TO, body: "Olá", ...changes });

/** An instance whose workspace has a sender id and credits. */
export async function startWithSms(credits = 100, configure?: (config: Instance["config"]) => void): Promise<Instance> {
  const pombo = await startInstance(configure === undefined ? {} : { configure });
  await pombo.enableSms(pombo.workspace, credits);
  return pombo;
}

export function send(pombo: Instance, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  return pombo.workspace.call("POST", "/api/v1/sms", { body, headers });
}

export function rows<Row = Json>(pombo: Instance, sql: string): Row[] {
  return pombo.app.db.sqlite.query<Row, []>(sql).all();
}

export async function usageOf(workspace: Workspace) {
  const { smsThisMonth, smsCreditsBalance } = (await workspace.call("GET", "/api/v1/workspace/usage")).body.data.usage;
  return { smsThisMonth, smsCreditsBalance };
}
