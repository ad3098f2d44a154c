// What open dashboards cost deliveries: `script/bench email --watchers N`. One instance delivers in turns while nobody
// looks and while so many people have the list of emails of its workspace open.

import type { Cleanup } from "../test/support/peers/process.ts";
import { operatorApi } from "../test/support/peers/pombo.ts";
import { quantile } from "./load.ts";
import type { Asked, OpenOrder } from "./open-lists.ts";
import { type Bench, type DeliveryResult, measureDelivery } from "./pombo.ts";
import { alignRows, type Bound, formatBounds, whole } from "./table.ts";

const RATE_FLOOR = 0.98;
/** A person may have four live streams, and one that is opened anew stands beside the old one for a moment. */
const STREAMS_OF_PERSON = 2;

export interface WatchedOptions {
  watchers: number;
  /** In each round, without and with them. */
  messages: number;
  rounds: number;
}

export interface WatchedRound extends Asked {
  without: DeliveryResult;
  beside: DeliveryResult;
  /** With the watchers there. */
  seconds: number;
}

export async function measureWatched(
  bench: Bench,
  { watchers, messages, rounds }: WatchedOptions,
  cleanup: Cleanup,
): Promise<WatchedRound[]> {
  const people = await signUp(bench, Math.ceil(watchers / STREAMS_OF_PERSON));
  const workspaceId: string = (await bench.api.expect(200, "GET", "/api/v1/workspace")).data.id;
  const cookies = Array.from({ length: watchers }, (_, index) => people[index % people.length] ?? "");
  const order: OpenOrder = { port: bench.app.port, workspaceId, cookies };
  const measured: WatchedRound[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    console.error(`pombo: ${messages} messages without and with ${watchers} watchers, round ${round} of ${rounds} …`);
    const deliver = () => measureDelivery(bench, messages, "html+text");
    const look = () => measureBeside(bench, order, messages, cleanup);
    // In turns, since the machine's pace and the database change from one to the next.
    if (round % 2 === 1) measured.push({ without: await deliver(), ...(await look()) });
    else {
      const seen = await look();
      measured.push({ without: await deliver(), ...seen });
    }
  }
  return measured;
}

/** Operators, who may read every workspace; the Cookie header of each. */
async function signUp({ app }: Bench, count: number): Promise<string[]> {
  const origin = `http://127.0.0.1:${app.port}`;
  const cookies: string[] = [];
  for (let number = 1; number <= count; number++) {
    const { data } = await operatorApi(app).expect(201, "POST", "/api/v1/operator/dashboard-link");
    const answer = await fetch(`${origin}/api/v1/auth/links/use`, {
      method: "POST",
      headers: { origin, "sec-fetch-site": "same-origin", "content-type": "application/json" },
      body: JSON.stringify({
        token: new URL(data.url as string).hash.slice(1),
        email: `ana${number}@example.com`,
        name: `Ana ${number}`,
        password: "quatro pombos no telhado",
      }),
    });
    const [cookie] = answer.headers.getSetCookie();
    if (!answer.ok || cookie === undefined) throw new Error(`no session: ${answer.status} ${await answer.text()}`);
    cookies.push(cookie.split(";")[0] ?? "");
  }
  return cookies;
}

async function measureBeside(bench: Bench, order: OpenOrder, messages: number, cleanup: Cleanup) {
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/open-lists.ts`, JSON.stringify(order)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  cleanup.add(() => child.kill());
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const readLine = async () => (await output.read()).value?.trim() ?? "";
  if ((await readLine()) !== "open") throw new Error("the dashboards did not open");
  const startedAt = performance.now();
  const beside = await measureDelivery(bench, messages, "html+text");
  const seconds = (performance.now() - startedAt) / 1000;
  child.kill("SIGTERM");
  const asked = JSON.parse(await readLine()) as Asked;
  await child.exited;
  if (asked.failed > 0) throw new Error(`${asked.failed} requests of dashboards were not answered`);
  if (asked.statuses === 0) throw new Error("no stream told of an email");
  return { beside, seconds, ...asked };
}

const readRatios = (rounds: WatchedRound[]) =>
  rounds.map(({ without, beside }) => beside.deliveredPerSecond / without.deliveredPerSecond);

export function judgeWatched(rounds: WatchedRound[]): Bound[] {
  return [
    {
      name: `delivery rate with / without, median of ${rounds.length} rounds`,
      value: quantile(readRatios(rounds), 0.5, 3),
      must: "be at least",
      limit: RATE_FLOOR,
      unit: "",
    },
  ];
}

export function formatWatched(rounds: WatchedRound[], watchers: number): string[] {
  const rate = ({ deliveredPerSecond }: DeliveryResult) => whole(deliveredPerSecond);
  const processor = ({ cpu, messages }: DeliveryResult) => `${((1000 * (cpu["pombo"] ?? 0)) / messages).toFixed(2)} ms`;
  const ratios = readRatios(rounds);
  return [
    ...alignRows([
      ["delivered a second", "without", `with ${watchers}`, "ratio", "CPU a message", "with", "requests a second"],
      ...rounds.map(({ without, beside, requests, seconds }, index) => [
        `round ${index + 1}`,
        rate(without),
        rate(beside),
        (ratios[index] ?? Number.NaN).toFixed(3),
        processor(without),
        processor(beside),
        whole(requests / seconds),
      ]),
    ]),
    "",
    ...formatBounds(judgeWatched(rounds)),
  ];
}
