import { expect, test } from "bun:test";
import { join } from "node:path";
import { bind } from "../../../src/platform/http/listen.ts";

// In a process of its own: what is thrown there is told to the process as well, which would end this test.
const SCRIPT = `
  import { bind } from "${join(import.meta.dir, "../../../src/platform/http/listen.ts")}";
  const place = { address: "127.0.0.1", port: 0, key: "", portHint: "" };
  const listener = bind(place, () => { throw new Error("SELECT hash FROM api_key"); });
  const answer = await fetch(listener.url);
  console.log(JSON.stringify([answer.status, await answer.text()]));
  await listener.stop(0);
  process.exit(0);
`;

test("what is thrown beyond the API's own errors tells nothing of the inside", async () => {
  const child = Bun.spawn([process.execPath, "-e", SCRIPT], { stdout: "pipe", stderr: "ignore" });
  const [status, text] = JSON.parse(await new Response(child.stdout).text()) as [number, string];
  expect(status).toBe(500);
  expect(text).not.toMatch(/SELECT|api_key|\.ts\b|throw/);
});

test("a port is nobody else's", async () => {
  const place = { address: "127.0.0.1", key: "[http] listen", portHint: "choose another" };
  const answer = () => Promise.resolve(new Response("ok"));
  const first = bind({ ...place, port: 0 }, answer);
  const port = Number(new URL(first.url).port);
  expect(() => bind({ ...place, port }, answer)).toThrow(`Port ${port} on 127.0.0.1 is in use by another program.`);
  await first.stop(0);
});
