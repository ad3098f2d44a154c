import { expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { systemClock } from "../../../../../src/platform/clock.ts";
import { emailRoutes } from "../../../../../src/modules/emails/api/routes.ts";
import { AppError } from "../../../../../src/platform/errors.ts";
import { createBodyBudget } from "../../../../../src/platform/http/body/budget.ts";
import { bodyPlugin } from "../../../../../src/platform/http/body/read.ts";
import { findDirectRoutes, createHandler } from "../../../../../src/platform/http/direct-routes.ts";
import { errorsPlugin } from "../../../../../src/platform/http/errors.ts";
import { jsonBody } from "../../../../../src/platform/http/body/validate.ts";

// Past Elysia's router a request comes to the same answer as through it.

const LIMITS = { batchBytes: 1_000, sendBytes: 1_000, otherBytes: 1_000 };
const BODIES = {
  clock: systemClock,
  getOwner: () => "one",
  isHashed: () => false,
  budget: createBodyBudget(100_000, systemClock),
};
const { body: Said } = jsonBody(Type.Object({ say: Type.String() }, { additionalProperties: false }));

/** An API like pombo's, and what its parts were told, in their order. */
function api() {
  const told: string[] = [];
  const log = { event: () => undefined, error: (where: string) => void told.push(`bug in ${where}`) };
  const room = new Elysia({ name: "room", prefix: "/room" })
    .post("", ({ body, set }) => ((set.status = 201), { data: body }), { body: Said, parse: "json" })
    .post(
      "/text",
      ({ body, set }) => {
        set.status = 202;
        set.headers["content-type"] = "application/json";
        return JSON.stringify(body);
      },
      { body: Said, parse: "json" },
    )
    .post(
      "/response",
      () => new Response("mine", { status: 203, headers: { "content-type": "text/plain", "x-made": "there" } }),
      {
        body: Said,
        parse: "json",
      },
    )
    .post(
      "/refused",
      async () => {
        throw new AppError("PLAN_LIMIT_REACHED", "No more", { field: "say", hint: "Ask." });
      },
      { body: Said, parse: "json" },
    )
    .post(
      "/bug",
      () => {
        throw new Error("inside");
      },
      { body: Said, parse: "json" },
    )
    .post("/:id", ({ params }) => ({ id: params.id }), { body: Said, parse: "json" })
    .post("/guarded", () => ({ data: null }), { body: Said, parse: "json", beforeHandle: () => "guarded" })
    .post("/without", () => ({ data: null }));
  const app = new Elysia({ aot: false, normalize: false })
    .onError(({ set }) => void (told.push("error"), (set.headers["x-error"] = "seen")))
    .use(errorsPlugin(log, () => []))
    .onRequest(({ request, set }) => {
      told.push("request");
      set.headers["x-request-id"] = "one";
      if (request.headers.has("x-refuse")) throw new AppError("INVALID_API_KEY", "No");
    })
    .use(bodyPlugin(LIMITS, { ...BODIES, arrived: () => void told.push("arrived") }))
    .use(room);
  return { app, told };
}

interface Sent {
  path: string;
  body?: string | ReadableStream<Uint8Array>;
  headers?: Record<string, string>;
  method?: string;
}

const JSON_TYPE = { "content-type": "application/json" };
const GOOD = '{"say":"olá"}';

/** Requests made anew each time: a stream can be read once. */
const REQUESTS: (() => Sent)[] = [
  ...["/room", "/room/", "/room/text", "/room/response", "/room/refused", "/room/bug", "/room/7", "/room/guarded"].map(
    (path) => () => ({ path, body: GOOD, headers: JSON_TYPE }),
  ),
  () => ({ path: "/room?page=2", body: GOOD, headers: JSON_TYPE }),
  () => ({ path: "/room/without", body: GOOD, headers: JSON_TYPE }),
  () => ({ path: "/nowhere", body: GOOD, headers: JSON_TYPE }),
  () => ({ path: "/room", method: "PUT", body: GOOD, headers: JSON_TYPE }),
  () => ({ path: "/room", body: GOOD, headers: { "content-type": "text/plain" } }),
  () => ({ path: "/room", body: GOOD, headers: { "content-type": "application/problem+json; charset=utf-8" } }),
  () => ({ path: "/room", headers: JSON_TYPE }),
  () => ({ path: "/room" }),
  () => ({ path: "/room", body: "", headers: JSON_TYPE }),
  () => ({ path: "/room", body: "{", headers: JSON_TYPE }),
  () => ({ path: "/room", body: "[]", headers: JSON_TYPE }),
  () => ({ path: "/room", body: '{"say":1,"more":2}', headers: JSON_TYPE }),
  () => ({ path: "/room", body: `{"say":"${"x".repeat(2_000)}"}`, headers: JSON_TYPE }),
  () => ({ path: "/room", body: GOOD, headers: { ...JSON_TYPE, "x-refuse": "yes" } }),
  () => ({ path: "/room", body: new Blob([GOOD]).stream(), headers: JSON_TYPE }),
];

/** What a client sees of the answers of `handle` over a real connection, and what the API's parts were told. */
async function seen(request: Sent, handle: (request: Request) => Response | Promise<Response>, told: string[]) {
  using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: handle });
  const { path, method = "POST", body, headers = {} } = request;
  const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, { method, headers, body: body ?? null });
  const fields = Object.fromEntries([...answer.headers].filter(([name]) => name !== "date"));
  return { status: answer.status, fields, text: await answer.text(), told };
}

test.each(REQUESTS.map((make, index) => [index, make] as const))(
  "request %d is answered as Elysia answers it",
  async (_, make) => {
    const [through, past] = [api(), api()];
    const expected = await seen(make(), (request) => through.app.handle(request), through.told);
    expect(await seen(make(), createHandler(past.app), past.told)).toEqual(expected);
  },
);

test("only what takes an object at a fixed path and is guarded by nothing else goes past the router", () => {
  expect([...findDirectRoutes(api().app).keys()]).toEqual([
    "/room",
    "/room/text",
    "/room/response",
    "/room/refused",
    "/room/bug",
  ]);
});

test("sending does", () => {
  const room = emailRoutes({} as Parameters<typeof emailRoutes>[0]);
  const app = new Elysia({ aot: false }).use(bodyPlugin(LIMITS, BODIES)).use(room);
  expect([...findDirectRoutes(app).keys()]).toEqual(["/api/v1/emails", "/api/v1/emails/batch"]);
});
