// Files for the attachments of emails, and what is stored of them.

import { expect } from "bun:test";
import type { Instance, Json, Workspace } from "../fakes/instance.ts";
import { turn } from "../db/temporary.ts";
import type { HeldInstance } from "./kit.ts";

export interface SentFile {
  filename: string;
  content: Buffer;
  contentType?: string;
  contentId?: string;
}

/** The member `attachments` of a send. */
export function attach(...files: SentFile[]): Json[] {
  return files.map(({ content, ...header }) => ({ ...header, content: content.toString("base64") }));
}

/** Sends an email with these files; its id. */
export async function sendFiles(
  pombo: Instance,
  files: SentFile[],
  changes: Record<string, unknown> = {},
  workspace: Workspace = pombo.workspace,
): Promise<string> {
  const body = pombo.email({ attachments: attach(...files), ...changes });
  const answer = await workspace.call("POST", "/api/v1/emails", { body });
  expect([answer.status, answer.text]).toEqual([202, expect.any(String)]);
  return answer.body.data.id;
}

export async function download(
  pombo: Instance,
  id: string,
  n: number,
  key = pombo.workspace.key,
): Promise<{ response: Response; bytes: Buffer }> {
  const response = await fetch(`${pombo.app.url}/api/v1/emails/${id}/attachments/${n}`, {
    headers: { "x-api-key": key },
  });
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
}

export function countRows({ app }: Instance, table: string): number {
  return app.db.sqlite.query<{ count: number }, []>(`SELECT COUNT(*) AS count FROM ${table}`).get()?.count ?? 0;
}

/** Files, those of them that are whole, their pieces, and the emails' references. */
export function countFiles(pombo: Instance): [files: number, whole: number, pieces: number, references: number] {
  return [
    countRows(pombo, "attachment"),
    countRows(pombo, "attachment WHERE sha256 IS NOT NULL"),
    countRows(pombo, "attachment_piece"),
    countRows(pombo, "email_attachment WHERE attachment_id IS NOT NULL"),
  ];
}

export async function storedBytes({ workspace }: Instance, of: Workspace = workspace): Promise<number> {
  return (await of.call("GET", "/api/v1/workspace/usage")).body.data.usage.storageBytes;
}

const [MINUTE, HOUR] = [60_000, 3_600_000];

/** Lets time go on, with all that is done meanwhile in the background. */
export async function passTime({ clock }: HeldInstance, ms: number): Promise<void> {
  const step = ms > 24 * HOUR ? 2 * HOUR : 5 * MINUTE;
  for (let left = ms; left > 0; left -= step) {
    clock.advance(Math.min(left, step));
    // Batch after batch.
    for (let n = 0; n < 4; n += 1) {
      await turn(3);
      clock.advance(100);
    }
  }
}
