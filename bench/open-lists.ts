// The people of `script/bench email --watchers`, in a process of their own: each has the list of emails open, follows the
// fifty that it shows, which stay until somebody asks for newer ones, and asks again when its stream tells of a change, as
// src/dashboard/web/state/live.ts does. Runs until it is ended; prints a line once all streams are open, and one at SIGTERM.
//
// Run by bench/watchers.ts: bun bench/open-lists.ts <JSON of an OpenOrder>

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
  /** Of emails on a screen, told by a stream. */
  statuses: number;
}

const REFRESH_MS = 2_500;
const SLOWEST_MS = 10_000;
const LIST = "/emails?limit=50&include=status";

const { port, workspaceId, cookies } = JSON.parse(process.argv[2] ?? "") as OpenOrder;
const asked: Asked = { requests: 0, failed: 0, statuses: 0 };

process.once("SIGTERM", () => {
  console.log(JSON.stringify(asked));
  process.exit(0);
});
await Promise.all(cookies.map(openList));
console.log("open");

async function openList(cookie: string): Promise<void> {
  const ask = async (path: string) => {
    const headers = { cookie, "pombo-workspace": workspaceId, "sec-fetch-site": "same-origin" };
    asked.requests += 1;
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, { headers });
    if (!answer.ok || answer.body === null) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return { answer, body: answer.body };
  };
  const read = async () => (await (await ask(LIST)).answer.json()) as { data: { id: string }[] };
  const refresh = limitRate(() => void read().catch(() => (asked.failed += 1)));
  const shown = (await read()).data.map(({ id }) => id).join();
  const { body } = await ask(`/workspace/live${shown === "" ? "" : `?ids=${shown}`}`);
  const follow = async () => {
    for await (const { name } of readEvents(body)) {
      if (name === "email") asked.statuses += 1;
      if (name === "changed") refresh();
    }
    asked.failed += 1;
  };
  void follow();
}

/** Runs it at once, and then as seldom as the page does. */
function limitRate(run: () => void): () => void {
  let isOutdated = false;
  let isWaiting = false;
  let waitMs = REFRESH_MS;
  const look = (): boolean => {
    if (!isOutdated || isWaiting) return false;
    isOutdated = false;
    isWaiting = true;
    run();
    setTimeout(() => {
      isWaiting = false;
      waitMs = Math.min(2 * waitMs, SLOWEST_MS);
      if (!look()) waitMs = REFRESH_MS;
    }, waitMs);
    return true;
  };
  return () => {
    isOutdated = true;
    look();
  };
}
