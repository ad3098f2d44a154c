// The title of the browser's tab.
export function setTitle(title: string): void {
  document.title = `${title} · pombo`;
}
