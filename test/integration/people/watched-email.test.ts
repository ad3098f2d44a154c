// Somebody watches one email: its attempts as they happen, and nothing is written for it.
import { describe, expect, test } from "bun:test";
import { holdStep } from "../../support/fakes/held-step.ts";
import { type Instance, type Json, startInstance } from "../../support/fakes/instance.ts";
import { openStream, browserHeaders, type LiveStream, type StreamEvent } from "../../support/people/live-stream.ts";
import { addPerson } from "../../support/people/member.ts";
import { expectErrors, startHeld, UNKNOWN_ID } from "../../support/api/kit.ts";

const isAny = () => true;
const SECRET = "the body is nobody's business";

async function send(pombo: Instance): Promise<string> {
  const { body } = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email({ text: SECRET }) });
  return body.data.id;
}

const watch = (pombo: Instance, id: string, headers = { "x-api-key": pombo.workspace.key } as Record<string, string>) =>
  openStream(`${pombo.app.url}/api/v1/emails/${id}/live`, headers);

/** All lines up to the one that `isLast`. */
async function readLines(stream: LiveStream, isLast: (text: string) => boolean): Promise<Json[]> {
  const lines: Json[] = [];
  for (;;) {
    const event = await stream.next(({ type }) => type === "dialogue" || type === "result");
    if (event?.type !== "dialogue") throw new Error(`it ended before: ${JSON.stringify(lines)}`);
    lines.push(...event.data.lines);
    if (event.data.lines.some(({ text }: Json) => isLast(text))) return lines;
  }
}

const isOf = (type: string) => (event: StreamEvent) => event.type === type;

describe("whoever watches an email", () => {
  test("hears what was said so far, each line as it is said, the result, and the status with what comes next", async () => {
    const rcpt = holdStep("250 2.1.5 fine");
    const dot = holdStep("451 4.3.0 Try later");
    await using pombo = await startInstance({ mx: { rcpt: rcpt.step, dot: dot.step, capabilities: ["SIZE"] } });
    const id = await send(pombo);
    await rcpt.reached;
    const stream = await watch(pombo, id);
    expect(await stream.next(isAny)).toMatchObject({ type: "email", data: { id, status: "sending" } });
    expect(await stream.next(isAny)).toEqual({
      type: "attempt",
      data: { attempt: 1, startedAt: expect.stringMatching(/Z$/) },
    });
    const soFar = await readLines(stream, (text) => text.startsWith("RCPT TO:"));
    expect(soFar.map(({ by, text }) => `${by} ${text}`)).toEqual([
      "note DNS: MX of example.com?",
      "note DNS: mx.example.com [127.0.0.1]",
      "note composed and signed",
      "connect mx.example.com [127.0.0.1]",
      expect.stringMatching(/^server 220 /),
      expect.stringMatching(/^client EHLO mail\.pombo\.test$/),
      expect.stringMatching(/^server 250-/),
      expect.stringMatching(/^server 250 SIZE/),
      expect.stringMatching(/^client MAIL FROM:<.+> SIZE=\d+$/),
      expect.stringMatching(/^server 250 /),
      "client RCPT TO:<maria@example.com>",
    ]);
    const times = soFar.map(({ ms }) => ms);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times[0]).toBeGreaterThanOrEqual(0);
    rcpt.go();
    const later = await readLines(stream, (text) => text.startsWith("message of "));
    expect(later[0]).toMatchObject({ by: "server", text: "250 2.1.5 fine" });
    expect(later.at(-1).text).toMatch(/^message of \d+ bytes, and the final dot$/);
    dot.go();
    expect((await readLines(stream, isAny)).map(({ text }) => text)).toEqual(["451 4.3.0 Try later"]);
    expect(await stream.next(isAny)).toEqual({
      type: "result",
      data: { attempt: 1, ms: expect.any(Number), reason: expect.stringContaining("451 4.3.0 Try later") },
    });
    expect(await stream.next(isOf("email"))).toMatchObject({
      data: { status: "delivery_delayed", nextAttemptAt: expect.stringMatching(/Z$/), failedReason: null },
    });
    await stream.cancel();
    const { body } = await pombo.workspace.call("GET", `/api/v1/emails/${id}/events?include=dialogue`);
    const kept = body.data.find(({ attempt }: Json) => attempt === 1).dialogue;
    expect(kept.map(({ by, text }: Json) => `${by} ${text}`)).toEqual([
      ...[...soFar.slice(3), ...later].map(({ by, text }) => `${by} ${text}`),
      "server 451 4.3.0 Try later",
      "client QUIT",
    ]);
    expect(JSON.stringify([soFar, later, kept])).not.toContain(SECRET.slice(0, 12));
  });

  test("hears of TLS with the certificate's verdict, and of the next attempt too", async () => {
    await using on = await startHeld(Date.parse("2026-03-01T08:00:00Z"), {
      mx: { tls: "good", rcpt: "450 4.2.0 Greylisted" },
    });
    const { pombo } = on;
    const id = await send(pombo);
    await pombo.app.worker.idle();
    const stream = await watch(pombo, id);
    pombo.mx.script.rcpt = "250 fine";
    on.clock.advance(10 * 60_000);
    expect(await stream.next(isOf("attempt"))).toMatchObject({ data: { attempt: 2 } });
    const lines = await readLines(stream, (text) => text.startsWith("message of "));
    expect(lines.find(({ text }) => text.startsWith("TLSv1"))).toMatchObject({
      by: "note",
      text: expect.stringMatching(/^TLSv1\.\d TLS_\w+, certificate not valid: \w+$/),
    });
    expect(await stream.next(isOf("result"))).toMatchObject({ data: { attempt: 2, reason: null } });
    await stream.cancel();
  });

  test("makes nothing be written: no event, no row", async () => {
    const rcpt = holdStep("250 fine");
    const counts: Json[] = [];
    for (const isWatched of [false, true]) {
      await using pombo = await startInstance({ mx: { rcpt: rcpt.step } });
      const { sqlite } = pombo.app.db;
      // The log of requests writes a row for each of a program's, once a second.
      const rows = "total_changes() - (SELECT COUNT(*) FROM api_request)";
      const before = sqlite.query(`SELECT ${rows} AS rows`).get() as Json;
      const viewer = addPerson(pombo, { role: "viewer" });
      const id = await send(pombo);
      const streams = isWatched
        ? [
            await watch(pombo, id),
            await watch(pombo, id, browserHeaders(pombo, viewer.cookies)),
            await openStream(`${pombo.app.url}/api/v1/workspace/live?ids=${id}`, browserHeaders(pombo, viewer.cookies)),
          ]
        : [];
      for (const { response } of streams) expect(response.status).toBe(200);
      rcpt.go();
      await pombo.app.worker.idle();
      for (const stream of streams) expect(await stream.next(({ data }) => data.status === "delivered")).not.toBeNull();
      const after = sqlite.query(`SELECT ${rows} AS rows, (SELECT COUNT(*) FROM event) AS events`).get() as Json;
      counts.push([after.rows - before.rows, after.events]);
      for (const stream of streams) await stream.cancel();
    }
    expect(counts[1]).toEqual(counts[0]);
  });
});

describe("the end of a watch", () => {
  test("comes when the role changes, or when the key is deleted, and says so", async () => {
    await using pombo = await startInstance({ mx: { rcpt: "450 later" } });
    const id = await send(pombo);
    const owner = addPerson(pombo, { role: "owner" });
    const member = addPerson(pombo, { role: "member" });
    const made = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "watcher" } });
    const { id: keyId, key } = made.body.data;
    const byPerson = await watch(pombo, id, browserHeaders(pombo, member.cookies));
    const byKey = await watch(pombo, id, { "x-api-key": key });
    await owner.act("PATCH", `/api/v1/workspace/members/${member.id}`, { body: { role: "viewer" } });
    await pombo.workspace.call("DELETE", `/api/v1/auth/keys/${keyId}`);
    for (const stream of [byPerson, byKey]) {
      expect(await stream.next(isOf("ended"))).toEqual({ type: "ended", data: {} });
      expect(await stream.next(isAny)).toBeNull();
    }
  });

  test("comes with the server's", async () => {
    await using pombo = await startInstance({ mx: { rcpt: "450 later" } });
    const stream = await watch(pombo, await send(pombo));
    await pombo.restart();
    expect(await stream.next(isOf("never"))).toBeNull();
  });
});

test("a person has four streams in all, whatever they tell of; a key has its own four", async () => {
  await using pombo = await startInstance({ mx: { rcpt: "450 later" } });
  const id = await send(pombo);
  const headers = browserHeaders(pombo, addPerson(pombo, { role: "viewer" }).cookies);
  const open = [await openStream(`${pombo.app.url}/api/v1/workspace/live`, headers)];
  for (let count = 0; count < 3; count += 1) open.push(await watch(pombo, id, headers));
  const fifth = await watch(pombo, id, headers);
  expect([fifth.response.status, fifth.response.headers.get("retry-after")]).toEqual([429, "30"]);
  for (let count = 0; count < 4; count += 1) open.push(await watch(pombo, id));
  expect((await watch(pombo, id)).response.status).toBe(429);
  for (const stream of open) expect(stream.response.status).toBe(200);
  for (const stream of open) await stream.cancel();
});

test("who may not read the email may not watch it", async () => {
  await using pombo = await startInstance();
  const id = await send(pombo);
  const other = await pombo.newWorkspace();
  expectErrors(await other.call("GET", `/api/v1/emails/${id}/live`), 404, [{ code: "NOT_FOUND" }]);
  expectErrors(await pombo.workspace.call("GET", `/api/v1/emails/${UNKNOWN_ID}/live`), 404, [{ code: "NOT_FOUND" }]);
  const domainId = await pombo.addDomain(pombo.workspace, "outra.test");
  const made = await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "one domain", domainId } });
  const elsewhere = { key: made.body.data.key };
  expectErrors(await pombo.workspace.call("GET", `/api/v1/emails/${id}/live`, elsewhere), 404, [{ code: "NOT_FOUND" }]);
});

describe("what is kept of a dialogue", () => {
  test("of an email that a person sent, though it was delivered, and also after a restart; of a key's, none", async () => {
    await using on = await startHeld(Date.parse("2026-03-01T08:00:00Z"), { mx: { rcpt: "450 4.2.0 Greylisted" } });
    const { pombo } = on;
    const member = addPerson(pombo, { role: "member", now: on.clock.now() });
    const viewer = addPerson(pombo, { role: "viewer", now: on.clock.now() });
    const sent = await member.act("POST", "/api/v1/emails", { body: pombo.email({ text: SECRET }) });
    expect(sent.status).toBe(202);
    const byKey = await send(pombo);
    await pombo.app.worker.idle();
    pombo.mx.script.rcpt = "250 2.1.5 fine";
    await on.restart();
    on.clock.advance(10 * 60_000);
    await pombo.app.worker.idle();
    const read = async (id: string, query = "?include=dialogue") =>
      (await viewer.act("GET", `/api/v1/emails/${id}/events${query}`)).body.data.slice(1);
    const dialogues = async (id: string) => (await read(id)).map(({ dialogue }: Json) => JSON.stringify(dialogue));
    expect(await dialogues(sent.body.data.id)).toEqual([
      expect.stringContaining("450 4.2.0 Greylisted"),
      expect.stringContaining("RCPT TO:<maria@example.com>"),
    ]);
    expect((await dialogues(sent.body.data.id)).join()).not.toContain(SECRET.slice(0, 12));
    expect(await dialogues(byKey)).toEqual([expect.stringContaining("450 4.2.0 Greylisted"), "null"]);
    expect((await read(byKey, ""))[0]).not.toHaveProperty("dialogue");
    const wrong = await viewer.act("GET", `/api/v1/emails/${byKey}/events?include=x`);
    expectErrors(wrong, 422, [{ field: "include" }]);
  });

  test("is gone with its recipient", async () => {
    await using pombo = await startInstance({ mx: { rcpt: "550 5.1.1 No such user" } });
    const id = await send(pombo);
    await pombo.app.worker.idle();
    await pombo.workspace.call("DELETE", "/api/v1/recipients/maria%40example.com");
    const { text } = await pombo.workspace.call("GET", `/api/v1/emails/${id}/events?include=dialogue`);
    expect(text).not.toContain("maria@example.com");
    expect(text).toContain('"dialogue":null');
  });
});
