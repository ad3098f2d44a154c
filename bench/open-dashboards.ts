// The people of `script/bench dashboards`, in a process of their own: each has the home of the workspace open, and asks
// again when its stream tells of a change, as src/dashboard/web/state/live.ts does. Runs until it is ended; prints a line
// once all streams are open, and one at SIGTERM.
//
// Run by bench/dashboards.ts: bun bench/open-dashboards.ts <JSON of an OpenOrder>

import { readEvents } from "../src/dashboard/web/api/event-stream.ts";

export interface OpenOrder {
  port: number;
  /** Public id of the workspace. */
  workspaceId: string;
  /** One for each dashboard: the whole Cookie header of a person. */
  cookies: string[];
}

export interface Asked {
  requests: number;
  /** Of them, those that were not answered 200. */
  failed: number;
}

const REFRESH_MS = 2_500;
const HOME = ["/workspace?include=usage", "/domains?limit=100", "/emails?limit=5&include=status"];
/** A change of emails makes all but the domains out of date. */
const AFTER_EMAILS = HOME.filter((path) => !path.startsWith("/domains"));

const { port, workspaceId, cookies } = JSON.parse(process.argv[2] ?? "") as OpenOrder;
const asked: Asked = { requests: 0, failed: 0 };

process.once("SIGTERM", () => {
  console.log(JSON.stringify(asked));
  process.exit(0);
});
await Promise.all(cookies.map(openHome));
console.log("open");

async function openHome(cookie: string): Promise<void> {
  const ask = async (path: string) => {
    const headers = { cookie, "pombo-workspace": workspaceId, "sec-fetch-site": "same-origin" };
    asked.requests += 1;
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, { headers });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  };
  for (const path of HOME) await (await ask(path)).json();
  const { body } = await ask("/workspace/live");
  if (body === null) throw new Error("the stream has no body");
  void follow(body, async () => {
    await Promise.all(AFTER_EMAILS.map(async (path) => (await ask(path)).json()));
  });
}

/** Asks at once, and then as seldom as the page does. */
async function follow(body: ReadableStream<Uint8Array>, refresh: () => Promise<void>): Promise<void> {
  let isOutdated = false;
  let isWaiting = false;
  const look = () => {
    if (!isOutdated || isWaiting) return;
    isOutdated = false;
    isWaiting = true;
    refresh().catch(() => (asked.failed += 1));
    setTimeout(() => {
      isWaiting = false;
      look();
    }, REFRESH_MS);
  };
  for await (const { name } of readEvents(body)) {
    if (name === "changed") isOutdated = true;
    look();
  }
}
