// The sandbox's phones: a conversation for each number, and a way to write back as one of them.

import { byId, fetchText, formatTime, isWide, make, makeListItem } from "./dom.js";

/** As many messages as the page asks for. */
const LISTED = 500;
const NUMBER = /^\+?\d{3,15}$/;

/** The workspace's own number, which phones can write to; "": there are no phones. */
export const OWN_NUMBER = document.documentElement.dataset.number;

let messages = [];
let listText = "";
let phone = null;
let drawnPhone = null;
const bubbles = new Map();
let onChange = () => undefined;

export function startPhones(changed) {
  onChange = changed;
  byId("send").addEventListener("click", writeBack);
  byId("answer").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    void writeBack();
  });
  byId("phone-filter").addEventListener("input", drawPhones);
  byId("phone-back").addEventListener("click", () => {
    phone = null;
    drawnPhone = null;
    drawPhones();
  });
}

export async function pollPhones() {
  const text = await fetchText(`/sandbox/texts?include=sent&limit=${LISTED}`);
  if (text === listText) return;
  listText = text;
  messages = JSON.parse(text);
  if (messages.length === 0) phone = null;
  drawPhones();
  onChange();
}

export function hasMessages() {
  return messages.length > 0;
}

export async function deleteMessages() {
  await fetch("/sandbox/texts", { method: "DELETE" });
  await pollPhones();
}

export function drawPhones() {
  if (byId("phones").hidden) return;
  const newest = new Map();
  for (const message of messages) if (!newest.has(numberOfPhone(message))) newest.set(numberOfPhone(message), message);
  const wanted = byId("phone-filter").value.replaceAll(" ", "");
  const numbers = [...newest.keys()].filter((number) => number.includes(wanted));
  if (phone === null && numbers.length > 0 && isWide()) phone = numbers[0];
  byId("phone-list").replaceChildren(...numbers.map((number) => makePhoneItem(number, newest.get(number))));
  byId("no-phones").hidden = numbers.length > 0;
  byId("no-phones").textContent = messages.length > 0 ? "No phone matches" : "No messages yet";
  byId("phone").hidden = phone === null;
  byId("phone-welcome").hidden = phone !== null;
  document.body.dataset.phone = phone === null ? "list" : "open";
  if (phone !== null) drawConversation();
}

function numberOfPhone({ direction, from, to }) {
  return direction === "in" ? to : from;
}

function makePhoneItem(number, newest) {
  const top = make("span", "top");
  top.append(make("span", "to", number), make("span", "when", formatTime(newest.receivedAt)));
  const title = make("span", "title", (newest.direction === "out" ? "↩ " : `${newest.from}: `) + newest.body);
  const item = makeListItem([top, title], () => {
    phone = number;
    drawPhones();
  });
  item.firstChild.setAttribute("aria-current", String(number === phone));
  return item;
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
  const own = messages.filter((message) => numberOfPhone(message) === phone).toReversed();
  const ids = new Set(own.map(({ id }) => id));
  for (const [id, bubble] of bubbles) {
    if (ids.has(id)) continue;
    bubble.remove();
    bubbles.delete(id);
  }
  for (const message of own) {
    if (bubbles.has(message.id)) continue;
    const bubble = makeBubble(message);
    bubbles.set(message.id, bubble);
    list.append(bubble);
  }
  drawAnswerable(own);
  if (isAtEnd) list.scrollTop = list.scrollHeight;
}

function makeBubble({ direction, from, to, body, segments, encoding, receivedAt }) {
  const bubble = make("li", `bubble ${direction}`);
  const parts = segments === 1 ? "1 segment" : `${segments} segments`;
  const coding = { gsm7: "GSM-7", ucs2: "UCS-2", latin1: "Latin-1" }[encoding] ?? encoding;
  bubble.append(
    make("span", "who", direction === "in" ? from : `to ${to}`),
    make("p", "", body),
    make("span", "facts", `${formatTime(receivedAt)} · ${parts} · ${coding}`),
  );
  return bubble;
}

/** A name cannot be answered; a number that this phone had a message from can, and the workspace's own. */
function drawAnswerable(own) {
  const received = own.filter(({ direction }) => direction === "in").map(({ from }) => from);
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
    await pollPhones();
  } catch {
    byId("said").textContent = "pombo dev does not answer.";
  }
  byId("send").disabled = false;
  byId("answer").focus();
}
