import type { Answer, Instance, Json, RequestOptions } from "../fakes/instance.ts";
import type { MxScript } from "../fakes/mx.ts";
import { type HeldInstance, startHeld } from "./kit.ts";

export const NOON = Date.UTC(2026, 10, 21, 12);
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
/** An answer to RCPT after which an email waits for its next attempt. */
export const LATER = "450 4.2.0 Come back later";

const EMAILS = "/api/v1/emails";

/** An instance whose time stands still, one message at a time to a destination; the second of a lane then waits in flight. */
export function startAtNoon(mx: MxScript = {}): Promise<HeldInstance> {
  return startHeld(NOON, { mx, configure: (config) => void (config.email.sessionsPerDestination = 1) });
}

/** Sends an email; its id. */
export async function send(pombo: Instance, changes: Record<string, unknown> = {}): Promise<string> {
  const { status, text, body } = await pombo.workspace.call("POST", EMAILS, { body: pombo.email(changes) });
  if (status !== 202) throw new Error(`not accepted: ${text}`);
  return body.data.id;
}

/** Sends an email and lets its attempt come to its end; its id. */
export async function attempted(pombo: Instance, changes: Record<string, unknown> = {}): Promise<string> {
  const id = await send(pombo, changes);
  await pombo.app.worker.idle();
  return id;
}

export function ask(pombo: Instance, id: string, what: "cancel" | "retry", options?: RequestOptions): Promise<Answer> {
  return pombo.workspace.call("POST", `${EMAILS}/${id}/${what}`, options);
}

export async function recordOf(pombo: Instance, id: string): Promise<Json> {
  return (await pombo.workspace.call("GET", `${EMAILS}/${id}`)).body.data;
}

export async function timelineOf(pombo: Instance, id: string): Promise<Json[]> {
  return (await pombo.workspace.call("GET", `${EMAILS}/${id}/events`)).body.data;
}

/** How often the mail server was asked to take mail for this address. */
export function asked({ mx }: Instance, to: string): number {
  const lines = mx.connections.flatMap(({ commands }) => commands);
  return lines.filter((line) => line.startsWith("RCPT") && line.includes(to)).length;
}

/** A step of the mail server that holds everybody until it is opened. */
export interface Gate {
  step: () => Promise<string>;
  /** Resolves when somebody stands before it. */
  reached: Promise<void>;
  open(answer: string): void;
}

export function gate(): Gate {
  const reached = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<string>();
  const step = () => {
    reached.resolve();
    return answer.promise;
  };
  return { step, reached: reached.promise, open: answer.resolve };
}

/** A key of the workspace that is restricted to a new domain of it. */
export async function restrictedKey({ pombo }: HeldInstance, domain: string): Promise<string> {
  const domainId = await pombo.addDomain(pombo.workspace, domain);
  const made = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "one", domainId } });
  return made.body.data.key;
}

/** The stored totals and the emails that they should count, by status. */
export function totalsOf({ app }: Instance): { kept: Record<string, number>; counted: Record<string, number> } {
  const read = (sql: string) =>
    Object.fromEntries(
      app.db.sqlite
        .query<{ status: string; count: number }, []>(sql)
        .all()
        .filter(({ count }) => count !== 0)
        .map(({ status, count }) => [status, count]),
    );
  return {
    kept: read("SELECT status, SUM(count) AS count FROM email_total GROUP BY status"),
    counted: read("SELECT status, COUNT(*) AS count FROM email GROUP BY status"),
  };
}
