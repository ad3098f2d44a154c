// Clients that begin a request and never end it.
import { expect, setDefaultTimeout, test } from "bun:test";
import { connect } from "node:net";
import { startInstance } from "../../support/fakes/instance.ts";
import { within } from "./child.ts";

setDefaultTimeout(30_000);

const GRACE_MS = 500;
/** Far above what it takes, far below the minute after which a silent connection is closed anyhow. */
const LIMIT_MS = 10_000;
const DRIP_EVERY_MS = 50;

test("a client in the middle of its body does not hold up a stop, and nothing of its request is kept", async () => {
  await using pombo = await startInstance();
  const socket = connect(Number(new URL(pombo.app.url).port), "127.0.0.1");
  const closed = new Promise<void>((resolve) => socket.on("error", () => undefined).once("close", resolve));
  socket.resume();
  const head = [
    "POST /api/v1/emails HTTP/1.1",
    "Host: localhost",
    `X-API-Key: ${pombo.workspace.key}`,
    "Content-Type: application/json",
    "Content-Length: 100000",
    // Its answer tells that the head was read.
    "Expect: 100-continue",
  ].join("\r\n");
  const goesOn = new Promise<string>((resolve) => socket.once("data", (chunk) => resolve(chunk.toString())));
  socket.write(`${head}\r\n\r\n`);
  expect(await within(LIMIT_MS, "the go-ahead", goesOn)).toStartWith("HTTP/1.1 100");
  socket.write('{"a');
  const drip = setInterval(() => socket.write("a"), DRIP_EVERY_MS);
  try {
    const startedAt = performance.now();
    await within(LIMIT_MS, "the stop", pombo.app.stop(GRACE_MS));
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(GRACE_MS - 5);
    await within(LIMIT_MS, "the end of the connection", closed);
  } finally {
    clearInterval(drip);
    socket.destroy();
  }
  await pombo.restart();
  expect((await pombo.workspace.call("GET", "/api/v1/emails")).body.data).toEqual([]);
  expect(pombo.bugs).toEqual([]);
});
