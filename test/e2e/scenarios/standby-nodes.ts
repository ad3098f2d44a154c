/** The machines of the scenarios of the standby. */
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { bringS3, S3_KEY, S3_REGION } from "../../support/peers/s3.ts";
import { type Line, startLine } from "../../support/peers/line.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { type Child, spawnPombo } from "./child.ts";
import { startCountingMx } from "./counting-mx.ts";
import { type Load, startLoad } from "./load.ts";
import { isDaemon } from "./replicated.ts";
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
  /** To the S3 service. */
  line: Line;
  child: Child | null;
}

/** An address of this process only: on that of everybody a connection of another test may have the port, while nothing listens there. */
function buildAddress(nth: number): string {
  return `127.${101 + nth}.${(process.pid >> 8) & 255}.${process.pid & 255}:8080`;
}

/** Null: this machine can bring none. */
export const startS3 = bringS3();

/** Machines with one lease, over an S3 service; the first has the data. Nothing of them runs yet. `settings`: as in createWorld. */
export async function createNodes(settings: WorldOptions["settings"] = {}, count = 2) {
  if (startS3 === null) throw new Error("there is no S3 service here");
  const service = await startS3();
  const mx = await startCountingMx();
  const world = await createWorld({ mxPort: mx.port, settings });
  const nodes: Node[] = [];
  for (const [nth, name] of ["a", "b", "c"].slice(0, count).entries()) {
    const dataDir = nth === 0 ? world.dataDir : join(world.folder, `data-${name}`);
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    if (nth > 0) copyFileSync(join(world.dataDir, "instance.key"), join(dataDir, "instance.key"));
    const address = buildAddress(nth);
    const line = await startLine(Number(new URL(service.url).port));
    const config = world.writeConfig(`${name}.toml`, {
      "": { data_dir: dataDir },
      http: { listen: address },
      replication: {
        url: "s3://copies/pombo",
        endpoint: `http://127.0.0.1:${line.port}`,
        region: S3_REGION,
        acknowledge: "replica",
      },
      standby: { lease: `${LEASE_MS}ms` },
    });
    nodes.push({ name, url: `http://${address}`, config, dataDir, line, child: null });
  }
  const ask = async (url: string) => {
    const answer = await fetch(`${url}/ready`, { signal: AbortSignal.timeout(2_000) }).catch(() => null);
    return answer === null ? null : { status: answer.status, text: await answer.text() };
  };
  const findWorking = async () => {
    for (const node of nodes) if ((await ask(node.url))?.status === 200) return node;
    return null;
  };
  return {
    service,
    mx,
    world,
    nodes,
    ask,
    findWorking,
    start(node: Node) {
      node.child = spawnPombo(["serve", "--config", node.config], { env: S3_CREDENTIALS });
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
      for (const { child, dataDir, line } of nodes) {
        await child?.[Symbol.asyncDispose]();
        endDaemon(dataDir);
        await line[Symbol.asyncDispose]();
      }
      await world[Symbol.asyncDispose]();
      await mx[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
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
