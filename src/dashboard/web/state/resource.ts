// What the API answered, kept while it is shown: the old answer stays until the new one is there, and calls that nobody waits for are aborted.

import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { ApiError, type Answer, call, type CallOptions } from "../api/client.ts";
import type { Call, Data, Meta } from "../api/calls.ts";
import { workspaceId } from "./session.ts";

export interface Resource<C extends Call> {
  data: Data<C> | undefined;
  meta: Meta<C> | undefined;
  error: ApiError | null;
  isLoading: boolean;
  reload: () => void;
}

interface Entry {
  name: Call;
  answer: Signal<Answer<Call> | undefined>;
  error: Signal<ApiError | null>;
  isLoading: Signal<boolean>;
  /** Components that show it. */
  shownBy: number;
  running: AbortController | null;
  load: () => void;
}

/** Answers that are kept for a way back. */
const MAX_KEPT = 60;
const entries = new Map<string, Entry>();

/** The answer to a call, asked for when it is first shown and whenever `invalidate` names it. `options` null: not yet. */
export function useCall<C extends Call>(name: C, options: CallOptions<C> | null = {} as CallOptions<C>): Resource<C> {
  const key = options === null ? null : `${workspaceId.value ?? ""} ${name} ${JSON.stringify(options)}`;
  const entry = useMemo(() => (key === null || options === null ? null : open(key, name, options)), [key]);
  useEffect(() => {
    if (entry === null) return undefined;
    entry.shownBy++;
    entry.load();
    return () => {
      entry.shownBy--;
      if (entry.shownBy === 0) entry.running?.abort();
    };
  }, [entry]);
  const answer = entry?.answer.value as Answer<C> | undefined;
  return {
    data: answer?.data,
    meta: answer?.meta,
    error: entry?.error.value ?? null,
    isLoading: entry?.isLoading.value ?? false,
    reload: () => entry?.load(),
  };
}

function open<C extends Call>(key: string, name: C, options: CallOptions<C>): Entry {
  const known = entries.get(key);
  if (known !== undefined) return known;
  const entry: Entry = {
    name,
    answer: signal(undefined),
    error: signal(null),
    isLoading: signal(true),
    shownBy: 0,
    running: null,
    load,
  };
  function load(): void {
    entry.running?.abort();
    const running = new AbortController();
    entry.running = running;
    entry.isLoading.value = true;
    const asked = call(name, { ...options, signal: running.signal });
    void asked.then(take, (error: unknown) => fail(error, running));
  }
  function take(answer: Answer<C>): void {
    entry.answer.value = answer as unknown as Answer<Call>;
    entry.error.value = null;
    entry.isLoading.value = false;
  }
  function fail(error: unknown, running: AbortController): void {
    if (running.signal.aborted) return;
    if (!(error instanceof ApiError)) throw error;
    entry.error.value = error;
    entry.isLoading.value = false;
  }
  entries.set(key, entry);
  forgetOldest();
  return entry;
}

function forgetOldest(): void {
  for (const [key, entry] of entries) {
    if (entries.size <= MAX_KEPT) return;
    if (entry.shownBy === 0) entries.delete(key);
  }
}

/** Those that are shown are asked for again, others when they are shown. `paths` as isOf takes them. False: none is shown. */
export function invalidate(...paths: string[]): boolean {
  let isShown = false;
  for (const entry of entries.values()) {
    const path = entry.name.slice(entry.name.indexOf(" ") + 1);
    if (entry.shownBy === 0 || !paths.some((each) => isOf(path, each))) continue;
    isShown = true;
    entry.load();
  }
  return isShown;
}

/** `which`: a list with what is in it, as "/api/v1/emails"; or all below "/api/". */
function isOf(path: string, which: string): boolean {
  return which.endsWith("/") ? path.startsWith(which) : path === which || path.startsWith(`${which}/:`);
}

/** After signing out, nothing of it is left. */
export function forgetAnswers(): void {
  entries.clear();
}
