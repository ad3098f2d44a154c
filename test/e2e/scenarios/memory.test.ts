// The memory that requests and deliveries may take, of a process that believes it has 256 MiB: it reads so in a
// tree of cgroups that only it sees. Whatever is held open or sent at once, it stays below that.
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { canUnshare } from "./namespace.ts";
import { bugsOf, call, createWorld, emailTo, furnish, type Served, type World } from "./world.ts";

const MB = 1_000_000;
const MIB = 1024 * 1024;
const MEMORY = 256 * MIB;
const CGROUPS = "/sys/fs/cgroup";
/** Of both versions. */
const LIMITS = [`${CGROUPS}/memory.max`, `${CGROUPS}/memory/memory.limit_in_bytes`];
const LIMIT_MS = 30_000;

setDefaultTimeout(90_000);

const namespace = canUnshare();
if (namespace === null) {
  console.warn(
    "SKIPPED: the memory of a small machine needs a mount namespace (root, or unprivileged user namespaces), which this machine does not permit.",
  );
}

function servePoor(world: World): Promise<Served> {
  const write = LIMITS.map((file) => `echo ${MEMORY} >${file}`).join(" && ");
  const mount = `mount -t tmpfs tmpfs ${CGROUPS} && mkdir ${CGROUPS}/memory && ${write} && exec "$@"`;
  return world.serve({
    through: [...(namespace ?? []), "sh", "-c", mount, "sh"],
    // JavaScriptCore takes this from the machine or the cgroup too, by other ways, and collects the earlier the less it is.
    env: { BUN_JSC_forceRAMSize: String(MEMORY) },
  });
}

/** The most memory of its own that a process has had while it was watched: pages of its executable can go at any time. */
function watchMemory({ pid }: Served) {
  let most = 0;
  const look = () => {
    const kib = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
    most = Math.max(most, Number(kib) * 1024);
  };
  const timer = setInterval(look, 10);
  return {
    most() {
      look();
      return most;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** What no compression makes smaller. */
function noise(length: number): string {
  const bytes = new Uint8Array(Math.ceil((length * 3) / 4));
  for (let at = 0; at < bytes.length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return Buffer.from(bytes).toString("base64").slice(0, length);
}

test.skipIf(namespace === null)(
  "bodies that one key of the smallest plan holds open take no memory to speak of",
  async () => {
    await using mx = await startCountingMx();
    await using world = await createWorld({ mxPort: mx.port });
    await using served = await servePoor(world);
    const created = await call(served.url, world.operatorKey, {
      method: "POST",
      path: "/api/v1/workspaces",
      body: { name: "Attacker", plan: "launch" },
    });
    const key: string = created.body.data.apiKey.key;
    const [port, length] = [Number(new URL(served.url).port), MIB - 1_000];
    using memory = watchMemory(served);
    const held: Socket[] = [];
    for (let number = 0; number < 600; number += 1) {
      const socket = connect(port, "127.0.0.1").on("error", () => undefined);
      socket.write(
        `POST /api/v1/emails HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`,
      );
      socket.write(Buffer.alloc(length - 1, 32));
      held.push(socket);
    }
    // Meanwhile the other workspace sends.
    for (let number = 0; number < 10; number += 1) {
      const body = emailTo("a@one.test", `${number}`);
      const sent = await within(
        LIMIT_MS,
        "a send",
        call(served.url, world.key, { method: "POST", path: "/api/v1/emails", body }),
      );
      expect(sent.status).toBe(202);
    }
    await within(
      LIMIT_MS,
      "the deliveries",
      mx.until(() => mx.distinct >= 10),
    );
    expect(memory.most() / MB).toBeLessThan(160);
    for (const socket of held) socket.destroy();
    expect(bugsOf(served)).toEqual([]);
  },
);

test.skipIf(namespace === null)(
  "the largest batches of three workspaces at once are accepted and delivered within the memory",
  async () => {
    await using mx = await startCountingMx();
    await using world = await createWorld({ mxPort: mx.port });
    await using served = await servePoor(world);
    const senders = [{ key: world.key, domain: "loja.test" }];
    for (const domain of ["banco.test", "clube.test"])
      senders.push({ key: await furnish(served.url, world, domain), domain });
    const html = Array.from({ length: 19 }, () => noise(MB));
    const batchOf = (domain: string, parts: string[]) => ({
      emails: parts.map((part) => ({ from: `a@${domain}`, to: "a@one.test", subject: "x", html: part })),
    });
    const send = (key: string, body: unknown) =>
      call(served.url, key, { method: "POST", path: "/api/v1/emails/batch", body });
    using memory = watchMemory(served);
    const answers = await within(
      LIMIT_MS,
      "the batches",
      Promise.all(senders.map(({ key, domain }) => send(key, batchOf(domain, html)))),
    );
    for (const { status, headers } of answers) {
      expect([202, 503]).toContain(status);
      if (status === 503) expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(answers[0]?.status).toBe(202);
    // One that the memory does not bear is refused for good, before it comes.
    const larger = await send(world.key, batchOf("loja.test", [...html, ...html.slice(0, 4)]));
    expect([larger.status, larger.body.errors[0].hint]).toEqual([413, "Split the batch."]);
    await within(
      LIMIT_MS,
      "a good part of the deliveries",
      mx.until(() => mx.distinct >= 20),
    );
    expect(memory.most()).toBeLessThan(MEMORY);
    expect(bugsOf(served)).toEqual([]);
  },
);

test.skipIf(namespace === null)(
  "large messages that a server reads slowly wait, and small ones of others pass",
  async () => {
    let contents = 0;
    // Reads nothing more once it has asked for a content.
    await using mx = await startSlowMx(() => (contents += 1));
    await using world = await createWorld({ mxPort: mx.port });
    await using served = await servePoor(world);
    const other = await furnish(served.url, world, "banco.test");
    using memory = watchMemory(served);
    const body = { ...emailTo("a@one.test", "large"), html: "😀".repeat(MB) };
    for (let number = 0; number < 12; number += 1)
      expect((await call(served.url, world.key, { method: "POST", path: "/api/v1/emails", body })).status).toBe(202);
    const small = { ...emailTo("a@two.test", "small"), from: "a@banco.test" };
    expect((await call(served.url, other, { method: "POST", path: "/api/v1/emails", body: small })).status).toBe(202);
    // The room of 16 MiB is for two messages of 5.9 MB.
    await within(
      LIMIT_MS,
      "two large ones and the small one",
      mx.until(() => contents >= 3),
    );
    // Nothing tells that a message waits for room. Without the budget a third large one comes within this time.
    await Bun.sleep(500);
    expect(contents).toBe(3);
    expect(memory.most() / MB).toBeLessThan(200);
    expect(bugsOf(served)).toEqual([]);
  },
);

async function startSlowMx(tell: () => void) {
  const sockets = new Set<Socket>();
  const watchers = new Set<() => void>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    socket.write("220 slow.test\r\n");
    socket.on("data", (bytes) => {
      for (const line of bytes
        .toString("latin1")
        .split("\r\n")
        .filter((each) => each !== "")) {
        if (!/^DATA$/i.test(line)) {
          socket.write(/^EHLO/i.test(line) ? "250-slow.test\r\n250 SIZE\r\n" : "250 2.0.0 Ok\r\n");
          continue;
        }
        socket.write("354 Go ahead\r\n");
        socket.removeAllListeners("data").pause();
        tell();
        for (const look of watchers) look();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    until: (isTrue: () => boolean) =>
      new Promise<void>((resolve) => {
        const look = () => (isTrue() ? resolve() : undefined);
        watchers.add(look);
        look();
      }),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
