// Where each page was left: a new one begins at its top, the way back leads to the same place.

const places = new Map<string, number>();
let isBack = false;

/** On a phone the page itself scrolls, between its bars; elsewhere the window does. */
function findScroller(): Element | null {
  const content = document.getElementById("content");
  if (content !== null && getComputedStyle(content).overflowY === "auto") return content;
  return document.scrollingElement;
}

export function watchScrolling(): void {
  history.scrollRestoration = "manual";
  addEventListener("popstate", () => void (isBack = true));
  const note = () => void places.set(location.href, findScroller()?.scrollTop ?? 0);
  // Captured: the scrolling of an element does not bubble.
  document.addEventListener("scroll", note, { capture: true, passive: true });
}

/** After a page is drawn. */
export function arrive(): void {
  // Also for those who hear the page.
  document.getElementById("content")?.focus({ preventScroll: true });
  findScroller()?.scrollTo(0, isBack ? (places.get(location.href) ?? 0) : 0);
  isBack = false;
}
