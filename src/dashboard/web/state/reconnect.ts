// Looks for the server while it is away, and goes on when it is back.

import { effect } from "@preact/signals";
import { isAway } from "../api/client.ts";
import { invalidate } from "./resource.ts";
import { loadMe, me } from "./session.ts";

const FIRST_MS = 1_000;
const MAX_MS = 8_000;

/** Nothing is asked while the server is there. */
export function watchServer(): void {
  effect(() => {
    if (isAway.value) void findServer(FIRST_MS);
  });
}

async function findServer(waitMs: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, waitMs));
  try {
    const { ok } = await fetch("/health", { cache: "no-store" });
    if (!ok) throw new Error("not yet");
  } catch {
    return findServer(Math.min(waitMs * 2, MAX_MS));
  }
  isAway.value = false;
  if (me.value === undefined) await loadMe();
  invalidate("/api/");
}
