import { connect, createServer, type Socket } from "node:net";
import { describe, expect, test } from "bun:test";
import { systemClock } from "../../../src/platform/clock.ts";
import { fakeClock } from "../../support/fakes/clock.ts";
import { type Instance, startInstance } from "../../support/fakes/instance.ts";
import { signUpOperator } from "../../support/people/browser.ts";
import { browserHeaders, type LiveStream, openStream, type StreamEvent } from "../../support/people/live-stream.ts";
import { addPerson } from "../../support/people/member.ts";

const LIVE = "/api/v1/workspace/live";

/** A browser's stream; `origin`: through a proxy. */
function listen(
  pombo: Instance,
  cookies: Map<string, string>,
  { ids = [] as string[], origin = pombo.app.url } = {},
): Promise<LiveStream> {
  const query = ids.length === 0 ? "" : `?ids=${ids.join(",")}`;
  return openStream(`${origin}${LIVE}${query}`, browserHeaders(pombo, cookies));
}

const isAny = () => true;
const isOf = (type: string) => (event: StreamEvent) => event.type === type;

describe("the live stream of a workspace", () => {
  test("tells of an email until it is delivered, of a key, a domain and a suppression, and writes nothing", async () => {
    await using pombo = await startInstance();
    const { cookies } = await signUpOperator(pombo);
    const sent = await pombo.workspace.call("POST", "/api/v1/emails", { body: pombo.email() });
    const { id } = sent.body.data;
    const stream = await listen(pombo, cookies, { ids: [id] });
    expect(stream.response.headers.get("content-type")).toBe("text/event-stream");
    expect(stream.response.headers.get("cache-control")).toBe("no-store");
    expect(await stream.next((event) => event.data.status === "delivered")).toEqual({
      type: "email",
      data: { id, status: "delivered" },
    });
    await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "shop" } });
    expect(await stream.next(({ data }) => data.keys === 1)).not.toBeNull();
    await pombo.addDomain(pombo.workspace, "outra.test");
    expect(await stream.next(({ data }) => data.domains > 0)).not.toBeNull();
    await pombo.workspace.call("POST", "/api/v1/suppressions", { body: { address: "rui@example.com" } });
    expect(await stream.next(({ data }) => data.suppressions === 1)).not.toBeNull();
    await pombo.workspace.call("DELETE", "/api/v1/suppressions/rui%40example.com");
    expect(await stream.next(({ data }) => data.suppressions === 1)).not.toBeNull();
    const counted = pombo.app.db.sqlite.query("SELECT COUNT(*) AS count FROM event WHERE type LIKE 'email.%'").get();
    expect(counted).toEqual({ count: 0 });
    await stream.cancel();
  });

  test("is not for keys, nor for those who are not signed in", async () => {
    await using pombo = await startInstance();
    const byKey = await pombo.workspace.call("GET", LIVE);
    expect([byKey.status, byKey.body.errors[0].code]).toEqual([403, "API_KEY_RESTRICTED"]);
    const stranger = await listen(pombo, new Map([["pombo-session", "x".repeat(43)]]));
    expect(stranger.response.status).toBe(401);
    const { cookies } = await signUpOperator(pombo);
    const wrong = await listen(pombo, cookies, { ids: ["x"] });
    expect(wrong.response.status).toBe(422);
  });

  test("tells nothing of another workspace's emails, though their ids are asked for", async () => {
    await using pombo = await startInstance();
    const { cookies } = await signUpOperator(pombo);
    const other = await pombo.newWorkspace();
    await pombo.addDomain(other, "outra.test");
    const body = pombo.email({ from: "a@outra.test" });
    const sent = await other.call("POST", "/api/v1/emails", { body });
    const stream = await listen(pombo, cookies, { ids: [sent.body.data.id] });
    await pombo.workspace.call("POST", "/api/v1/auth/keys", { body: { name: "shop" } });
    const next = await stream.next(isAny);
    expect([next?.type, next?.data.keys, next?.data.emails]).toEqual(["changed", 1, undefined]);
    await stream.cancel();
  });
});

test("a tab that is only open does not keep its person signed in", async () => {
  const clock = fakeClock();
  await using pombo = await startInstance({ clock, steady: systemClock });
  const { cookies } = await signUpOperator(pombo);
  const stream = await listen(pombo, cookies);
  const readSeen = () => pombo.app.db.sqlite.query("SELECT last_seen_at FROM session").get();
  const seen = readSeen();
  clock.advance(30 * 60_000);
  await pombo.app.committer.flush();
  expect(readSeen()).toEqual(seen);
  clock.advance(12 * 60 * 60_000);
  expect(await stream.next(isOf("ended"))).not.toBeNull();
});

describe("the end of a live stream", () => {
  test("comes with the end of its session, and says so", async () => {
    await using pombo = await startInstance();
    const browser = await signUpOperator(pombo);
    const stream = await listen(pombo, new Map(browser.cookies));
    await browser.call("DELETE", "/api/v1/auth/session");
    expect(await stream.next(isOf("ended"))).toEqual({ type: "ended", data: {} });
    expect(await stream.next(isAny)).toBeNull();
  });

  test("comes when its workspace is deleted under it, where the next request finds nothing", async () => {
    await using pombo = await startInstance();
    const viewer = addPerson(pombo, { role: "viewer" });
    const { cookies } = await signUpOperator(pombo);
    const streams = [await listen(pombo, viewer.cookies), await listen(pombo, cookies)];
    for (const { response } of streams) expect(response.status).toBe(200);
    await pombo.operator.call("DELETE", `/api/v1/operator/workspaces/${pombo.workspace.id}`);
    for (const stream of streams) {
      expect(await stream.next(isOf("ended"))).toEqual({ type: "ended", data: {} });
      expect(await stream.next(isAny)).toBeNull();
    }
    const gone = await viewer.act("GET", "/api/v1/workspace");
    expect([gone.status, gone.body.errors[0].code]).toEqual([404, "NOT_FOUND"]);
    expect((await listen(pombo, cookies)).response.status).toBe(404);
    // They are signed in as before.
    expect((await viewer.call("GET", "/api/v1/auth/me")).body.data.workspaces).toEqual([]);
  });

  test("comes first at a stop, which does not wait for it", async () => {
    await using pombo = await startInstance();
    const { cookies } = await signUpOperator(pombo);
    const stream = await listen(pombo, cookies);
    const startedAt = performance.now();
    await pombo.restart();
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    expect(await stream.next(isAny)).toBeNull();
    const again = await listen(pombo, cookies);
    expect(again.response.status).toBe(200);
    await again.cancel();
  });

  test("that a proxy makes gives the place back", async () => {
    await using pombo = await startInstance();
    const { cookies } = await signUpOperator(pombo);
    const sockets = new Set<Socket>();
    const proxy = createServer((from) => {
      const to = connect(Number(new URL(pombo.app.url).port), "127.0.0.1");
      for (const socket of [from, to]) sockets.add(socket.on("error", () => undefined));
      from.pipe(to).pipe(from);
    });
    await new Promise<void>((listening) => proxy.listen(0, "127.0.0.1", listening));
    const origin = `http://127.0.0.1:${(proxy.address() as { port: number }).port}`;
    const streams = [];
    for (let index = 0; index < 4; index += 1) streams.push(await listen(pombo, cookies, { origin }));
    const fifth = await listen(pombo, cookies);
    expect([fifth.response.status, fifth.response.headers.get("retry-after")]).toEqual([429, "30"]);
    for (const socket of sockets) socket.destroy();
    for (const stream of streams) expect(await stream.next(isAny)).toBeNull();
    // The server sees the cut when its socket does.
    let again = await listen(pombo, cookies);
    while (again.response.status === 429) again = await listen(pombo, cookies);
    expect(again.response.status).toBe(200);
    await again.cancel();
    proxy.close();
  });
});
