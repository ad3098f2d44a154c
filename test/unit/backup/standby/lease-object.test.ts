// The lease's object over HTTP, against services that keep conditions, and one that does not.
import { afterAll, describe, expect, test } from "bun:test";
import { defaultConfig } from "../../../../src/config/config.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import type { LeaseRecord } from "../../../../src/backup/standby/lease.ts";
import {
  openLeaseBucket,
  openLeaseObject,
  requireConditionalWrites,
} from "../../../../src/backup/standby/lease-object.ts";

const LIMIT_MS = 1_000;

/** A bucket in memory. `conditions` false: it ignores them, as some services do. */
function startService({ conditions = true } = {}) {
  const objects = new Map<string, { etag: string; text: string }>();
  const at = { versions: 0, status: 0, date: "", keys: objects };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const found = objects.get(pathname);
      const headers: Record<string, string> = at.date === "" ? {} : { date: at.date };
      if (at.status !== 0) return new Response("<Error><Code>SlowDown</Code></Error>", { status: at.status, headers });
      if (request.method === "DELETE") return new Response(null, { status: objects.delete(pathname) ? 204 : 404 });
      if (request.method === "GET")
        return found === undefined
          ? new Response(null, { status: 404 })
          : new Response(found.text, { headers: { etag: found.etag } });
      const [isNew, over] = [request.headers.get("if-none-match") === "*", request.headers.get("if-match")];
      if (conditions && ((isNew && found !== undefined) || (over !== null && over !== found?.etag)))
        return new Response(null, { status: found === undefined ? 404 : 412 });
      const etag = `"${(at.versions += 1)}"`;
      objects.set(pathname, { etag, text: await request.text() });
      return new Response(null, { headers: { etag } });
    },
  });
  const config = defaultConfig({ hostname: "mail.pombo.test", dataDir: "/x" });
  const replication = {
    ...config.replication,
    url: "s3://copies/pombo",
    endpoint: server.url.origin,
    region: "eu-1",
  };
  const environment = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" };
  return { at, server, open: () => openLeaseBucket({ replication, environment }, LIMIT_MS, systemClock), replication };
}

const services: Bun.Server<undefined>[] = [];
const start = (options?: { conditions?: boolean }) => {
  const service = startService(options);
  services.push(service.server);
  return service;
};
afterAll(() => Promise.all(services.map((server) => server.stop(true))));

const record = (nonce: string): LeaseRecord => ({
  ...{ term: 1, node: "n", host: "h", keyCheck: "k", lineage: "", isReleased: false },
  nonce,
});

describe("the object", () => {
  test("is written over the version that was read, and over no other", async () => {
    const object = openLeaseObject(await start().open());
    expect(await object.read()).toBe(null);
    const first = await object.write(record("a"), null);
    expect(first.kind).toBe("written");
    expect(await object.write(record("b"), null)).toEqual({ kind: "conflict" });
    const found = await object.read();
    expect(found?.record).toEqual(record("a"));
    expect((await object.write(record("c"), found?.etag ?? "")).kind).toBe("written");
    expect(await object.write(record("d"), found?.etag ?? "")).toEqual({ kind: "conflict" });
    expect((await object.read())?.record.nonce).toBe("c");
  });

  test("a service that fails leaves unknown what it has done", async () => {
    const { at, open } = start();
    const object = openLeaseObject(await open());
    at.status = 503;
    await expect(object.read()).rejects.toThrow("GET was answered 503 SlowDown");
    await expect(object.write(record("a"), null)).rejects.toThrow("PUT was answered 503 SlowDown");
  });

  test("where it fails and its clock is another, the failure says so", async () => {
    const { at, open } = start();
    const object = openLeaseObject(await open());
    at.status = 403;
    for (const [minutes, words] of [
      [60, "the clock of this machine is 60 minutes behind the service's: set it right first"],
      [-20, "the clock of this machine is 20 minutes ahead of the service's: set it right first"],
    ] as const) {
      at.date = new Date(Date.now() + minutes * 60_000).toUTCString();
      await expect(object.read()).rejects.toThrow(words);
    }
    at.date = new Date().toUTCString();
    await expect(object.read()).rejects.toThrow(/SlowDown$/);
  });
});

describe("the probe at a start", () => {
  test("passes where conditions hold, and leaves nothing", async () => {
    const { at, open } = start();
    await requireConditionalWrites(await open(), "n", "s3://copies/pombo");
    expect(at.keys.size).toBe(0);
  });

  test("refuses a service that ignores them, with what to do", async () => {
    const bucket = await start({ conditions: false }).open();
    await expect(requireConditionalWrites(bucket, "n", "s3://copies/pombo")).rejects.toThrow(
      /does not honour conditional writes.*\[standby\] lease = "0s"/,
    );
  });

  test("refuses one that cannot be reached, with the reason", async () => {
    const { at, open } = start();
    const bucket = await open();
    at.status = 403;
    await expect(requireConditionalWrites(bucket, "n", "s3://copies/pombo")).rejects.toThrow(
      /PUT was answered 403.*the key may read, write and delete there/,
    );
  });

  test("without a key of its own there is no lease", async () => {
    const { replication } = start();
    await expect(openLeaseBucket({ replication, environment: {} }, LIMIT_MS, systemClock)).rejects.toThrow(
      /access_key_id/,
    );
  });
});
