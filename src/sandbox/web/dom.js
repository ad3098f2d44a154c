// Small helpers of the sandbox's page. Whatever comes from a message is set as text, never as markup.

const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };

export function byId(id) {
  return document.getElementById(id);
}

export function make(tag, name = "", text = null) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== null) element.textContent = text;
  return element;
}

/** A button in a list item: what every list of the page is made of. */
export function makeListItem(children, onClick) {
  const item = make("li");
  const button = make("button");
  button.type = "button";
  button.append(...children);
  button.addEventListener("click", onClick);
  item.append(button);
  return item;
}

/**
 * Makes `list` show these rows, each by its `key`: rows that stay keep their element and the keyboard's focus. `items`
 * holds the element of each key; `make` makes one, `update` is called for each.
 */
export function drawRows(list, items, rows, { make: makeRow, update }) {
  const focused = document.activeElement;
  const keys = new Set(rows.map(({ key }) => key));
  for (const [key, item] of items) {
    if (keys.has(key)) continue;
    item.remove();
    items.delete(key);
  }
  for (const [place, row] of rows.entries()) {
    const item = items.get(row.key) ?? makeRow(row);
    items.set(row.key, item);
    if (list.children[place] !== item) list.insertBefore(item, list.children[place] ?? null);
    update(item, row);
  }
  // An element that is moved loses it.
  if (list.contains(focused) && document.activeElement !== focused) focused.focus({ preventScroll: true });
}

const KINDS = { delivered: "good", delivery_delayed: "slow" };
const FAILED = new Set(["bounced", "failed", "complained", "suppressed", "undelivered", "expired"]);

/** A status of the API, as the lists show it. */
export function makeStatus({ status }) {
  const kind = FAILED.has(status) ? "bad" : (KINDS[status] ?? "");
  return make("span", `mark ${kind}`, status.replaceAll("_", " "));
}

/** Today only the time. */
export function formatTime(iso) {
  const at = new Date(iso);
  const isToday = at.toDateString() === new Date().toDateString();
  return isToday ? at.toLocaleTimeString([], CLOCK) : formatDateAndTime(iso);
}

export function formatDateAndTime(iso) {
  const at = new Date(iso);
  return `${at.toLocaleDateString()} ${at.toLocaleTimeString([], CLOCK)}`;
}

export function formatSize(bytes) {
  if (bytes < 1024) return `${bytes} bytes`;
  return bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}

/** A definition list of [term, description] pairs. */
export function makePairs(rows) {
  return fillPairs(make("dl", "pairs"), rows);
}

export function fillPairs(list, rows) {
  list.replaceChildren(...rows.flatMap(([term, description]) => [make("dt", "", term), make("dd", "", description)]));
  return list;
}

/** Presses one of the buttons `${prefix}-${name}`. */
export function pressOne(prefix, names, pressed) {
  for (const name of names) byId(`${prefix}-${name}`).setAttribute("aria-pressed", String(name === pressed));
}

/** Beside the list there is room for what is chosen. */
export function isWide() {
  return matchMedia("(min-width: 761px)").matches;
}

export async function fetchText(path) {
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.text();
}

/** A curl command that sends `body` to the API, and the button that copies it. */
export function showSample({ sample, button, path, body }) {
  byId(sample).textContent = [
    `curl -s -w '\\n' ${location.origin}${path}`,
    '-H "X-API-Key: $POMBO_KEY"',
    '-H "Content-Type: application/json"',
    `-d '${body}'`,
  ].join(" \\\n  ");
  byId(button).addEventListener("click", async () => {
    await navigator.clipboard.writeText(byId(sample).textContent);
    byId(button).textContent = "Copied";
    setTimeout(() => (byId(button).textContent = "Copy"), 1500);
  });
}
