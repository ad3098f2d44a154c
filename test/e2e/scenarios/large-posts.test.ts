// Twenty messages of 20 MiB on their way to servers that take them slowly, and eight more posted at once: the memory has a
// bound, and the other mail of the same workspace is accepted meanwhile. What it may cost, `script/bench message` measures.
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { spawnCommand, within } from "./child.ts";
import { bugsOf, call, createWorld, emailTo, type Served, type World } from "./world.ts";

const MIB = 1024 * 1024;
/** In base64 a message of nearly 20 MiB. */
const FILE_BYTES = Math.floor(14.4 * MIB);
const GOING_OUT = 20;
const AT_ONCE = 8;
const MOST_RESIDENT = 512 * MIB;
const LIMIT_MS = 60_000;
const ALONE_MS = 1_500;
/** A workspace's small posts at a time. */
const CUSTOMERS = 4;
/** On a machine that others use too. */
const MOST_TIMES_SLOWER = 10;

setDefaultTimeout(3 * LIMIT_MS);

/** What the process holds, its executable's pages included: the most while it was watched. */
function watchResident({ pid }: Served) {
  let most = 0;
  const timer = setInterval(() => {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
    most = Math.max(most, Number(kib) * 1024);
  }, 10);
  return { most: () => most, [Symbol.dispose]: () => clearInterval(timer) };
}

/** Takes nothing of a content. */
async function startMuteMx() {
  const sockets = new Set<Socket>();
  let contents = 0;
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    socket.write("220 mute.test\r\n");
    socket.on("data", (bytes) => {
      for (const line of bytes.toString("latin1").split("\r\n").slice(0, -1)) {
        if (/^DATA$/i.test(line)) {
          contents += 1;
          socket.removeAllListeners("data").pause();
        }
        socket.write(/^EHLO/i.test(line) ? "250 mute.test\r\n" : /^DATA$/i.test(line) ? "354 Go on\r\n" : "250 Ok\r\n");
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    contents: () => contents,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Every answer's ms until `isOver`. */
async function postSmall(served: Served, world: World, until: Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  let isOver = false;
  void until.then(() => (isOver = true));
  const run = async () => {
    while (!isOver) {
      const since = performance.now();
      const body = emailTo("a@nobody.test", "Small");
      const { status } = await call(served.url, world.key, { method: "POST", path: "/api/v1/emails", body });
      expect(status).toBe(202);
      times.push(performance.now() - since);
    }
  };
  await Promise.all(Array.from({ length: CUSTOMERS }, run));
  return times.sort((a, b) => a - b);
}

const p99 = (times: number[]) => times[Math.floor(times.length * 0.99)] ?? Infinity;

test("eight messages of 20 MiB at once, and twenty that go out slowly: 512 MiB, and other mail is accepted meanwhile", async () => {
  await using mx = await startMuteMx();
  await using world = await createWorld({ mxPort: mx.port });
  for (let number = 0; number < GOING_OUT + AT_ONCE; number += 1) {
    world.dns.zone[`n${number}.test`] = { MX: [[10, `mx.n${number}.test`]] };
    world.dns.zone[`mx.n${number}.test`] = { A: ["127.0.0.1"] };
  }
  // Nobody listens there.
  world.dns.zone["nobody.test"] = { MX: [[10, "mx.nobody.test"]] };
  world.dns.zone["mx.nobody.test"] = { A: ["127.0.0.9"] };
  await using served = await world.serve();
  using resident = watchResident(served);
  const postLarge = async (first: number, count: number, how: "together" | "one-by-one"): Promise<number[]> => {
    const file = new URL("post-large.ts", import.meta.url).pathname;
    const options = [served.url, world.key, "loja.test", FILE_BYTES, first, count, how].map(String);
    await using child = spawnCommand([process.execPath, file, ...options]);
    expect(await within(LIMIT_MS, "the large posts", child.ended)).toEqual({ code: 0, signal: null });
    return JSON.parse(child.stdout()) as number[];
  };
  const alone = await postSmall(served, world, Bun.sleep(ALONE_MS));
  expect(await postLarge(0, GOING_OUT, "one-by-one")).toEqual(Array(GOING_OUT).fill(202));
  // As many as the memory for them bears.
  expect(mx.contents()).toBeGreaterThan(1);
  const posted = postLarge(GOING_OUT, AT_ONCE, "together");
  const beside = await within(LIMIT_MS, "the small ones", postSmall(served, world, posted));
  expect(await posted).toEqual(Array(AT_ONCE).fill(202));
  const [least, most] = [p99(alone), p99(beside)];
  console.log(
    `large posts: ${Math.round(resident.most() / MIB)} MiB, ${mx.contents()} going out; ` +
      `p99 of ${alone.length} small ones ${least.toFixed(1)} ms, of ${beside.length} beside ${most.toFixed(1)} ms`,
  );
  expect(resident.most()).toBeLessThan(MOST_RESIDENT);
  expect(most).toBeLessThan(MOST_TIMES_SLOWER * Math.max(least, 20));
  expect(bugsOf(served)).toEqual([]);
});
