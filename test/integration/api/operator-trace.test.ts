// A message's whole way, as the operator sees it.
import { expect, test } from "bun:test";
import { runHere } from "../../support/cli/kit.ts";
import { startReceiver } from "../../support/fakes/receiver.ts";
import type { Instance, Json } from "../../support/fakes/instance.ts";
import { expectErrors, startHeld, UNKNOWN_ID } from "../../support/api/kit.ts";
import { startWithSms, TO } from "./texts.ts";
import { allowLoopback } from "../../support/api/webhook-kit.ts";

const START = Date.parse("2026-03-01T08:00:00Z");
const TRACE = "/api/v1/operator/trace";

async function traceOf(pombo: Instance, id: string): Promise<Json> {
  const { status, body, text } = await pombo.operator.call("GET", `${TRACE}/${id}`);
  expect([status, text]).toEqual([200, expect.any(String)]);
  return body.data;
}

test("an email's trace has its attempts, the recipient's suppression, what was told and the calls, by any of their ids", async () => {
  await using receiver = await startReceiver();
  await using held = await startHeld(START, {
    configure: allowLoopback,
    mx: { rcpt: "550 5.1.1 No such user here" },
  });
  const { pombo } = held;
  const hook = { url: receiver.url, events: ["email.*"] };
  await pombo.workspace.call("POST", "/api/v1/webhooks", { body: hook });
  const sent = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
  const { id } = sent.body.data;
  await pombo.app.worker.idle();
  await pombo.app.webhooks.worker.idle();
  const trace = await traceOf(pombo, id);
  expect(trace).toMatchObject({
    kind: "email",
    id,
    workspaceId: pombo.workspace.id,
    workspaceName: "Test",
    sms: null,
    email: { status: "bounced", to: "maria@example.com", returnPath: expect.stringContaining("@") },
    suppressions: [{ address: "maria@example.com", reason: "hard_bounce" }],
  });
  expect(trace.email.timeline.map(({ type }: Json) => type)).toEqual(["email.queued", "email.bounced"]);
  expect(trace.email.timeline[1]).toMatchObject({
    host: "mx.example.com",
    address: "127.0.0.1",
    stage: "rcpt",
    code: 550,
  });
  const { dialogue } = trace.email.timeline[1];
  expect(dialogue).toMatch(/^= mx\.example\.com \[127\.0\.0\.1\]\n\d+ < 220 /);
  expect(dialogue).toMatch(/\d+ > RCPT TO:<maria@example\.com>\n.*\d+ < 550 5\.1\.1 No such user here/s);
  expect(trace.email).not.toHaveProperty("html");
  expect(trace.events.map(({ type }: Json) => type)).toEqual(["email.queued", "email.bounced"]);
  const [call] = trace.events[1].calls;
  expect(call).toMatchObject({ url: receiver.url, responseStatus: 204, attempt: 1 });
  for (const other of [trace.events[0].id, call.id, id.toUpperCase()])
    expect((await traceOf(pombo, other)).id).toBe(id);
  expectErrors(await pombo.operator.call("GET", `${TRACE}/${UNKNOWN_ID}`), 404, [{ code: "NOT_FOUND" }]);

  const found = async (find: string) => (await pombo.operator.call("GET", `${TRACE}?find=${find}`)).body.data;
  for (const find of ["maria@example.com", "MARIA@example.com", id.slice(0, 13)])
    expect(await found(find)).toEqual([expect.objectContaining({ id, kind: "email", status: "bounced" })]);
  expect(await found("other@example.com")).toEqual([]);
  // The queue lists calls by their event.
  const [event] = trace.events;
  const ofEvent = { id: event.id, kind: "event", from: "", to: id, status: "email.queued" };
  expect(await found(`${event.id.slice(0, 23)}&events=true`)).toEqual([expect.objectContaining(ofEvent)]);
  const [first, ...others] = (await found(`${id.slice(0, 8)}&events=true`)).map(({ kind }: Json) => kind);
  expect([first, new Set(others)]).toEqual(["email", new Set(["event"])]);
  expect(await found(`${event.id.slice(0, 23)}`)).toEqual([]);
  const short = await runHere(["trace", event.id.slice(0, 23), "--data-dir", pombo.directory]);
  expect(short.out).toStartWith(`Email ${id}\n`);
  expect(await found("%2B258840000000")).toEqual([]);
  expectErrors(await pombo.operator.call("GET", `${TRACE}?find=nobody`), 422, [{ field: "find" }]);

  const said = await runHere(["trace", "maria@example.com", "--data-dir", pombo.directory], { width: 120 });
  expect([said.code, said.err]).toEqual([0, ""]);
  for (const words of [
    `Email ${id}`,
    "bounced: 550 5.1.1 No such user here",
    "attempt 1",
    "mx.example.com [127.0.0.1]",
    "response 204",
  ])
    expect(said.out).toContain(words);
  expect((await runHere(["trace", "zz", "--data-dir", pombo.directory])).code).toBe(1);
  expect((await runHere(["trace", "x@example.com", "--data-dir", pombo.directory])).code).toBe(1);
  await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ to: "b@example.com" }) });
  const several = await runHere(["trace", id.slice(0, 8), "--json", "--data-dir", pombo.directory]);
  expect(JSON.parse(several.out)).toHaveLength(2);
});

test("the messages to an address are listed with the status that each has by itself", async () => {
  await using held = await startHeld(START, { mx: { rcpt: "450 4.2.1 Later" } });
  const { pombo } = held;
  const ids: string[] = [];
  for (const _ of [1, 2]) {
    const sent = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
    ids.push(sent.body.data.id);
  }
  await pombo.app.worker.idle();
  for (const id of ids) expect((await traceOf(pombo, id)).email.status).toBe("delivery_delayed");
  for (const find of ["maria@example.com", ids[0]?.slice(0, 8) ?? ""]) {
    const { body } = await pombo.operator.call("GET", `${TRACE}?find=${find}`);
    expect(body.data.map(({ status }: Json) => status)).toEqual(["delivery_delayed", "delivery_delayed"]);
  }
});

test("a text's trace has its parts", async () => {
  await using pombo = await startWithSms();
  const sent = await pombo.workspace.call("POST", "/api/v1/sms", { body: { to: TO, body: "x".repeat(200) } });
  const { id } = sent.body.data;
  const trace = await traceOf(pombo, id);
  expect(trace).toMatchObject({ kind: "sms", email: null, sms: { to: TO, status: "queued", segments: 2 } });
  expect(trace.sms).not.toHaveProperty("body");
  expect(trace.sms.parts).toEqual([
    expect.objectContaining({ part: 1, state: "ready", route: "test", credit: "reserved" }),
    expect.objectContaining({ part: 2, state: "ready" }),
  ]);
  const said = await runHere(["trace", TO, "--data-dir", pombo.directory], { width: 120 });
  expect(said.out).toContain(`SMS ${id}`);
  expect(said.out).toContain("segment 2: ready, by test, 0 attempts");
});
