// The live stream of a workspace: one a browser, opened by one of its tabs, which tells the others.

import { signal } from "@preact/signals";
import { ApiError, isAway } from "../api/client.ts";
import type { ServerEvent } from "../api/event-stream.ts";
import { invalidate } from "./resource.ts";
import { loadMe } from "./session.ts";
import { growRetry, readStream, RETRY_MS, wait } from "./stream.ts";

/** The newest status that the stream told of a message, by its id. */
export const liveStatuses = signal<Readonly<Record<string, string>>>({});

const WORKSPACE = "/api/v1/workspace";
const AUDIT = "/api/v1/workspace/audit";

/** What a change of each kind makes out of date. */
const PATHS: Record<string, string[]> = {
  emails: ["/api/v1/emails", WORKSPACE],
  sms: ["/api/v1/sms", "/api/v1/sms/inbound", "/api/v1/workspace/credits", WORKSPACE],
  domains: ["/api/v1/domains", WORKSPACE, AUDIT],
  keys: ["/api/v1/auth/keys", WORKSPACE, AUDIT],
  webhooks: ["/api/v1/webhooks", WORKSPACE, AUDIT],
  members: ["/api/v1/workspace/members", "/api/v1/workspace/invitations", WORKSPACE, AUDIT],
  suppressions: ["/api/v1/suppressions"],
  requests: ["/api/v1/workspace/requests"],
  // Also who sees what messages say.
  workspace: [WORKSPACE, AUDIT, "/api/v1/emails", "/api/v1/sms", "/api/v1/sms/inbound", "/api/v1/webhooks"],
};
const ALL = ["/api/"];

const MAX_IDS = 100;
/** Lists are asked for again at most so often, and at least so often while they change. */
const REFRESH_MS = 2_500;
const SLOWEST_MS = 10_000;

type Message =
  | { kind: "event"; event: ServerEvent }
  /** The emails on the screen of a tab. */
  | { kind: "ids"; tab: string; ids: string[] }
  /** A tab that just took the stream over asks for them. */
  | { kind: "who" }
  /** The server is away, which a tab that asks nothing would not find. */
  | { kind: "away" }
  /** The stream is open again: what changed meanwhile is not known. */
  | { kind: "again" };

const tab = crypto.randomUUID();
let channel: BroadcastChannel | null = null;
/** Emails on this tab's screen, with how many components show each. */
const followed = new Map<string, number>();
/** Of all tabs; used by the one that has the stream. */
const idsOfTabs = new Map<string, string[]>();
let restart: (() => void) | null = null;

/** Has the server look after the records of a domain until the returned function is called. */
export const followDomain = (id: string) => followMessages([id]);

/** Hears of the statuses of these emails and SMS until the returned function is called. */
export function followMessages(ids: string[]): () => void {
  const count = (by: 1 | -1) => {
    for (const id of ids) {
      const left = (followed.get(id) ?? 0) + by;
      if (left > 0) followed.set(id, left);
      else followed.delete(id);
    }
    announce();
  };
  count(1);
  return () => count(-1);
}

/** Follows a workspace until the returned function is called. */
export function startLive(workspace: string): () => void {
  const stop = new AbortController();
  const name = `pombo-live-${workspace}`;
  channel = new BroadcastChannel(name);
  channel.addEventListener("message", ({ data }: MessageEvent<Message>) => hear(data));
  announce();
  const lead = () => readUntilStopped(stop.signal);
  // The lock is free when the tab that has it is closed.
  void navigator.locks.request(name, { signal: stop.signal }, lead).catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  return () => {
    tell({ kind: "ids", tab, ids: [] });
    stop.abort();
    channel?.close();
    channel = null;
    idsOfTabs.clear();
  };
}

function tell(message: Message): void {
  // oxlint-disable-next-line require-post-message-target-origin -- a channel has one origin, its own
  channel?.postMessage(message);
}

/** Tells the other tabs, and itself. */
function announce(): void {
  const message: Message = { kind: "ids", tab, ids: [...followed.keys()] };
  tell(message);
  hear(message);
}

function hear(message: Message): void {
  switch (message.kind) {
    case "event":
      return take(message.event);
    case "again":
      refresh(ALL, true);
      return undefined;
    case "away":
      isAway.value = true;
      return undefined;
    case "who":
      return tell({ kind: "ids", tab, ids: [...followed.keys()] });
    case "ids": {
      const before = collectIds();
      idsOfTabs.set(message.tab, message.ids);
      if (collectIds() !== before) restart?.();
    }
  }
}

function collectIds(): string {
  return [...new Set([...idsOfTabs.values()].flat())].slice(0, MAX_IDS).toSorted().join(",");
}

async function readUntilStopped(stop: AbortSignal): Promise<void> {
  tell({ kind: "who" });
  let retryMs = RETRY_MS;
  let wasOpen = false;
  while (!stop.aborted) {
    const changed = new AbortController();
    restart = () => void setTimeout(() => changed.abort(), 300);
    try {
      await listen(AbortSignal.any([stop, changed.signal]), () => {
        if (wasOpen && retryMs > 0) share({ kind: "again" });
        wasOpen = true;
        retryMs = RETRY_MS;
      });
    } catch {
      // Too many streams, or no server: it is tried again.
      if (isAway.peek()) tell({ kind: "away" });
    }
    if (changed.signal.aborted) retryMs = 0;
    await wait(retryMs, stop);
    if (retryMs > 0) retryMs = growRetry(retryMs);
  }
  restart = null;
}

async function listen(stop: AbortSignal, opened: () => void): Promise<void> {
  const ids = collectIds();
  const url = `/api/v1/workspace/live${ids === "" ? "" : `?ids=${ids}`}`;
  try {
    await readStream(url, stop, { opened, hear: (event) => share({ kind: "event", event }) });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // 404: of a workspace that one is not, or no longer, a member of.
    if ([401, 403, 404].includes(error.status)) void loadMe();
    await wait((error.retryAfterS ?? 0) * 1_000, stop);
    throw error;
  }
}

function share(message: Message): void {
  tell(message);
  hear(message);
}

function take({ name, data }: ServerEvent): void {
  if (name === "ended") void loadMe();
  else if (name === "email" || name === "sms") {
    const { id, status } = data as { id: string; status: string };
    liveStatuses.value = { ...liveStatuses.value, [id]: status };
  } else if (name === "changed") refresh(Object.keys(data as object).flatMap((kind) => PATHS[kind] ?? []));
}

const outdated = new Set<string>();
let isWaiting = false;
let waitMs = REFRESH_MS;

/**
 * Asks again for what is shown: at once, and while changes come without a pause ever more seldom, since rows hear their
 * statuses from the stream. A tab that nobody sees waits until it is seen. False: nothing of it is shown.
 */
function refresh(paths: string[], isUrgent = false): boolean {
  for (const path of paths) outdated.add(path);
  if ((isWaiting && !isUrgent) || document.hidden) return false;
  const isShown = invalidate(...outdated);
  outdated.clear();
  if (!isShown || isWaiting) return isShown;
  isWaiting = true;
  setTimeout(() => {
    isWaiting = false;
    waitMs = Math.min(2 * waitMs, SLOWEST_MS);
    if (!refresh([])) waitMs = REFRESH_MS;
  }, waitMs);
  return true;
}

document.addEventListener("visibilitychange", () => void refresh([]));
