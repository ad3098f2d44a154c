// pombo as a side of `script/bench sms`: three routes, told apart by the first digits of a number, to one SMSC.

import { Database } from "bun:sqlite";
import { join } from "node:path";
import {
  type Api,
  createWorkspace,
  operatorApi,
  type PomboApp,
  servePombo,
  startPombo,
} from "../test/support/peers/pombo.ts";
import { type Cleanup, waitUntil } from "../test/support/peers/process.ts";
import { digitsOf, numberIn } from "./sms-log.ts";
import { type LinkName, type Side, startSmsc, WINDOWS } from "./sms-side.ts";

const CREDITS = 10_000_000;
const RATE = 10_000;
const BIND_LIMIT_MS = 15_000;
const PREFIXES: Record<LinkName, string> = { w50: "25884", w10: "25885", silent: "25886" };
const LINKS = Object.keys(PREFIXES) as LinkName[];
export const SMS_BODY = "O seu saldo foi carregado com 250.00 MT. Obrigado por usar a Loja Bench.";

/** `isFollowed`: events are written, for somebody who reads them. */
export async function startPomboSide(folder: string, isFollowed: boolean, cleanup: Cleanup): Promise<Side> {
  const smsc = await startSmsc(folder, "pombo", cleanup);
  const routes = LINKS.map((name) => ({
    name,
    prefixes: [PREFIXES[name]],
    receipts: name === "silent" ? "none" : "each",
    links: [
      {
        name: `link-${name}`,
        host: "127.0.0.1",
        port: smsc.port,
        tls: "none",
        system_id: name,
        password: "segredo",
        window: WINDOWS[name],
        rate: RATE,
      },
    ],
  }));
  let app = await startPombo({
    folder,
    hostname: "pombo.bench.example.test",
    cleanup,
    settings: { sms: { routes } },
  });
  const bound = () =>
    waitUntil("the links of pombo", BIND_LIMIT_MS, async () => (await smsc.state()).bound.length === LINKS.length);
  await bound();
  const api = await furnish(app);
  // Somebody who reads them has them written.
  if (isFollowed) await api.expect(200, "GET", "/api/v1/events");
  return {
    name: "pombo",
    smsc,
    httpPort: app.port,
    requestOf: (link) => requestOf(app, api, link),
    pids: () => [app.process.pid],
    applied: async () => {
      const { acknowledged, acknowledgedAt } = await smsc.state();
      return { count: acknowledged, lastAt: acknowledgedAt };
    },
    // A receipt is acknowledged once what it says is committed.
    appliedTimes: async () => (await smsc.log()).acknowledged,
    async reported() {
      const rows = read<{ to: string }>(
        app.dataFolder,
        "SELECT recipient AS \"to\" FROM sms_message WHERE status = 'delivered'",
      );
      return new Set(rows.map(({ to }) => numberIn(to)));
    },
    marked: () => read(app.dataFolder, "SELECT 1 FROM sms_message WHERE possible_duplicate = 1").length,
    async killAndRestart() {
      process.kill(app.process.pid, "SIGKILL");
      await waitUntil("pombo's end", BIND_LIMIT_MS, () => !app.process.isAlive());
      app = await servePombo(app, cleanup);
      await bound();
    },
  };
}

async function furnish(app: PomboApp): Promise<Api> {
  const api = await createWorkspace(app, "bench");
  const operator = operatorApi(app);
  const { data } = await operator.expect(200, "GET", "/api/v1/operator/workspaces");
  const [{ id }] = data.filter(({ name }: { name: string }) => name === "bench");
  const path = `/api/v1/operator/workspaces/${id}`;
  await operator.expect(201, "POST", `${path}/sender-ids`, { name: "Loja" });
  await operator.expect(201, "POST", `${path}/credits`, { amount: CREDITS });
  return api;
}

function requestOf({ port }: PomboApp, { key }: Api, link: LinkName): string {
  const to = `+${PREFIXES[link]}${digitsOf(0)}`;
  const json = JSON.stringify({ to, body: SMS_BODY });
  const head = `POST /api/v1/sms HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-API-Key: ${key}\r\n`;
  return `${head}Content-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`;
}

function read<T>(dataFolder: string, query: string): T[] {
  using database = new Database(join(dataFolder, "pombo.db"), { readonly: true });
  return database.query<T, []>(query).all();
}
