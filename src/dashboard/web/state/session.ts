// Who is signed in, and the workspace that the page is about.

import { computed, signal } from "@preact/signals";
import { call, hooks } from "../api/client.ts";
import type { Data } from "../api/calls.ts";

export type Me = Data<"GET /api/v1/auth/me">;

/** Undefined: not asked yet; null: nobody. */
export const me = signal<Me | null | undefined>(undefined);

/** Of the page, or of the last page that was about one; null: the person is in none. */
export const workspaceId = signal<string | null>(null);

/** With the person's role in it; an operator sees it without being a member. */
export const workspace = computed(() => me.value?.workspaces.find(({ id }) => id === workspaceId.value) ?? null);

hooks.getWorkspace = () => workspaceId.value;
hooks.signedOut = () => void (me.value = null);

export async function loadMe(): Promise<void> {
  try {
    me.value = (await call("GET /api/v1/auth/me")).data;
  } catch {
    // Without an answer it stays unknown, and is asked again when the server is back.
  }
}

/** After a sign-in, or a change of the account. */
export function takeMe(changed: Me): void {
  me.value = changed;
}

export function forgetSession(): void {
  me.value = null;
}

/** The address of a page of the workspace. */
export function workspacePath(page = "", id: string | null = workspaceId.value): string {
  return `/dashboard/w/${id ?? ""}${page === "" ? "" : `/${page}`}`;
}
