// People with a role in a workspace, who are signed in: rows as sign-in and invitations write them.

import type { Answer, Instance, RequestOptions } from "../fakes/instance.ts";
import { type Browser, openBrowser } from "./browser.ts";

export type Role = "owner" | "admin" | "member" | "viewer";

export interface Person extends Browser {
  readonly userId: number;
  /** Public. */
  readonly id: string;
  readonly email: string;
  /** A request in the workspace. */
  act(method: string, path: string, options?: RequestOptions): Promise<Answer>;
}

export interface PersonOptions {
  /** Null: not a member. */
  role: Role | null;
  isOperator?: boolean;
  /** Public id of the workspace; default: the instance's. */
  workspace?: string;
  /** When they last proved who they are, Unix ms; default: now. */
  provedAt?: number;
  /** Unix ms; default: the present. */
  now?: number;
}

let count = 0;

export function addPerson(
  pombo: Instance,
  { role, isOperator = false, workspace, provedAt, now = Date.now() }: PersonOptions,
): Person {
  count += 1;
  const { sqlite } = pombo.app.db;
  const [id, email] = [Bun.randomUUIDv7(), `${role ?? "operator"}${count}@example.com`];
  const { lastInsertRowid } = sqlite.run(
    "INSERT INTO user (uid, email, name, is_operator, created_at) VALUES (?, ?, ?, ?, ?)",
    [id, email, `Person ${count}`, isOperator ? 1 : 0, now],
  );
  const userId = Number(lastInsertRowid);
  const workspaceUid = workspace ?? pombo.workspace.id;
  if (role !== null)
    sqlite.run(
      "INSERT INTO membership (workspace_id, user_id, role, created_at) SELECT id, ?, ?, ? FROM workspace WHERE uid = ?",
      [userId, role, now, workspaceUid],
    );
  const token = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
  sqlite.run(
    `INSERT INTO session (uid, hash, user_id, method, created_at, proved_at, last_seen_at)
     VALUES (?, ?, ?, 'password', ?, ?, ?)`,
    [Bun.randomUUIDv7(), Bun.SHA256.hash(token, "hex"), userId, now, provedAt ?? now, now],
  );
  const browser = openBrowser(pombo);
  browser.cookies.set("pombo-session", token);
  return {
    ...browser,
    userId,
    id,
    email,
    act: (method, path, options = {}) =>
      browser.call(method, path, { ...options, headers: { "pombo-workspace": workspaceUid, ...options.headers } }),
  };
}
