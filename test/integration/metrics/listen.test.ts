import { expect, test } from "bun:test";
import { createServer, type AddressInfo } from "node:net";
import { StartError } from "../../../src/platform/errors.ts";
import type { Log } from "../../../src/platform/log.ts";
import { listenForMetrics } from "../../../src/server/metrics/listen.ts";
import { exchange, head } from "../../support/api/kit.ts";

const ANY = { address: "127.0.0.1", port: 0 };

function start(text: () => Promise<string>) {
  const bugs: unknown[] = [];
  const log: Log = { event: () => undefined, error: (where, error) => void bugs.push({ where, error }) };
  const listener = listenForMetrics({ listen: ANY, text, log });
  return { url: listener.url, bugs, [Symbol.asyncDispose]: () => listener.stop(0) };
}

test("GET /metrics answers the text in Prometheus' own type, and HEAD the same without it", async () => {
  await using on = start(() => Promise.resolve("x 1\n"));
  const answer = await fetch(`${on.url}/metrics?x=1`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(await answer.text()).toBe("x 1\n");
  const bare = await fetch(`${on.url}/metrics`, { method: "HEAD" });
  expect([bare.status, await bare.text()]).toEqual([200, ""]);
});

test("everything else is told where the metrics are", async () => {
  await using on = start(() => Promise.resolve("x 1\n"));
  for (const path of ["/", "/health", "/api/v1/emails", "/metrics/"]) {
    const answer = await fetch(on.url + path);
    expect([path, answer.status]).toEqual([path, 404]);
    expect(await answer.text()).toContain("/metrics");
  }
  const post = await fetch(`${on.url}/metrics`, { method: "POST", body: "x" });
  expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});

test("the name that a client calls it by does not matter, nor whether it is one", async () => {
  await using on = start(() => Promise.resolve("1"));
  for (const Host of ["prometheus", "a:99999", "xn--a", "[::1", "%00", ""]) {
    const answer = await exchange(on.url, head("GET /metrics", { Host }));
    expect([Host, answer.status]).toEqual([Host, 200]);
  }
  expect(on.bugs).toEqual([]);
});

test("metrics that cannot be read are a bug in the log and a 500 without its words", async () => {
  await using on = start(() => Promise.reject(new Error("secret")));
  const answer = await fetch(`${on.url}/metrics`);
  expect(answer.status).toBe(500);
  expect(await answer.text()).not.toContain("secret");
  expect(on.bugs).toMatchObject([{ where: "metrics" }]);
});

test("a port in use is told with the way out", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as AddressInfo;
  const log: Log = { event: () => undefined, error: () => undefined };
  const start_ = () =>
    listenForMetrics({ listen: { address: "127.0.0.1", port }, text: () => Promise.resolve(""), log });
  expect(start_).toThrow(
    new StartError(
      `Port ${port} on 127.0.0.1 is in use by another program. Stop that one, or choose another port ([metrics] listen; "" turns the metrics off).`,
    ),
  );
  await new Promise((resolve) => taken.close(resolve));
});
