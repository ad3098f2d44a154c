// The list of the sandbox's emails; reader.js shows the chosen one.

import { byId, drawRows, formatTime, isWide, make, makeListItem, makeStatus } from "./dom.js";
import { drawMarks, nameOfAuthor, showMessage, updateRecord } from "./reader.js";

/** Newest first: `message`, what arrived, and `sent`, the record of the API; one of them may be null. */
let entries = [];
const items = new Map();
const fresh = new Set();
let known = null;
let shown = null;
let onChange = () => undefined;
/** What the address asked for when the page was opened. */
let wanted = location.hash.slice(1);

/** `changed` is called when the list, or what is chosen, changed. */
export function startMail(changed) {
  onChange = changed;
  byId("filter").addEventListener("input", drawList);
  byId("back").addEventListener("click", () => {
    const item = items.get(shown);
    choose(null);
    item?.firstChild.focus();
  });
}

export function hasMail() {
  return entries.length > 0;
}

/** "" or "#" and the key of the chosen message. */
export function mailHash() {
  return shown === null ? "" : `#${shown}`;
}

export function describeMail() {
  const count = entries.length;
  if (count === 0) return "Waiting for mail";
  return count === 1 ? "1 message" : `${count} messages`;
}

/** How many came in since the page was opened and were not looked at. */
export function countFresh() {
  return fresh.size;
}

export async function deleteMail() {
  await fetch("/sandbox/messages", { method: "DELETE" });
  fresh.clear();
}

/** Shows the message with this id, of the inbox or of the API, now or as soon as it comes in. */
export function openMail(id) {
  const entry = entries.find(({ key, sent }) => key === id || (id !== "" && sent?.id === id));
  wanted = entry === undefined ? id : "";
  if (entry !== undefined && entry.key !== shown) void choose(entry.key);
}

/** To the next message (1) or the one before (-1). */
export function moveMail(step) {
  const list = visible();
  if (list.length === 0) return;
  const place = list.findIndex(({ key }) => key === shown);
  const next = list[Math.min(Math.max(place + step, 0), list.length - 1)];
  if (next.key !== shown) choose(next.key);
  items.get(next.key).scrollIntoView({ block: "nearest" });
}

/** `list`: the emails as the feed has them. */
export function takeMail(list) {
  entries = list.map(({ message, sent }) => ({ key: message?.id ?? sent.id, message, sent }));
  if (known !== null) for (const { key } of entries) if (!known.has(key)) fresh.add(key);
  known = new Set(entries.map(({ key }) => key));
  const chosen = entries.find(({ key }) => key === shown);
  // It was chosen as a record, and has arrived since.
  const arrived = chosen === undefined && entries.find(({ sent }) => sent !== null && sent.id === shown);
  if (arrived) choose(arrived.key, { keepsView: true });
  else if (shown !== null && entries.length === 0) choose(null);
  else if (chosen !== undefined) updateRecord(chosen.sent);
  drawList();
  if (wanted !== "") openMail(wanted);
  if (shown === null && entries.length > 0 && isWide()) choose(visible()[0]?.key ?? null, { keepsView: true });
}

function visible() {
  const words = byId("filter").value.trim().toLowerCase();
  return entries.filter(({ message, sent }) => {
    const { to, subject } = message ?? sent;
    return `${to}\n${subject}\n${sent?.status.replaceAll("_", " ") ?? ""}`.toLowerCase().includes(words);
  });
}

function drawList() {
  const listed = visible();
  drawRows(byId("messages"), items, listed, { make: makeItem, update: updateItem });
  const isVacant = entries.length === 0;
  byId("mail").classList.toggle("vacant", isVacant);
  byId("welcome").hidden = !isVacant;
  document.querySelector(".try").hidden = isVacant;
  byId("nothing").hidden = listed.length > 0;
  byId("nothing").textContent = isVacant ? "No messages yet" : "No message matches";
  onChange();
}

function makeItem({ key, message, sent }) {
  const { to, from, subject } = message ?? sent;
  const top = make("span", "top");
  top.append(make("span", "to", to), make("span", "when", formatTime(message?.receivedAt ?? sent.createdAt)));
  const bottom = make("span", "bottom");
  const author = nameOfAuthor(from) || message?.envelopeFrom || "(no author)";
  bottom.append(make("span", "from", author), make("span", "marks"));
  return makeListItem([top, make("span", "title", subject || "(no subject)"), bottom], () => {
    choose(key);
    if (!isWide()) byId("back").focus();
  });
}

function updateItem(item, { key, message, sent }) {
  item.firstChild.setAttribute("aria-current", String(key === shown));
  item.classList.toggle("fresh", fresh.has(key));
  const marks = item.querySelector(".marks");
  const wrong = message === null ? [] : drawMarks(message, { isWrongOnly: true });
  marks.replaceChildren(...wrong, ...(sent === null ? [] : [makeStatus(sent)]));
}

async function choose(key, { keepsView = false } = {}) {
  shown = key;
  byId("reader").hidden = key === null;
  if (!keepsView) document.body.dataset.view = key === null ? "list" : "reader";
  fresh.delete(key);
  drawList();
  const entry = entries.find((candidate) => candidate.key === key);
  if (entry === undefined) return;
  const { message, sent } = entry;
  await showMessage({
    message,
    sent,
    // Somebody pressed j meanwhile: the answer is about a message that is no longer shown.
    isShown: () => shown === key,
  });
}
