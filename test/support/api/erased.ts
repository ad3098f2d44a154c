// People to erase, and where they must not be found afterwards: in answers, and byte by byte in the database's files.

import { expect } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Instance, Json } from "../fakes/instance.ts";
import type { MxScript } from "../fakes/mx.ts";
import type { Receiver } from "../fakes/receiver.ts";
import { type HeldInstance, startHeld } from "./kit.ts";
import { NOON } from "./one-email.ts";
import { allowLoopback } from "./webhook-kit.ts";

export const PERSON = "zq.person@example.com";
export const PATH = "/api/v1/recipients/zq.person%40example.com";
export const NUMBER = "+258847654321";
export const NUMBER_PATH = "/api/v1/recipients/%2B258847654321";
/** Plain, so that they are found in the files; no word of any other record. */
export const WORDS = ["zq.person", "Zq.Person", "SubjectOfZq", "ContentOfZq", "847654321", "TextOfZq"];
export const ERASED = "erased@erased.invalid";
export const NOTHING = {
  ...{ complete: true, emails: 0, canceledEmails: 0, sms: 0, canceledSms: 0, inFlight: 0, inboundSms: 0, events: 0 },
  ...{ webhookCalls: 0, suppressions: 0, inboxMails: 0 },
};

export const toPerson = (changes: Record<string, unknown> = {}) => ({
  to: "Zq.Person@Example.com",
  subject: "SubjectOfZq",
  text: "ContentOfZq",
  ...changes,
});

export async function erase(pombo: Instance, path = PATH): Promise<Json> {
  const answer = await pombo.workspace.call("DELETE", path);
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
  return answer.body.data;
}

export async function exported(pombo: Instance, path = PATH): Promise<Json[]> {
  const items: Json[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const { status, body } = await pombo.workspace.call("GET", `${path}?limit=2${query}`);
    expect(status).toBe(200);
    items.push(...body.data);
    cursor = body.meta.next_cursor;
  }
  return items;
}

/** Everything that the workspace and the operator can read. */
export async function readAll(pombo: Instance, ids: string[]): Promise<string> {
  const webhooks = (await pombo.workspace.call("GET", "/api/v1/webhooks")).body.data as Json[];
  const calls = await Promise.all(
    webhooks.map(async ({ id }) => {
      const path = `/api/v1/webhooks/${id}/deliveries`;
      const { body } = await pombo.workspace.call("GET", `${path}?limit=100`);
      return (body.data as Json[]).map((each) => `${path}/${each.id}`);
    }),
  );
  const own = [
    ...calls.flat(),
    ...[
      "/api/v1/emails?include=status",
      "/api/v1/sms",
      "/api/v1/sms/inbound",
      "/api/v1/suppressions",
      "/api/v1/webhooks",
    ],
    ...ids.flatMap((id) => [
      `/api/v1/emails/${id}`,
      `/api/v1/emails/${id}/events`,
      `/api/v1/sms/${id}`,
      `/api/v1/sms/${id}/events`,
    ]),
    ...webhooks.map(({ id }) => `/api/v1/webhooks/${id}/deliveries?limit=100`),
  ];
  const operators = [
    ...["/queue/messages", "/queue/messages?kind=sms", "/queue", "/inbox", "/trace"],
    ...ids.map((id) => `/trace/${id}`),
  ].map((path) => `/api/v1/operator${path}`);
  const answers = await Promise.all([
    ...own.map((path) => pombo.workspace.call("GET", path)),
    ...operators.map((path) => pombo.operator.call("GET", path)),
  ]);
  return answers.map((answer) => answer.text).join("\n");
}

/** Ends the instance for a moment, so that its files are whole. */
export async function findLeft(held: HeldInstance): Promise<string[]> {
  let found: string[] = ["the files were not looked at"];
  await held.restart(() => (found = findInFiles(held.pombo.directory, WORDS)));
  return found;
}

/** A held instance whose workspace tells `receiver` of everything. */
export async function startTold(receiver: Receiver, mx: MxScript = {}): Promise<HeldInstance> {
  const held = await startHeld(NOON, { mx, configure: allowLoopback });
  const body = { url: receiver.url, events: ["*"] };
  await held.pombo.workspace.call("POST", "/api/v1/webhooks", { body });
  return held;
}

/** Which of `words` stand in the database or its write-ahead log. */
export function findInFiles(directory: string, words: readonly string[]): string[] {
  const files = ["pombo.db", "pombo.db-wal"].map((name) => join(directory, name)).filter((file) => existsSync(file));
  const all = files.map((file) => readFileSync(file));
  return words.filter((word) => all.some((bytes) => bytes.includes(word)));
}
