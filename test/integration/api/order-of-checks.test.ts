// Of a request that is wrong in several ways the first check answers, in the order that the API promises.

import { expect, test } from "bun:test";
import { NO_RATE_LIMITS } from "../../../src/config/config.ts";
import type { Answer, Client } from "../../support/fakes/instance.ts";
import { type HeldInstance, startHeld } from "../../support/api/kit.ts";

/** A request in the making, and the state of things it comes to. */
interface Draft {
  key: string;
  headers: Record<string, string>;
  items: Record<string, unknown>[];
  /** Put at the end of the body. */
  tail: string;
  isOverRate: boolean;
  quota: number;
}

interface Check {
  /** What is answered when this is the first thing wrong. */
  answer: string;
  spoil: (draft: Draft) => void;
  /** Only a batch can be wrong in this way. */
  isOfBatch?: true;
}

const spoilItems = (changes: Record<string, unknown>) => (draft: Draft) => {
  draft.items = draft.items.map((item) => ({ ...item, ...changes }));
};

/** In their order; from the replay on the accepting transaction decides. */
const CHECKS: Check[] = [
  { answer: "401 INVALID_API_KEY", spoil: (draft) => void (draft.key = `svc_${"A".repeat(43)}`) },
  { answer: "429 RATE_LIMITED", spoil: (draft) => void (draft.isOverRate = true) },
  { answer: "400 INVALID_JSON", spoil: (draft) => void (draft.tail = "}") },
  { answer: "422 VALIDATION_ERROR unknown", spoil: spoilItems({ unknown: 1 }) },
  {
    answer: "422 BATCH_LIMIT_EXCEEDED emails",
    spoil: (draft) => void (draft.items = Array.from({ length: 51 }, () => draft.items[0] ?? {})),
    isOfBatch: true,
  },
  { answer: "202 replayed", spoil: (draft) => void (draft.headers["Idempotency-Key"] = "used") },
  { answer: "422 VALIDATION_ERROR from", spoil: spoilItems({ from: "a@unverified.test" }) },
  { answer: "422 RECIPIENT_SUPPRESSED to", spoil: spoilItems({ to: "gone@example.com" }) },
  { answer: "402 DAILY_QUOTA_EXCEEDED", spoil: (draft) => void (draft.quota = 0) },
];

interface Scene extends AsyncDisposable {
  held: HeldInstance;
  workspace: Client;
}

async function startScene(): Promise<Scene> {
  const held = await startHeld(Date.UTC(2026, 10, 21, 12), {
    configure: (config) => void (config.rateLimits = { ...NO_RATE_LIMITS, sendsPerSecond: 5, sendsBurst: 5 }),
  });
  const { pombo } = held;
  const workspace = await pombo.newWorkspace("launch");
  await pombo.addDomain(workspace, "launch.test");
  pombo.app.db.sqlite.run(
    `INSERT INTO suppression (workspace_id, channel, address, reason, created_at)
     SELECT id, 'email', 'gone@example.com', 'manual', 0 FROM workspace WHERE uid = ?`,
    [workspace.id],
  );
  return { held, workspace, [Symbol.asyncDispose]: () => held[Symbol.asyncDispose]() };
}

async function send({ held, workspace }: Scene, path: string, checks: Check[]): Promise<Answer> {
  const { pombo, clock } = held;
  const item = pombo.email({ from: "a@launch.test" });
  const draft: Draft = { key: workspace.key, headers: {}, items: [item], tail: "", isOverRate: false, quota: 1_000 };
  for (const { spoil } of checks) spoil(draft);
  const plan = pombo.config.plans["launch"];
  if (plan !== undefined) plan.emailsPerDay = draft.quota;
  clock.advance(5_000);
  for (let time = 0; draft.isOverRate && time < 5; time++) await workspace.call("POST", path, { rawBody: "{" });
  const body = path.endsWith("/batch") ? { emails: draft.items } : draft.items[0];
  const { key, headers } = draft;
  return workspace.call("POST", path, { key, headers, rawBody: JSON.stringify(body) + draft.tail });
}

function answerOf({ status, headers, body }: Answer): string {
  if (status === 202) return headers.has("idempotent-replayed") ? "202 replayed" : "202";
  const { code, field } = body.errors[0];
  return [status, code, field].join(" ").trim();
}

test.each(["/api/v1/emails", "/api/v1/emails/batch"])("%s: the first check that fails answers", async (path) => {
  await using scene = await startScene();
  const checks = CHECKS.filter(({ isOfBatch }) => isOfBatch !== true || path.endsWith("/batch"));
  const used = await scene.workspace.call("POST", path, {
    headers: { "Idempotency-Key": "used" },
    body: path.endsWith("/batch")
      ? { emails: [scene.held.pombo.email({ from: "a@launch.test" })] }
      : scene.held.pombo.email({ from: "a@launch.test" }),
  });
  expect(used.status).toBe(202);
  expect(answerOf(await send(scene, path, []))).toBe("202");
  for (const [index, { answer }] of checks.entries()) {
    // Alone, with its neighbour, and with everything after it.
    for (const spoiled of [checks.slice(index, index + 1), checks.slice(index, index + 2), checks.slice(index)]) {
      const got = await send(scene, path, spoiled);
      expect([answer, answerOf(got), got.text]).toEqual([answer, answer, got.text]);
      if (got.status === 202) expect(got.text).toBe(used.text);
    }
  }
});

test("a key of another domain is refused where domains are looked at", async () => {
  await using scene = await startScene();
  const { held, workspace } = scene;
  const domains = await workspace.call("GET", "/api/v1/domains");
  const body = { name: "x", domainId: domains.body.data[0].id };
  const { key } = (await workspace.call("POST", "/api/v1/auth/keys", { body })).body.data;
  const path = "/api/v1/emails";
  const restricted: Check = { answer: "403 API_KEY_RESTRICTED from", spoil: (draft) => void (draft.key = key) };
  // Used with this key: the scope of an Idempotency-Key is the key's domain.
  const headers = { "Idempotency-Key": "used" };
  await workspace.call("POST", path, { key, headers, body: held.pombo.email({ from: "a@launch.test" }) });
  const [, , json, fields, , replay, domain, suppression, quota] = CHECKS;
  for (const [answer, ...checks] of [
    ["400 INVALID_JSON", json, domain],
    ["422 VALIDATION_ERROR unknown", fields, domain],
    ["202 replayed", replay, domain],
    [restricted.answer, domain],
    [restricted.answer, domain, suppression, quota],
  ] as const) {
    const spoiled = [restricted, ...checks].filter((check) => check !== undefined);
    expect(answerOf(await send(scene, path, spoiled))).toBe(answer);
  }
});
