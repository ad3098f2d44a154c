// SIGSTOP for longer than a submit may wait for its answer: what was answered meanwhile is read, and nobody is called
// silent who was not. And SIGTERM while answers are on their way: they are waited for.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { expect, setDefaultTimeout, test } from "bun:test";
import { type SmscHandle, startSmsc } from "../../support/peers/smsc/client.ts";
import { waitUntil } from "../../support/peers/process.ts";
import { judge } from "../../support/texting/judge.ts";
import { bugsOf, call, createWorld, type Served, type World } from "./world.ts";

/** The response timer is 30 s. */
const STOPPED_MS = 33_000;
const WINDOW = 10;
const CREDITS = 1_000;
const TEXTS = 40;

setDefaultTimeout(120_000);

async function startWorld(smsc: SmscHandle): Promise<World> {
  const settings = {
    "[sms.routes]": { name: "vodacom" },
    "[sms.routes.links]": {
      name: "vodacom-a",
      host: "127.0.0.1",
      port: smsc.port,
      tls: "none",
      system_id: "loja",
      password: "segredo",
      window: WINDOW,
      rate: 10_000,
    },
  };
  return createWorld({ mxPort: 9, settings });
}

async function textMany(served: Served, world: World): Promise<string[]> {
  const { url } = served;
  const list = await call(url, world.operatorKey, { path: "/api/v1/operator/workspaces" });
  const path = `/api/v1/operator/workspaces/${list.body.data[0].id}`;
  await call(url, world.operatorKey, { method: "POST", path: `${path}/sender-ids`, body: { name: "Loja" } });
  const granted = { method: "POST", path: `${path}/credits`, body: { amount: CREDITS } };
  await call(url, world.operatorKey, granted);
  const ids: string[] = [];
  for (let nth = 0; nth < TEXTS; nth += 1) {
    const body = { to: `+25884${String(nth).padStart(7, "0")}`, body: `Texto ${nth}` };
    const answer = await call(url, world.key, { method: "POST", path: "/api/v1/sms", body });
    expect(answer.status).toBe(202);
    ids.push(answer.body.data.id);
  }
  return ids;
}

function read<T>({ dataDir }: World, query: string): T[] {
  using database = new Database(join(dataDir, "pombo.db"), { readonly: true });
  return database.query<T, []>(query).all();
}

const openTexts = (world: World) =>
  read<{ n: number }>(world, "SELECT COUNT(*) AS n FROM sms_message WHERE status IN ('queued', 'sending', 'sent')")[0]
    ?.n;

async function judgeAll(smsc: SmscHandle, world: World, accepted: string[]) {
  return judge({ smscs: [smsc], read: (query) => read(world, query), accepted, window: WINDOW, credits: CREDITS });
}

test("after 33 s of SIGSTOP the answers that came meanwhile count, and nothing goes twice", async () => {
  await using smsc = await startSmsc({ script: { answerDelayMs: 400 } });
  await using world = await startWorld(smsc);
  await using served = await world.serve();
  const ids = await textMany(served, world);
  await smsc.until({ submits: 10 });
  process.kill(served.pid, "SIGSTOP");
  await Bun.sleep(STOPPED_MS);
  process.kill(served.pid, "SIGCONT");
  await waitUntil("all are delivered", 30_000, () => openTexts(world) === 0);
  expect(
    served
      .stdout()
      .split("\n")
      .filter((line) => line.includes("smpp.unbound")),
  ).toEqual([]);
  served.signal("SIGTERM");
  expect(await served.ended).toEqual({ code: 0, signal: null });
  const verdict = await judgeAll(smsc, world, ids);
  expect(verdict).toMatchObject({ broken: [], marked: 0, doubled: 0, submits: TEXTS });
  expect(bugsOf(served)).toEqual([]);
});

test("SIGTERM waits for answers that take longer than 22 s, and nothing goes twice after the next start", async () => {
  await using smsc = await startSmsc({ script: { answerDelayMs: 25_000 } });
  await using world = await startWorld(smsc);
  {
    await using served = await world.serve();
    const ids = await textMany(served, world);
    expect(ids).toHaveLength(TEXTS);
    await smsc.until({ submits: WINDOW });
    served.signal("SIGTERM");
    expect(await served.ended).toEqual({ code: 0, signal: null });
  }
  expect((await smsc.state()).counters).toMatchObject({ submits: WINDOW, answers: WINDOW });
  await smsc.script({ answerDelayMs: 0 });
  await using served = await world.serve();
  await waitUntil("all are delivered", 30_000, () => openTexts(world) === 0);
  served.signal("SIGTERM");
  await served.ended;
  const accepted = read<{ uid: string }>(world, "SELECT uid FROM sms_message").map(({ uid }) => uid);
  expect(await judgeAll(smsc, world, accepted)).toMatchObject({ broken: [], marked: 0, submits: TEXTS });
});
