// One message of the sandbox's inbox: html, text, source and details. Its html goes only into the frame, by address.

import { byId, fetchText, formatDateAndTime, formatSize, formatTime, make, makePairs } from "./dom.js";

const SHOWN_CHARACTERS = 500_000;
const TABS = ["html", "text", "source", "details"];

let tab = "html";
let isFrameExpected = false;
/** The message that is drawn: its id, and whether it still is the chosen one. */
let current = { id: null, isShown: () => false };

export function startReader() {
  // A link was clicked in the frame, and the page's policy has stopped it: bring the message back and show where
  // its links can be opened.
  byId("frame").addEventListener("load", () => {
    if (isFrameExpected || !current.isShown()) {
      isFrameExpected = false;
      return;
    }
    showFrame(current.id);
    byId("links").open = true;
  });
  for (const name of TABS) byId(`tab-${name}`).addEventListener("click", () => openTab(name));
  openTab("html");
}

/** The tab to the left (-1) or to the right (1) of the open one; gets the focus. */
export function moveTab(step) {
  const place = TABS.findIndex((name) => byId(`tab-${name}`).getAttribute("aria-selected") === "true");
  const next = TABS[(place + step + TABS.length) % TABS.length];
  openTab(next);
  byId(`tab-${next}`).focus();
}

/** Fetches the message and draws it; until then its `head`, as the list has it. */
export async function showMessage(id, { head, isShown }) {
  current = { id, isShown };
  if (head !== null) drawHead(head);
  clearPanels();
  try {
    const message = JSON.parse(await fetchText(`/sandbox/messages/${id}?raw=false`));
    if (isShown()) drawMessage(message);
  } catch {
    if (isShown()) drawFault("The message could not be fetched. It may have been removed.");
  }
}

export function drawMarks({ dkim, tls }) {
  const kind = { pass: "good", fail: "bad" }[dkim] ?? "";
  return [
    make("span", `mark ${kind}`, dkim === "none" ? "no DKIM" : `DKIM ${dkim}`),
    make("span", `mark ${tls ? "good" : ""}`, tls ? tls.replace("TLSv", "TLS ") : "no TLS"),
  ];
}

export function nameOfAuthor(from) {
  const open = from.lastIndexOf("<");
  return withoutQuotes(open > 0 ? from.slice(0, open).trim() : from);
}

export function describeAuthor({ from, envelopeFrom }) {
  const open = from.lastIndexOf("<");
  return (open > 0 ? `${nameOfAuthor(from)} ${from.slice(open)}` : from) || envelopeFrom || "(no author)";
}

/** The author comes with every name in quotes, also where nobody typed any. */
function withoutQuotes(name) {
  const inner = name.length > 1 && name.startsWith('"') && name.endsWith('"') ? name.slice(1, -1) : name;
  // Several authors, or quotes that are part of the name.
  return inner.includes('"') ? name : inner;
}

function drawHead(message) {
  byId("subject").textContent = message.subject || "(no subject)";
  byId("author").textContent = describeAuthor(message);
  byId("recipient").textContent = message.to;
  byId("received").textContent = formatTime(message.receivedAt);
  byId("received").dateTime = message.receivedAt;
  byId("marks").replaceChildren(...drawMarks(message));
}

function clearPanels() {
  for (const id of ["fault", "frame", "links", "images", "no-html"]) byId(id).hidden = true;
  for (const id of ["text", "source", "details", "source-note"]) byId(id).textContent = "";
}

function drawFault(words) {
  byId("fault").textContent = words;
  byId("fault").hidden = false;
}

function drawMessage(message) {
  drawHead(message);
  if (message.fault) drawFault(`This message could not be parsed (${message.fault}). Its source is complete.`);
  const hasHtml = message.html !== null;
  byId("frame").hidden = !hasHtml;
  byId("no-html").hidden = hasHtml;
  if (hasHtml) showFrame(message.id);
  const { remoteImages } = message;
  byId("images").hidden = remoteImages === 0;
  byId("images").textContent =
    remoteImages === 1 ? "1 remote image is not loaded here." : `${remoteImages} remote images are not loaded here.`;
  drawLinks(message.links);
  byId("text").textContent = message.text === null ? "This message has no text part." : shorten(message.text);
  drawDetails(message);
  byId("source-link").href = `/sandbox/messages/${message.id}/raw`;
  byId("source").dataset.of = "";
  const instead = message.text === null ? "source" : "text";
  openTab(tab === "html" && !hasHtml ? instead : tab, { isChosen: false });
}

function showFrame(id) {
  isFrameExpected = true;
  byId("frame").src = `/sandbox/messages/${id}/html`;
}

function drawLinks(links) {
  const box = byId("links");
  box.hidden = links.length === 0;
  box.open = false;
  box.querySelector("summary").textContent =
    `${links.length === 1 ? "1 link" : `${links.length} links`} in this message`;
  box.querySelector("ul").replaceChildren(
    ...links.map((link) => {
      const item = make("li");
      const anchor = make("a", "", link);
      if (/^(https?|mailto):/.test(link)) anchor.href = link;
      anchor.target = "_blank";
      anchor.rel = "noopener noreferrer";
      item.append(anchor);
      return item;
    }),
  );
}

async function drawSource() {
  const { id, isShown } = current;
  const source = byId("source");
  if (!isShown() || source.dataset.of === id) return;
  source.dataset.of = id;
  try {
    const text = await fetchText(`/sandbox/messages/${id}/raw`);
    if (!isShown()) return;
    const isLong = text.length > SHOWN_CHARACTERS;
    byId("source-note").textContent = `${formatSize(text.length)}${isLong ? ", the beginning of it below." : "."}`;
    source.textContent = shorten(text);
  } catch {
    source.dataset.of = "";
  }
}

function shorten(text) {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)} …` : text;
}

function drawDetails(message) {
  const sections = [
    makeSection(
      "Envelope",
      makePairs([
        ["Return path", message.envelopeFrom || "(empty: the null sender)"],
        ["Recipient", message.to],
        ["Received", formatDateAndTime(message.receivedAt)],
        ["Size", formatSize(message.sizeBytes)],
        ["Encryption", message.tls ? `${message.tls}, upgraded by STARTTLS` : "None: the message came in clear text"],
      ]),
    ),
    makeSection("DKIM", makePairs(describeDkim(message.dkimSignatures))),
  ];
  if (message.attachments.length > 0) {
    const rows = message.attachments.map(({ filename, contentType, sizeBytes }) => [
      filename || "(no name)",
      `${contentType}, ${formatSize(sizeBytes)}`,
    ]);
    sections.push(makeSection("Attachments", makePairs(rows)));
  }
  const fields = makePairs(message.headers.map(({ name, value }) => [name, value]));
  fields.classList.add("wire");
  byId("details").replaceChildren(...sections, makeSection("Header fields", fields));
}

function describeDkim(signatures) {
  if (signatures.length === 0) return [["Verdict", "The message carries no DKIM signature."]];
  return signatures.map(({ domain, selector, algorithm, result, reason }) => {
    const because = reason ? ` (${reason})` : "";
    const verdict =
      {
        pass: `Verifies: the message is from this domain and was not changed on its way${because}.`,
        fail: `Does not verify${because}.`,
        temperror: `Could not be checked: the key lookup failed${because}.`,
        none: `Could not be judged${because}.`,
      }[result] ?? result + because;
    return [domain || "Verdict", verdict + (selector ? ` Selector ${selector}, ${algorithm}.` : "")];
  });
}

function makeSection(title, content) {
  const box = make("section");
  box.append(make("h3", "", title), content);
  return box;
}

/** `isChosen` false: another tab is only shown because the chosen one is empty for this message. */
function openTab(name, { isChosen = true } = {}) {
  if (isChosen) tab = name;
  for (const candidate of TABS) {
    const isOpen = candidate === name;
    byId(`tab-${candidate}`).setAttribute("aria-selected", String(isOpen));
    byId(`tab-${candidate}`).tabIndex = isOpen ? 0 : -1;
    byId(`panel-${candidate}`).hidden = !isOpen;
  }
  if (name === "source") void drawSource();
}
