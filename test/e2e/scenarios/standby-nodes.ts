/** The machines of the scenarios of the standby. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bringS3, S3_KEY, S3_REGION } from "../../support/peers/s3.ts";
import { layCables } from "../../support/peers/cables.ts";
import { type Line, type LineState, startLine } from "../../support/peers/line.ts";
import { HERE } from "../../support/peers/moto.ts";
import { ensureTools } from "../../support/peers/packages.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { type Child, spawnPombo } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { type Load, startLoad } from "./load.ts";
import { isDaemon } from "./replicated.ts";
import { mountSmallDisk, type SmallDisk } from "./small-disk.ts";
import { createWorld, type WorldOptions } from "./world.ts";

const LIMIT_MS = 60_000;
export const LEASE_MS = 3_000;
export const S3_CREDENTIALS = {
  POMBO_REPLICATION_ACCESS_KEY_ID: S3_KEY.id,
  POMBO_REPLICATION_SECRET_ACCESS_KEY: S3_KEY.secret,
};

/** A machine: its configuration, its data directory, and the process on it. */
export interface Node {
  name: string;
  url: string;
  config: string;
  dataDir: string;
  /** To the S3 service: a cable where this machine permits it, else a proxy. */
  line: { set(state: LineState): void };
  disk: SmallDisk | null;
  child: Child | null;
}

/** An address of this process only: on that of everybody a connection of another test may have the port, while nothing listens there. */
function buildAddress(nth: number): string {
  return `127.${101 + nth}.${(process.pid >> 8) & 255}.${process.pid & 255}:8080`;
}

/** Whether only what is quick is to be tried: script/standby and the soak try all. */
export const isShort = Number(process.env["ROUNDS"] ?? 5) <= 5 && process.env["TAKEOVERS"] === undefined;

/** Null: this machine can bring none. */
export const startS3 = bringS3();

if (!isShort) {
  const trouble = await ensureTools([
    { program: "ip", package: "iproute2" },
    { program: "nft", package: "nftables" },
  ]);
  if (trouble !== null) console.warn(`Lines are cut by proxies, not by the kernel: ${trouble}`);
}

interface NodesOptions {
  /** As in createWorld. */
  settings?: WorldOptions["settings"];
  count?: number;
  /** Each machine has a disk of its own of so many MiB. */
  diskMiB?: number;
  /** Between each machine and the service is a proxy, at which the service errs. */
  isErring?: boolean;
}

/** Machines with one lease, over an S3 service; the first has the data. Nothing of them runs yet. */
export async function createNodes({ settings = {}, count = 2, diskMiB, isErring = false }: NodesOptions = {}) {
  if (startS3 === null) throw new Error("there is no S3 service here");
  await using started = new AsyncDisposableStack();
  // One more, by which this process reaches the service.
  const laid = started.use(isErring ? null : await layCables(count + 1));
  const service = started.use(
    await startS3(laid === null ? HERE : { prefix: laid.prefix, address: laid.cables[count]?.address ?? "" }),
  );
  const mx = started.use(await startCountingMx());
  const world = started.use(await createWorld({ mxPort: mx.port, settings }));
  const key = readFileSync(join(world.dataDir, "instance.key"));
  const nodes: Node[] = [];
  const proxies: Line[] = [];
  for (const [nth, name] of ["a", "b", "c"].slice(0, count).entries()) {
    const dataDir = nth === 0 ? world.dataDir : join(world.folder, `data-${name}`);
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    writeFileSync(join(dataDir, "instance.key"), key, { mode: 0o600 });
    const address = buildAddress(nth);
    const port = Number(new URL(service.url).port);
    const cable = laid?.cables[nth];
    const line = cable ?? started.use(await startLine(port));
    if ("port" in line) proxies.push(line);
    const endpoint = "port" in line ? `http://127.0.0.1:${line.port}` : `http://${line.address}:${port}`;
    const config = world.writeConfig(`${name}.toml`, {
      "": { data_dir: dataDir },
      http: { listen: address },
      replication: {
        url: "s3://copies/pombo",
        endpoint,
        region: S3_REGION,
        acknowledge: "replica",
      },
      standby: { lease: `${LEASE_MS}ms` },
    });
    const disk = started.use(diskMiB === undefined ? null : await mountSmallDisk(dataDir, diskMiB));
    nodes.push({
      name,
      url: `http://${address}`,
      config,
      dataDir: disk?.directory ?? dataDir,
      line,
      disk,
      child: null,
    });
  }
  const ask = async (url: string) => {
    const answer = await fetch(`${url}/ready`, { signal: AbortSignal.timeout(2_000) }).catch(() => null);
    return answer === null ? null : { status: answer.status, text: await answer.text() };
  };
  const findWorking = async () => {
    for (const node of nodes) if ((await ask(node.url))?.status === 200) return node;
    return null;
  };
  const all = started.move();
  return {
    service,
    mx,
    world,
    nodes,
    proxies,
    ask,
    findWorking,
    /** `how`: put before its command. */
    start(node: Node, how: string[] = []) {
      const through = [...(node.disk?.enter ?? []), ...how];
      node.child = spawnPombo(["serve", "--config", node.config], { env: S3_CREDENTIALS, through });
    },
    async awaitWorking(of: readonly Node[] = nodes): Promise<Node> {
      let found: Node | null = null;
      try {
        await waitUntil("a machine works", LIMIT_MS, async () => {
          found = await findWorking();
          return found !== null && of.includes(found);
        });
      } catch (error) {
        const said = nodes.map(({ name, child }) => `${name}:\n${child?.stdout().slice(-3_000)}\n${child?.stderr()}`);
        throw new Error(said.join("\n"), { cause: error });
      }
      return found ?? (nodes[0] as Node);
    },
    load: (): Load =>
      startLoad({
        key: world.key,
        customers: 8,
        url: async () => {
          for (;;) {
            const working = await findWorking();
            if (working !== null) return working.url;
            await Bun.sleep(50);
          }
        },
        delivered: { count: () => mx.distinct, until: (isTrue) => mx.until(isTrue) },
      }),
    async [Symbol.asyncDispose]() {
      for (const { child, dataDir } of nodes) {
        await child?.[Symbol.asyncDispose]();
        endDaemon(dataDir);
      }
      await all.disposeAsync();
    },
  };
}

export function findDaemonPid(dataDir: string): number | null {
  try {
    const pid = Number(readFileSync(join(dataDir, "litestream/pid"), "utf8"));
    return isDaemon(pid) ? pid : null;
  } catch {
    return null;
  }
}

export function endDaemon(dataDir: string): void {
  const pid = findDaemonPid(dataDir);
  if (pid !== null) process.kill(pid, "SIGKILL");
}
