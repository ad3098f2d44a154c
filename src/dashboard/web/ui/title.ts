// The title of the browser's tab.

/** They would turn what stands beside the title, in the browser's own bars. */
const DIRECTIONS = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g;

export function setTitle(title: string): void {
  document.title = `${title.replace(DIRECTIONS, "")} · pombo`;
}
