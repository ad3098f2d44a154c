// One email of the sandbox: its status, html, text, source and details. Its html goes only into the frame, by address.

import {
  byId,
  fetchText,
  fillPairs,
  formatDateAndTime,
  formatSize,
  formatTime,
  make,
  makePairs,
  makeStatus,
  pressOne,
} from "./dom.js";

const SHOWN_CHARACTERS = 500_000;
const TABS = ["html", "text", "attachments", "headers", "source", "details"];
/** Of a message to many; all are among the header fields. */
const SHOWN_ADDRESSEES = 5;
const WIDTHS = ["full", "phone"];

let tab = "html";
let isFrameExpected = false;
/** The message that is drawn: its id, null for one that has not arrived, and whether it still is the chosen one. */
let current = { id: null, isShown: () => false };
let drawnRecord = "";

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
  for (const name of WIDTHS) byId(`width-${name}`).addEventListener("click", () => setWidth(name));
  openTab("html");
}

/** From the whole width to that of a phone, and back. */
export function toggleWidth() {
  setWidth(document.body.dataset.width === "full" ? "phone" : "full");
}

function setWidth(name) {
  document.body.dataset.width = name;
  pressOne("width", WIDTHS, name);
}

/** The tab to the left (-1) or to the right (1) of the open one; gets the focus. */
export function moveTab(step) {
  const tabs = TABS.filter((name) => !byId(`tab-${name}`).hidden);
  const place = tabs.findIndex((name) => byId(`tab-${name}`).getAttribute("aria-selected") === "true");
  const next = tabs[(place + step + tabs.length) % tabs.length];
  openTab(next);
  byId(`tab-${next}`).focus();
}

/** Draws the message and its record as the list has them, either null, then fetches the parts of the message. */
export async function showMessage({ message: listed, sent, isShown }) {
  const id = listed?.id ?? null;
  current = { id, isShown };
  clearPanels();
  drawHead(listed ?? { ...sent, receivedAt: sent.createdAt });
  drawnRecord = "";
  updateRecord(sent);
  byId("reader").classList.toggle("missing", id === null);
  if (id === null) return openTab("details", { isChosen: false });
  try {
    const message = JSON.parse(await fetchText(`/sandbox/messages/${id}?raw=false`));
    if (isShown()) drawMessage(message, sent);
  } catch {
    if (isShown()) drawFault("The message could not be fetched. It may have been removed.");
  }
}

/** Draws the record of the shown message anew, if it changed. */
export function updateRecord(sent) {
  const record = JSON.stringify(sent);
  if (record === drawnRecord) return;
  drawnRecord = record;
  byId("state").replaceChildren(...(sent === null ? [] : [makeStatus(sent)]));
  const reason = sent === null ? null : findReason(sent);
  byId("reason").hidden = reason === null;
  byId("reason").textContent = reason ?? "";
  byId("record").replaceChildren(...(sent === null ? [] : drawRecord(sent)));
}

const KIND_WORDS = { to: "To", cc: "Cc", bcc: "no header field: a blind copy (Bcc)" };
const NEXT_WORDS = { scheduled: "not before", delivery_delayed: "next attempt at" };

/** Why it is not delivered, in one line; null: it is, or nothing is known. */
function findReason({ status, failedReason, lastReply, nextAttemptAt }) {
  const reason = failedReason ?? lastReply;
  const what = NEXT_WORDS[status];
  const next = what && nextAttemptAt ? `${what} ${formatTime(nextAttemptAt)}` : null;
  return [reason, next].filter((words) => words !== null).join(" · ") || null;
}

function drawRecord(sent) {
  const entries = Object.entries(sent.metadata ?? {});
  return [
    makeSection("Record", makePairs(describeRecord(sent))),
    ...(entries.length === 0 ? [] : [makeSection("Metadata", makePairs(entries))]),
  ];
}

function describeRecord(sent) {
  const time = (iso) => iso && formatDateAndTime(iso);
  const { kind, groupId, unsubscribe } = sent;
  const rows = [
    ["Id", sent.id],
    ["Group", groupId === sent.id ? `${groupId} (this is its first email)` : groupId],
    ["Recipient stands in", groupId === null && kind === "to" ? null : KIND_WORDS[kind]],
    ["Tag", sent.tag],
    ["Unsubscribes from", unsubscribe && (unsubscribe.list ? `the list ${unsubscribe.list}` : unsubscribe.url)],
    ["Accepted", time(sent.createdAt)],
    ["Scheduled for", time(sent.sendAt)],
    ["Attempts", String(sent.attempts)],
    ["Next attempt", time(sent.nextAttemptAt)],
    ["Delivered", time(sent.deliveredAt)],
    ["Possible duplicate", sent.possibleDuplicate ? "Yes: it may have been sent twice" : null],
  ];
  return rows.filter(([, value]) => value !== null);
}

/** Marks of how a message came; `isWrongOnly`: only of what is wrong with it. */
export function drawMarks({ dkim, tls }, { isWrongOnly = false } = {}) {
  const signed = make("span", `mark ${{ pass: "good", fail: "bad" }[dkim] ?? ""}`);
  signed.textContent = dkim === "none" ? "no DKIM" : `DKIM ${dkim}`;
  const encrypted = make("span", `mark ${tls ? "good" : ""}`, tls ? tls.replace("TLSv", "TLS ") : "no TLS");
  const marks = [
    { mark: signed, isRight: dkim === "pass" },
    { mark: encrypted, isRight: Boolean(tls) },
  ];
  return marks.filter(({ isRight }) => !(isWrongOnly && isRight)).map(({ mark }) => mark);
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
  byId("marks").replaceChildren(...(message.dkim === undefined ? [] : drawMarks(message)));
}

/** Who else got it, as its header says, and who got a blind copy, which its header does not say. */
function drawAddressees({ addressees: { to, cc, replyTo }, to: recipient }, sent) {
  const isBlind = sent?.kind === "bcc";
  const isPlain = !isBlind && to.length + cc.length < 2 && replyTo.length === 0;
  const rows = [
    ["To", listSome(to)],
    ["Cc", listSome(cc)],
    ["Bcc", isBlind ? `${recipient} (this copy; no header field names it)` : ""],
    ["Reply to", listSome(replyTo)],
  ];
  byId("addressees").hidden = isPlain;
  fillPairs(byId("addressees"), isPlain ? [] : rows.filter(([, words]) => words !== ""));
}

function listSome(addresses) {
  const more = addresses.length - SHOWN_ADDRESSEES;
  const shown = addresses.slice(0, SHOWN_ADDRESSEES).join(", ");
  return more > 0 ? `${shown} and ${more} more` : shown;
}

/** As mail programs do: beside the sender, whatever the message itself says. */
function drawUnsubscribe(places) {
  const page = places.find((place) => /^https?:/.test(place));
  byId("unsubscribe").hidden = page === undefined;
  if (page !== undefined) byId("unsubscribe").href = page;
}

function drawAttachments({ id, attachments }) {
  const count = attachments.length;
  byId("tab-attachments").hidden = count === 0;
  byId("tab-attachments").textContent = count === 1 ? "1 attachment" : `${count} attachments`;
  byId("attachments").replaceChildren(...attachments.map((attachment, nth) => makeAttachment(id, attachment, nth)));
}

function makeAttachment(id, { filename, contentType, contentId, sizeBytes }, nth) {
  const item = make("li");
  const inline = contentId === null ? "" : `, shown in the html as cid:${contentId}`;
  const name = make("bdi", "name", filename ?? "(no name)");
  const download = make("a", "", "Download");
  download.href = `/sandbox/messages/${id}/attachments/${nth}`;
  download.setAttribute("aria-label", `Download ${filename ?? `attachment ${nth + 1}`}`);
  download.download = "";
  item.append(name, download, make("span", "facts", `${contentType}, ${formatSize(sizeBytes)}${inline}`));
  return item;
}

function clearPanels() {
  for (const id of ["fault", "frame", "links", "images", "no-html", "addressees", "unsubscribe", "tab-attachments"])
    byId(id).hidden = true;
  for (const id of ["text", "source", "details", "headers", "attachments", "source-note"]) byId(id).textContent = "";
}

function drawFault(words) {
  byId("fault").textContent = words;
  byId("fault").hidden = false;
}

function drawMessage(message, sent) {
  drawHead(message);
  drawAddressees(message, sent);
  drawUnsubscribe(message.unsubscribe);
  drawAttachments(message);
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
  openTab(findTab(message), { isChosen: false });
}

/** The chosen tab, or one in its place that this message has. */
function findTab({ html, text, attachments }) {
  const isThere = { html: html !== null, attachments: attachments.length > 0 }[tab] ?? true;
  if (isThere) return tab;
  if (tab === "attachments" && html !== null) return "html";
  return text === null ? "source" : "text";
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
  const fields = makePairs(message.headers.map(({ name, value }) => [name, value]));
  fields.classList.add("wire");
  byId("details").replaceChildren(...sections);
  byId("headers").replaceChildren(makeSection("Header fields", fields));
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
  byId("widths").hidden = name !== "html";
  if (name === "source") void drawSource();
}
