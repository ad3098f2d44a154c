// The inbound port of the binary: a port that cannot be had is told with the cure, and bombs thrown at it do
// not stop the mail.
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { openTalk, type Talk } from "../../support/inbound/kit.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { runPombo, spawnPombo, within } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { startLoad } from "./load.ts";
import { bugsOf, createWorld, type Served } from "./world.ts";

setDefaultTimeout(150_000);

const MIB = 1024 ** 2;
const OFF = '[inbound] listen = "" turns the inbound mail off.';

/** Ports below this one need a right that root can be started without. */
const FIRST_FREE_PORT = Number(readFileSync("/proc/sys/net/ipv4/ip_unprivileged_port_start", "utf8"));
const WITHOUT_THE_RIGHT =
  process.getuid?.() === 0 ? ["setpriv", "--bounding-set", "-net_bind_service", "--inh-caps", "-net_bind_service"] : [];
const CAN_BE_DENIED =
  FIRST_FREE_PORT > 25 && (WITHOUT_THE_RIGHT[0] === undefined || Bun.which(WITHOUT_THE_RIGHT[0]) !== null);

test("an inbound port that is taken, or is of another machine, stops the start with one sentence that cures it", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await new Promise<void>((resolve) => taken.once("listening", () => resolve()));
  const { port } = taken.address() as AddressInfo;
  await using mx = await startCountingMx();
  await using world = await createWorld({ mxPort: mx.port });
  try {
    const config = world.writeConfig("taken.toml", { inbound: { listen: `127.0.0.1:${port}` } });
    const refused = await runPombo(["serve", "--config", config]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toBe(
      `Port ${port} on 127.0.0.1, where bounces and complaints come in, is in use by another program, most likely ` +
        `another mail server such as Postfix or Exim (sudo ss -ltnp 'sport = :${port}' names it; sudo systemctl ` +
        "disable --now postfix, or exim4, stops it). Stop that one, or let it have the loopback addresses and give " +
        `pombo this server's public address ([inbound] listen = "203.0.113.7:${port}", with yours). ${OFF}\n`,
    );
  } finally {
    taken.close();
  }
  const elsewhere = world.writeConfig("elsewhere.toml", { inbound: { listen: "198.51.100.7:2525" } });
  const lost = await runPombo(["serve", "--config", elsewhere]);
  expect(lost).toMatchObject({ code: 1, stdout: "" });
  expect(lost.stderr).toContain("198.51.100.7 is no address of this machine. Correct [inbound] listen");
  expect(lost.stderr).toEndWith(`${OFF}\n`);
  expect(lost.stderr.trimEnd().split("\n")).toHaveLength(1);
  expect(mx.connections).toBe(0);
});

test.skipIf(!CAN_BE_DENIED)(
  "port 25 without the right to it stops the start with one sentence that cures it",
  async () => {
    await using world = await createWorld({ mxPort: 9 });
    const config = world.writeConfig("port25.toml", { inbound: { listen: "127.0.0.1:25" } });
    const refused = await runPombo(["serve", "--config", config], { through: WITHOUT_THE_RIGHT });
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toStartWith(
      "Port 25 on 127.0.0.1, where bounces and complaints come in, may not be opened by this user. Give pombo the right",
    );
    for (const cure of [
      "AmbientCapabilities=CAP_NET_BIND_SERVICE",
      "setcap cap_net_bind_service=+ep",
      "redirect port 25",
      OFF,
    ])
      expect(refused.stderr).toContain(cure);
    expect(refused.stderr.trimEnd().split("\n")).toHaveLength(1);
  },
);

test.skipIf(!CAN_BE_DENIED)("neither does port 80 open without that right", async () => {
  await using world = await createWorld({ mxPort: 9 });
  const tls = { acme: "letsencrypt", challenge_listen: ["127.0.0.1:80"] };
  const refused = await runPombo(["serve", "--config", world.writeConfig("port80.toml", { tls })], {
    through: WITHOUT_THE_RIGHT,
  });
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toStartWith("Port 80 on 127.0.0.1 may not be opened by this user. Give pombo the right");
  for (const cure of ["CAP_NET_BIND_SERVICE", "setcap", "[tls] challenge_listen"])
    expect(refused.stderr).toContain(cure);
});

test("a certificate that cannot be used stops the start; without a listener nobody asks for it", async () => {
  await using world = await createWorld({ mxPort: 9 });
  const files = { certificate_file: `${world.folder}/none.pem`, key_file: `${world.folder}/none.key` };
  const refused = await runPombo(["serve", "--config", world.writeConfig("cert.toml", { inbound: files })]);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toStartWith(
    `The file ${files.certificate_file} ([inbound] certificate_file) cannot be read (`,
  );
  const config = world.writeConfig("off.toml", { inbound: { ...files, listen: "" } });
  await using off = spawnPombo(["serve", "--config", config]);
  await off.until("it serves", () => off.stdout().includes('"event":"pombo.started"'));
  expect(off.stdout()).toContain('"inbound":null');
  off.signal("SIGTERM");
  expect(await off.ended).toMatchObject({ code: 0 });
});

function inboundPort(served: Served): number {
  return Number(/"inbound":"127\.0\.0\.1:(\d+)"/.exec(served.stdout())?.[1]);
}

function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
}

/** Throws connections, endless lines and large messages at the port until it is told to stop. */
function bomb(port: number): { thrown(): Record<string, number>; stop(): Promise<void> } {
  let isOver = false;
  let next = 0;
  const thrown: Record<string, number> = { connections: 0, refused: 0, messages: 0, cut: 0 };
  const count = (what: string) => (thrown[what] = (thrown[what] ?? 0) + 1);
  const pieces = Buffer.from(`${"a".repeat(76)}\r\n`.repeat(1024));
  const open = async (): Promise<Talk> => {
    next += 1;
    const talk = await openTalk(port, { hears: false, localAddress: `127.0.2.${1 + (next % 250)}` });
    count("connections");
    return talk;
  };
  const pour = async (talk: Talk) => {
    for (let sent = 0; sent < 100 * MIB && !talk.isClosed && !isOver; sent += pieces.length) {
      if (talk.socket.write(pieces)) continue;
      await new Promise<void>((resolve) => {
        talk.socket.once("drain", () => resolve());
        talk.socket.once("close", () => resolve());
      });
    }
  };
  const crowd = async () => {
    while (!isOver) {
      const talks = await Promise.all(Array.from({ length: 500 }, open));
      for (const talk of talks) if ((await talk.reply()).startsWith("421")) count("refused");
      for (const talk of talks) talk.socket.resetAndDestroy();
    }
  };
  const large = async (start: string) => {
    while (!isOver) {
      const talk = await open();
      if ((await talk.reply()).startsWith("220")) {
        talk.write(start);
        count("messages");
        await pour(talk);
        if (/^(?:421|55[24]) /m.test(await talk.rest())) count("cut");
      }
      talk.socket.destroy();
    }
  };
  const message = "EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<postmaster>\r\nDATA\r\n";
  const bombs = [crowd(), large(`${message}\r\n`), large(message), large("E")];
  return {
    thrown: () => thrown,
    async stop() {
      isOver = true;
      await Promise.allSettled(bombs);
    },
  };
}

/** Load for most of a minute: in the long runs only. */
const isShort = Number(process.env["ROUNDS"] ?? 5) <= 5;

test.skipIf(isShort)(
  "while 500 connections and messages of 100 MB hammer the inbound port, mail is accepted and delivered, in bounded memory",
  async () => {
    await using mx = await startCountingMx();
    await using world = await createWorld({ mxPort: mx.port });
    await using served = await world.serve();
    const load = startLoad({
      key: world.key,
      customers: 4,
      url: () => Promise.resolve(served.url),
      delivered: { count: () => mx.distinct, until: (isTrue) => mx.until(isTrue) },
    });
    await within(
      20_000,
      "the first mail",
      mx.until(() => mx.distinct > 200),
    );
    const before = residentBytes(served.pid);
    const bombs = bomb(inboundPort(served));
    const from = mx.distinct;
    let highest = 0;
    await waitUntil("bombs and mail side by side", 90_000, async () => {
      highest = Math.max(highest, residentBytes(served.pid));
      const { connections = 0, refused = 0, cut = 0 } = bombs.thrown();
      return mx.distinct > from + 300 && connections > 2_000 && refused > 500 && cut > 5;
    });
    await bombs.stop();
    await load.stop();
    expect(highest - before).toBeLessThan(250 * MIB);
    await within(
      20_000,
      "the rest of the mail",
      mx.until(() => mx.distinct >= load.accepted.size),
    );
    expect([...load.statuses.keys()]).toEqual([202]);

    await waitUntil("a place for a normal client", 20_000, async () => {
      using talk = await openTalk(inboundPort(served), { hears: false });
      return (await talk.reply()).startsWith("220");
    });
    expect(bugsOf(served)).toEqual([]);
    served.signal("SIGTERM");
    expect(await served.ended).toMatchObject({ code: 0 });
  },
);
