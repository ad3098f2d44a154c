// Where each page was left: a new one begins at its top, the way back leads to the same place.

const places = new Map<string, number>();
let isArriving = false;

/** A page may come in pieces: until it is as long as it was, for so long at the most. */
const ARRIVAL_MS = 1_000;

/** On a phone the page itself scrolls, between its bars; elsewhere the window does. */
function findScroller(): Element | null {
  const content = document.getElementById("content");
  if (content !== null && getComputedStyle(content).overflowY === "auto") return content;
  return document.scrollingElement;
}

export function watchScrolling(): void {
  history.scrollRestoration = "manual";
  const note = () => {
    if (!isArriving) places.set(location.href, findScroller()?.scrollTop ?? 0);
  };
  // Captured: the scrolling of an element does not bubble.
  document.addEventListener("scroll", note, { capture: true, passive: true });
}

/** After the address changed: by a new entry of the history, or by a way back or forth. */
export function arrive(isNew: boolean): void {
  // Also for those who hear the page.
  document.getElementById("content")?.focus({ preventScroll: true });
  scrollTo(isNew ? 0 : (places.get(location.href) ?? 0));
}

function scrollTo(top: number): void {
  const { href } = location;
  const endsAt = performance.now() + ARRIVAL_MS;
  isArriving = true;
  const step = () => {
    const scroller = findScroller();
    scroller?.scrollTo(0, top);
    const isThere = (scroller?.scrollTop ?? top) >= Math.floor(top);
    isArriving = location.href === href && !isThere && performance.now() < endsAt;
    if (isArriving) requestAnimationFrame(step);
  };
  step();
}
