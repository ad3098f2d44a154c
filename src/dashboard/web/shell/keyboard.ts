// The keys of the whole dashboard.

import { signal } from "@preact/signals";
import { listPages } from "./navigation.ts";
import { workspaceId, workspacePath } from "../state/session.ts";

export type Overlay = "palette" | "workspaces" | "keys" | "menu";
/** What lies over the page; null: nothing. */
export const overlay = signal<Overlay | null>(null);

const CHORD_MS = 1_500;

/** Listens until the returned function is called. */
export function listenToKeys(goTo: (path: string) => void): () => void {
  let chordUntil = 0;
  const press = (event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      overlay.value = overlay.value === "palette" ? null : "palette";
      return;
    }
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      isTyping(event.target) ||
      document.querySelector("dialog[open]")
    )
      return;
    if (event.key === "?") overlay.value = "keys";
    else if (event.key === "g") chordUntil = event.timeStamp + CHORD_MS;
    else if (event.timeStamp < chordUntil) {
      chordUntil = 0;
      const item = listPages().find(({ chord }) => chord === event.key);
      if (item === undefined || workspaceId.value === null) return;
      event.preventDefault();
      goTo(workspacePath(item.page));
    }
  };
  addEventListener("keydown", press);
  return () => removeEventListener("keydown", press);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}
