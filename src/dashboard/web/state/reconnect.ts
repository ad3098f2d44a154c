// Looks for the server while it is away, and goes on when it is back.

import { effect } from "@preact/signals";
import { isAway } from "../api/client.ts";
import { invalidate } from "./resource.ts";
import { loadMe, me } from "./session.ts";

/** Lists are right again within two seconds of its return. */
const ASK_EVERY_MS = 1_000;

/** Nothing is asked while the server is there. */
export function watchServer(): void {
  effect(() => {
    if (isAway.value) void findServer();
  });
}

async function findServer(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  try {
    const { ok } = await fetch("/health", { cache: "no-store" });
    if (!ok) throw new Error("not yet");
  } catch {
    return findServer();
  }
  isAway.value = false;
  if (me.value === undefined) await loadMe();
  invalidate("/api/");
}
