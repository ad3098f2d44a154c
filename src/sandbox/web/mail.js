// The list of the sandbox's messages; reader.js shows the chosen one.

import { byId, fetchText, formatTime, isWide, make, makeListItem } from "./dom.js";
import { describeAuthor, drawMarks, nameOfAuthor, showMessage } from "./reader.js";

/** As many as the list asks for. */
const LISTED = 500;

let messages = [];
let listText = "";
const items = new Map();
const fresh = new Set();
let highestSeen = null;
let shown = null;
let onChange = () => undefined;
/** What the address asked for when the page was opened. */
let wanted = location.hash.slice(1);

/** `changed` is called when the list, or what is chosen, changed. */
export function startMail(changed) {
  onChange = changed;
  byId("filter").addEventListener("input", drawList);
  byId("back").addEventListener("click", () => choose(null));
}

export async function pollMail() {
  const text = await fetchText(`/sandbox/messages?raw=false&limit=${LISTED}`);
  if (text === listText) return;
  listText = text;
  take(JSON.parse(text));
}

export function hasMail() {
  return messages.length > 0;
}

/** "" or "#" and the id of the chosen message. */
export function mailHash() {
  return shown === null ? "" : `#${shown}`;
}

export function describeMail() {
  const count = messages.length;
  if (count === 0) return "Waiting for mail";
  if (count === LISTED) return `The newest ${LISTED} messages`;
  return count === 1 ? "1 message" : `${count} messages`;
}

/** How many came in since the page was opened and were not looked at. */
export function countFresh() {
  return fresh.size;
}

export async function deleteMail() {
  await fetch("/sandbox/messages", { method: "DELETE" });
  fresh.clear();
  await pollMail();
}

/** Shows the message with this id, now or as soon as it comes in. */
export function openMail(id) {
  const isHere = messages.some((message) => message.id === id);
  wanted = isHere ? "" : id;
  if (isHere && id !== shown) void choose(id);
}

/** To the next message (1) or the one before (-1). */
export function moveMail(step) {
  const list = visible();
  if (list.length === 0) return;
  const place = list.findIndex(({ id }) => id === shown);
  const next = list[Math.min(Math.max(place + step, 0), list.length - 1)];
  if (next.id !== shown) choose(next.id);
  items.get(next.id).scrollIntoView({ block: "nearest" });
}

function take(list) {
  const isFirst = highestSeen === null;
  for (const { id } of list) if (!isFirst && Number(id) > highestSeen) fresh.add(id);
  messages = list;
  highestSeen = Math.max(highestSeen ?? 0, Number(list[0]?.id ?? 0));
  if (shown !== null && list.length === 0) choose(null);
  drawList();
  if (list.some(({ id }) => id === wanted)) openMail(wanted);
  else if (shown === null && list.length > 0 && isWide()) choose(visible()[0]?.id ?? null, { keepsView: true });
}

function visible() {
  const words = byId("filter").value.trim().toLowerCase();
  return messages.filter(({ to, subject }) => `${to}\n${subject}`.toLowerCase().includes(words));
}

function drawList() {
  const list = byId("messages");
  const listed = visible();
  const ids = new Set(listed.map(({ id }) => id));
  for (const [id, item] of items) {
    if (ids.has(id)) continue;
    item.remove();
    items.delete(id);
  }
  for (const [place, message] of listed.entries()) {
    const item = items.get(message.id) ?? makeItem(message);
    items.set(message.id, item);
    // Only what is new moves, so that the keyboard focus stays where it was.
    if (list.children[place] !== item) list.insertBefore(item, list.children[place] ?? null);
    item.firstChild.setAttribute("aria-current", String(message.id === shown));
    item.classList.toggle("fresh", fresh.has(message.id));
  }
  const isVacant = messages.length === 0;
  byId("mail").classList.toggle("vacant", isVacant);
  byId("welcome").hidden = !isVacant;
  document.querySelector(".try").hidden = isVacant;
  byId("nothing").hidden = listed.length > 0;
  byId("nothing").textContent = isVacant ? "No messages yet" : "No message matches";
  onChange();
}

function makeItem(message) {
  const top = make("span", "top");
  top.append(make("span", "to", message.to), make("span", "when", formatTime(message.receivedAt)));
  const bottom = make("span", "bottom");
  const author = nameOfAuthor(message.from) || message.envelopeFrom || "(no author)";
  bottom.append(make("span", "from", author), ...drawMarks(message));
  const title = make("span", "title", message.subject || "(no subject)");
  return makeListItem([top, title, bottom], () => choose(message.id));
}

async function choose(id, { keepsView = false } = {}) {
  shown = id;
  byId("reader").hidden = id === null;
  if (!keepsView) document.body.dataset.view = id === null ? "list" : "reader";
  fresh.delete(id);
  drawList();
  if (id === null) return;
  const message = messages.find((candidate) => candidate.id === id);
  await showMessage(id, {
    head: message === undefined ? null : { ...message, author: describeAuthor(message) },
    // Somebody pressed j meanwhile: the answer is about a message that is no longer shown.
    isShown: () => shown === id,
  });
}
