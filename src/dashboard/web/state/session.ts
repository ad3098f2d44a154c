// Who is signed in, and the workspace that the page is about.

import { computed, signal } from "@preact/signals";
import { ApiError, call, hooks } from "../api/client.ts";
import type { Data } from "../api/calls.ts";
import { followLanguage } from "./preferences.ts";

export type Me = Data<"GET /api/v1/auth/me">;

/** Undefined: not asked yet; null: nobody. */
export const me = signal<Me | null | undefined>(undefined);

/** Of the page, or of the last page that was about one; null: the person is in none. */
export const workspaceId = signal<string | null>(null);

/** With the person's role in it; an operator sees it without being a member. */
export const workspace = computed(() => me.value?.workspaces.find(({ id }) => id === workspaceId.value) ?? null);

hooks.getWorkspace = () => workspaceId.value;
// Behind the #, so that no server and no proxy has it in a log.
hooks.getLink = () => location.hash.slice(1);
// Another tab may have signed in anew meanwhile: it is asked.
hooks.signedOut = () => void loadMe();

export async function loadMe(): Promise<void> {
  try {
    await takeMe((await call("GET /api/v1/auth/me")).data);
  } catch (error) {
    // Without an answer it stays unknown, and is asked again when the server is back.
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 401) me.value = null;
    // The server is starting, or is asked too often.
    else if (error.retryAfterS !== null) setTimeout(() => void loadMe(), error.retryAfterS * 1_000);
  }
}

/** After a sign-in, or a change of the account. Nothing is drawn in another language first, if that one comes. */
export async function takeMe(changed: Me): Promise<void> {
  try {
    await followLanguage(changed.user.language);
  } catch {
    // Its script does not come: the pages go on in the language that they have.
  }
  me.value = changed;
}

export function forgetSession(): void {
  me.value = null;
}

/** The address of a page of the workspace. */
export function workspacePath(page = "", id: string | null = workspaceId.value): string {
  return `/dashboard/w/${id ?? ""}${page === "" ? "" : `/${page}`}`;
}
