// The sandbox's page: switches between mail and phones, asks for news every second, and knows the keys.

import { byId, pressOne, showSample } from "./dom.js";
import {
  countFresh,
  deleteMail,
  describeMail,
  hasMail,
  mailHash,
  moveMail,
  openMail,
  startMail,
  takeMail,
} from "./mail.js";
import { deleteMessages, drawPhones, hasMessages, OWN_NUMBER, startPhones, takePhones } from "./phones.js";
import { moveTab, startReader, toggleWidth } from "./reader.js";

const POLL_MS = 1000;
/** A tab in the background only counts what is new, in its title. */
const HIDDEN_POLL_MS = 5000;
const VIEWS = ["mail", "phones"];

/** The newest feed's entity tag. */
let feedTag = "";

for (const list of document.querySelectorAll("dl.tries")) list.append(byId("tries").content.cloneNode(true));

function view() {
  return document.body.dataset.world;
}

function enter(name) {
  document.body.dataset.world = name;
  pressOne("world", VIEWS, name);
  for (const each of VIEWS) byId(each).hidden = each !== name;
  drawPhones();
  drawBar();
}

/** What both views share: the title, the address, the status and the button. */
function drawBar() {
  const isMail = view() === "mail";
  document.title = countFresh() > 0 ? `(${countFresh()}) pombo sandbox` : "pombo sandbox";
  history.replaceState(null, "", isMail ? mailHash() || location.pathname : "#phones");
  byId("empty").hidden = !(isMail ? hasMail() : hasMessages());
  if (byId("status").classList.contains("lost")) return;
  const phonesStatus = hasMessages() ? "" : "Waiting for messages";
  byId("status").textContent = isMail ? describeMail() : phonesStatus;
}

async function poll() {
  const status = byId("status");
  try {
    const answer = await fetch("/sandbox/feed", { cache: "no-store", headers: { "if-none-match": feedTag } });
    if (!answer.ok && answer.status !== 304) throw new Error(`status ${answer.status}`);
    status.classList.remove("lost");
    if (answer.ok) {
      const { mail, phones } = await answer.json();
      feedTag = answer.headers.get("etag");
      takeMail(mail);
      takePhones(phones);
    }
    drawBar();
  } catch {
    status.classList.add("lost");
    status.textContent = "pombo dev does not answer. Trying again …";
  }
}

async function pollForever() {
  await poll();
  setTimeout(pollForever, document.hidden ? HIDDEN_POLL_MS : POLL_MS);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || view() !== "mail") return;
  if (event.target === byId("filter")) {
    if (event.key === "Escape") byId("filter").blur();
    return;
  }
  if (event.key === "j") moveMail(1);
  else if (event.key === "k") moveMail(-1);
  else if (event.key === "w") toggleWidth();
  else if (event.key === "/") {
    event.preventDefault();
    byId("filter").focus();
  } else if (event.target.getAttribute("role") === "tab") {
    if (event.key === "ArrowRight") moveTab(1);
    if (event.key === "ArrowLeft") moveTab(-1);
  }
}

async function deleteAll() {
  if (view() === "phones") {
    if (confirm("Delete all messages on the sandbox's phones?")) await deleteMessages();
  } else if (confirm("Delete all messages in the sandbox's inbox?")) await deleteMail();
  await poll();
}

function followHash() {
  const name = location.hash === "#phones" && OWN_NUMBER ? "phones" : "mail";
  if (name === "mail") openMail(location.hash.slice(1));
  enter(name);
}

const email = {
  from: `Sandbox <hello@${document.documentElement.dataset.domain}>`,
  to: "ada@example.com",
  subject: "First flight",
  html: "<h1>It flies</h1><p>Sent with pombo.</p>",
};
const sms = { to: document.documentElement.dataset.recipient, body: "O seu código é 482913." };
showSample({ sample: "sample", button: "copy", path: "/api/v1/emails", body: JSON.stringify(email, null, 2) });
showSample({ sample: "phone-sample", button: "phone-copy", path: "/api/v1/sms", body: JSON.stringify(sms) });

startMail(drawBar);
startReader();
startPhones(poll);
document.addEventListener("keydown", onKey);
document.addEventListener("visibilitychange", () => void (document.hidden ? null : poll()));
byId("empty").addEventListener("click", deleteAll);
for (const each of VIEWS) byId(`world-${each}`).addEventListener("click", () => enter(each));
window.addEventListener("hashchange", followHash);
followHash();
void pollForever();
