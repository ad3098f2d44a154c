// The sandbox's phones: a conversation for each number, and a way to write back as one of them.

import { byId, drawRows, formatTime, isWide, make, makeListItem, makeStatus } from "./dom.js";

const NUMBER = /^\+?\d{3,15}$/;

/** The workspace's own number, which phones can write to; "": there are no phones. */
export const OWN_NUMBER = document.documentElement.dataset.number;

/** Newest first: `text`, which is on the phone, and `sent`, the record of the API; one of them may be null. */
let entries = [];
let phone = null;
let drawnPhone = null;
const items = new Map();
const bubbles = new Map();
let refresh = async () => undefined;

/** `poll` asks for news. */
export function startPhones(poll) {
  refresh = poll;
  byId("send").addEventListener("click", writeBack);
  byId("answer").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    void writeBack();
  });
  byId("phone-filter").addEventListener("input", drawPhones);
  byId("phone-back").addEventListener("click", () => {
    const item = items.get(phone);
    phone = null;
    drawnPhone = null;
    drawPhones();
    item?.firstChild.focus();
  });
}

/** `list`: the SMS as the feed has them. */
export function takePhones(list) {
  entries = list.map(({ text, sent }) => ({
    key: text?.id ?? sent.id,
    number: text?.direction === "out" ? text.from : (text ?? sent).to,
    at: text?.receivedAt ?? sent.createdAt,
    text,
    sent,
  }));
  if (entries.length === 0) phone = null;
  drawPhones();
}

export function hasMessages() {
  return entries.length > 0;
}

export async function deleteMessages() {
  await fetch("/sandbox/texts", { method: "DELETE" });
}

export function drawPhones() {
  if (byId("phones").hidden) return;
  const newest = new Map();
  for (const entry of entries) if (!newest.has(entry.number)) newest.set(entry.number, entry);
  const wanted = byId("phone-filter").value.replaceAll(" ", "");
  const rows = [...newest.values()]
    .filter(({ number }) => number.includes(wanted))
    .map((entry) => ({ ...entry, key: entry.number }));
  if (phone === null && rows.length > 0 && isWide()) phone = rows[0].number;
  drawRows(byId("phone-list"), items, rows, { make: makePhoneItem, update: updatePhoneItem });
  byId("no-phones").hidden = rows.length > 0;
  byId("no-phones").textContent = entries.length > 0 ? "No phone matches" : "No messages yet";
  byId("phone").hidden = phone === null;
  byId("phone-welcome").hidden = phone !== null;
  document.body.dataset.phone = phone === null ? "list" : "open";
  if (phone !== null) drawConversation();
}

function makePhoneItem({ number }) {
  const top = make("span", "top");
  top.append(make("span", "to", number), make("span", "when"));
  const bottom = make("span", "bottom");
  bottom.append(make("span", "title"), make("span", "marks"));
  return makeListItem([top, bottom], () => {
    phone = number;
    drawPhones();
    if (!isWide()) byId("phone-back").focus();
  });
}

function updatePhoneItem(item, { number, at, text, sent }) {
  const { from, body } = text ?? sent;
  item.querySelector(".when").textContent = formatTime(at);
  item.querySelector(".title").textContent = (text?.direction === "out" ? "↩ " : `${from}: `) + body;
  item.querySelector(".marks").replaceChildren(...(sent === null ? [] : [makeStatus(sent)]));
  item.firstChild.setAttribute("aria-current", String(number === phone));
}

function drawConversation() {
  const list = byId("bubbles");
  let isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  if (drawnPhone !== phone) {
    drawnPhone = phone;
    isAtEnd = true;
    bubbles.clear();
    list.replaceChildren();
    byId("phone-number").textContent = phone;
    byId("said").textContent = "";
  }
  const own = entries.filter(({ number }) => number === phone).toReversed();
  drawRows(list, bubbles, own, { make: makeBubble, update: updateBubble });
  drawAnswerable(own);
  if (isAtEnd) list.scrollTop = list.scrollHeight;
}

function makeBubble({ text, sent, at }) {
  const { from, to, body, segments, encoding } = text ?? sent;
  const isOut = text?.direction === "out";
  const bubble = make("li", `bubble ${isOut ? "out" : "in"} ${text === null ? "missing" : ""}`);
  const parts = segments === 1 ? "1 segment" : `${segments} segments`;
  const coding = { gsm7: "GSM-7", ucs2: "UCS-2", latin1: "Latin-1" }[encoding] ?? encoding;
  const facts = make("span", "facts");
  facts.append(make("span", "", `${formatTime(at)} · ${parts} · ${coding}`), make("span", "marks"));
  bubble.append(make("span", "who", isOut ? `to ${to}` : from), make("p", "", body), facts, make("span", "reason"));
  return bubble;
}

function updateBubble(bubble, { text, sent }) {
  if (sent === null) return;
  bubble.querySelector(".marks").replaceChildren(makeStatus(sent));
  const reason = [text === null ? "Not on the phone" : null, findReason(sent)].filter((words) => words !== null);
  bubble.querySelector(".reason").textContent = reason.join(": ");
}

/** Why it is not delivered, or not once; null: it is, or nothing is known yet. */
function findReason({ status, failedReason, failureCategory, possibleDuplicate }) {
  if (status === "delivered") return possibleDuplicate ? "It may have been sent twice" : null;
  return failedReason ?? failureCategory?.replaceAll("_", " ") ?? null;
}

/** A name cannot be answered; a number that this phone had a message from can, and the workspace's own. */
function drawAnswerable(own) {
  const received = own.filter(({ text }) => text?.direction === "in").map(({ text }) => text.from);
  const numbers = [...new Set([OWN_NUMBER, ...received.filter((from) => NUMBER.test(from))])];
  const select = byId("answer-to");
  const chosen = select.value;
  if ([...select.options].map(({ value }) => value).join() !== numbers.join()) {
    select.replaceChildren(...numbers.map((number) => new Option(number)));
    if (numbers.includes(chosen)) select.value = chosen;
  }
  const last = received.at(-1);
  byId("no-answer").hidden = last === undefined || NUMBER.test(last);
  byId("no-answer").textContent = `${last} is a name: names cannot be answered. Write to a number instead.`;
}

async function writeBack() {
  const body = byId("answer").value;
  if (body === "" || phone === null) return;
  byId("send").disabled = true;
  try {
    const answer = await fetch("/sandbox/texts", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ from: phone, to: byId("answer-to").value, body }),
    });
    const { errors } = await answer.json();
    if (answer.ok) byId("answer").value = "";
    byId("said").textContent = answer.ok ? "" : errors[0].message;
    await refresh();
  } catch {
    byId("said").textContent = "pombo dev does not answer.";
  }
  byId("send").disabled = false;
  byId("answer").focus();
}
