// Accounts for journeys that begin behind the sign-in: made by the API, in the browser profile of the person.

import { Database } from "bun:sqlite";
import { join as joinPath } from "node:path";
import type { Visitor } from "./visitor.ts";

export const PASSWORD = "quatro pombos no telhado";

/** An instance as its operator has it. */
export interface Place {
  /** As browsers reach it. */
  url: string;
  operatorKey: string;
}

type Cookies = Awaited<ReturnType<Visitor["context"]["cookies"]>>;

/** JSON whose shape the caller knows from the API. */
// oxlint-disable-next-line no-explicit-any
type Json = any;

export interface Answer {
  status: number;
  data: Json;
  errors: { code: string; message: string; field?: string }[];
}

/** Asks with the visitor's cookies, as a page of ours does, and outside of their page. */
export async function ask(
  visitor: Visitor,
  request: string,
  { body, workspaceId }: { body?: unknown; workspaceId?: string } = {},
): Promise<Answer> {
  const [method = "", path = ""] = request.split(" ");
  const answer = await visitor.context.request.fetch(path, {
    method,
    headers: {
      origin: visitor.origin,
      "sec-fetch-site": "same-origin",
      ...(workspaceId === undefined ? { "pombo-operator": "1" } : { "pombo-workspace": workspaceId }),
    },
    ...(body === undefined ? {} : { data: body }),
  });
  const text = await answer.text();
  const { data = null, errors = [] } = text.startsWith("{") ? (JSON.parse(text) as Partial<Answer>) : {};
  return { status: answer.status(), data, errors };
}

/** Like `ask`, for steps that must work. @throws Error with the answer otherwise */
export async function mustAsk(...request: Parameters<typeof ask>): Promise<Json> {
  const answer = await ask(...request);
  if (answer.status < 300) return answer.data;
  throw new Error(`${request[1]}: ${answer.status} ${JSON.stringify(answer.errors)}`);
}

/** The address of a new link to the setup page. */
export async function makeSetupLink({ url, operatorKey }: Place): Promise<string> {
  const headers = { "x-api-key": operatorKey };
  const answer = await fetch(`${url}/api/v1/operator/dashboard-link`, { method: "POST", headers });
  if (answer.status >= 300) throw new Error(`no link to the setup page: ${answer.status} ${await answer.text()}`);
  const { data } = (await answer.json()) as { data: { url: string } };
  // A sandbox on any port names the one that it was given.
  const { pathname, hash } = new URL(data.url);
  return url + pathname + hash;
}

function readToken(link: string): string {
  return new URL(link).hash.slice(1);
}

/** Makes the visitor an operator who is signed in. */
export async function signUpOperator(visitor: Visitor, place: Place, email = "ana@example.com"): Promise<void> {
  const token = readToken(await makeSetupLink(place));
  const body = { token, email, name: "Ana Macuácua", password: PASSWORD };
  await mustAsk(visitor, "POST /api/v1/auth/links/use", { body });
}

/** The public id of a new workspace that the visitor, an operator, owns. */
export async function createWorkspace(visitor: Visitor, name: string): Promise<string> {
  const { workspaceId } = await mustAsk(visitor, "POST /api/v1/workspaces", { body: { name, plan: "scale" } });
  return workspaceId as string;
}

interface Newcomer {
  visitor: Visitor;
  email: string;
  role: "owner" | "admin" | "member" | "viewer";
  name?: string;
}

/** Invites the newcomer, who joins with an account of their own and is signed in then. */
export async function join(host: Visitor, workspaceId: string, newcomer: Newcomer): Promise<void> {
  const { visitor, email, role, name = email.split("@")[0] ?? "" } = newcomer;
  const invited = { body: { email, role }, workspaceId };
  const { url } = await mustAsk(host, "POST /api/v1/workspace/invitations", invited);
  const body = { token: readToken(url as string), email, name, password: PASSWORD };
  await mustAsk(visitor, "POST /api/v1/auth/links/use", { body });
}

/**
 * Signs the visitor in with a proof that is eleven minutes old. The server reads a session from its database when that
 * is first used, and no request has used it yet.
 */
export async function signInLongAgo(visitor: Visitor, { data }: { data: string }, email: string): Promise<void> {
  await mustAsk(visitor, "POST /api/v1/auth/session", { body: { email, password: PASSWORD } });
  using database = new Database(joinPath(data, "pombo.db"));
  database.run("PRAGMA busy_timeout = 10000");
  database.run(
    `UPDATE session SET proved_at = proved_at - 11 * 60000
     WHERE id = (SELECT MAX(session.id) FROM session JOIN user ON user.id = user_id WHERE email = ?)`,
    [email],
  );
}

/** Of each sandbox, by its link. */
const sandboxCookies = new Map<string, Cookies>();

/** Makes the visitor the person whom a sandbox's own link signs in. The link works once; others share its session. */
export async function signInToSandbox(visitor: Visitor, { dashboardUrl }: { dashboardUrl: string }): Promise<void> {
  const cookies = sandboxCookies.get(dashboardUrl);
  if (cookies !== undefined) return visitor.context.addCookies(cookies);
  await mustAsk(visitor, "POST /api/v1/auth/links/use", { body: { token: readToken(dashboardUrl) } });
  sandboxCookies.set(dashboardUrl, await visitor.context.cookies());
}
