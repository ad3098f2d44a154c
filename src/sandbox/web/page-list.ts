/**
 * First part of the inbox page's script: asks for the list every two seconds and keeps it drawn.
 * Plain JavaScript in a string, because it runs in a browser and the page must stay one
 * document; so no template literals and no backslashes in here. Whatever comes from a message
 * is set as text, never as markup. page-phone.ts and page-reader.ts continue in the same function.
 */
export const LIST_SCRIPT = `
  var POLL_MS = 2000;
  var CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
  var LISTED = 500;
  var SHOWN_CHARACTERS = 500000;
  var TABS = ["html", "text", "source", "details"];
  var messages = [];
  var listText = "";
  var items = new Map();
  var fresh = new Set();
  var highestSeen = null;
  var shown = null;
  var tab = "html";
  var isFrameExpected = false;

  function byId(id) { return document.getElementById(id); }
  function make(tag, name, text) {
    var element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  // The list

  async function poll() {
    try {
      var answer = await fetch("/sandbox/messages?raw=false&limit=" + LISTED, { cache: "no-store" });
      if (!answer.ok) throw new Error("status " + answer.status);
      var text = await answer.text();
      byId("status").classList.remove("lost");
      if (text !== listText) { listText = text; take(JSON.parse(text)); }
      if (OWN_NUMBER) await pollTexts();
      showCount();
    } catch (error) {
      byId("status").classList.add("lost");
      byId("status").textContent = "pombo dev does not answer. Trying again …";
    }
  }
  async function pollForever() {
    if (!document.hidden) await poll();
    setTimeout(pollForever, POLL_MS);
  }

  function take(list) {
    var first = highestSeen === null;
    list.forEach(function (message) {
      if (!first && Number(message.id) > highestSeen) fresh.add(message.id);
    });
    messages = list;
    highestSeen = Math.max(highestSeen || 0, list.length ? Number(list[0].id) : 0);
    if (shown && list.length === 0) choose(null);
    drawList();
    var wanted = location.hash.slice(1);
    if (first && list.some(function (message) { return message.id === wanted; })) choose(wanted);
    else if (!shown && list.length && matchMedia("(min-width: 761px)").matches) choose(visible()[0] && visible()[0].id, true);
  }

  function visible() {
    var wanted = byId("filter").value.trim().toLowerCase();
    return messages.filter(function (message) {
      return message.to.toLowerCase().includes(wanted) || message.subject.toLowerCase().includes(wanted);
    });
  }

  function drawList() {
    var list = byId("messages");
    var wanted = visible();
    var ids = new Set(wanted.map(function (message) { return message.id; }));
    items.forEach(function (item, id) { if (!ids.has(id)) { item.remove(); items.delete(id); } });
    wanted.forEach(function (message, place) {
      var item = items.get(message.id) || makeItem(message);
      items.set(message.id, item);
      // Only what is new moves, so that the keyboard focus stays where it was.
      if (list.children[place] !== item) list.insertBefore(item, list.children[place] || null);
      item.firstChild.setAttribute("aria-current", String(message.id === shown));
      item.classList.toggle("fresh", fresh.has(message.id));
    });
    var isVacant = messages.length === 0;
    byId("mail").classList.toggle("vacant", isVacant);
    byId("welcome").hidden = !isVacant;
    document.querySelector(".try").hidden = isVacant;
    drawEmptyButton();
    byId("nothing").hidden = wanted.length > 0;
    byId("nothing").textContent = isVacant ? "No messages yet" : "No message matches";
    document.title = (fresh.size ? "(" + fresh.size + ") " : "") + "pombo sandbox";
    showCount();
  }

  function showCount() {
    if (byId("status").classList.contains("lost")) return;
    if (world() === "phones") {
      byId("status").textContent = texts.length === 0 ? "Waiting for texts" : "";
      return;
    }
    var count = messages.length;
    byId("status").textContent = count === 0 ? "Waiting for mail"
      : count === LISTED ? "The newest " + LISTED + " messages"
      : count === 1 ? "1 message" : count + " messages";
  }

  function makeItem(message) {
    var item = make("li");
    var button = make("button");
    button.type = "button";
    var top = make("span", "top");
    top.append(make("span", "to", message.to), make("span", "when", time(message.receivedAt)));
    var bottom = make("span", "bottom");
    bottom.append(make("span", "from", nameOf(message.from) || message.envelopeFrom || "(no author)"));
    marksOf(message).forEach(function (mark) { bottom.append(mark); });
    button.append(top, make("span", "title", message.subject || "(no subject)"), bottom);
    button.addEventListener("click", function () { choose(message.id); });
    item.append(button);
    return item;
  }

  function marksOf(message) {
    var kind = { pass: "good", fail: "bad", none: "" }[message.dkim] || "";
    return [
      make("span", "mark " + kind, message.dkim === "none" ? "no DKIM" : "DKIM " + message.dkim),
      make("span", "mark " + (message.tls ? "good" : ""), message.tls ? message.tls.replace("TLSv", "TLS ") : "no TLS"),
    ];
  }

  function nameOf(from) {
    var open = from.lastIndexOf("<");
    var name = open > 0 ? from.slice(0, open).trim() : from;
    return withoutQuotes(name);
  }
  // The author comes with every name in quotes, also where nobody typed any.
  function withoutQuotes(name) {
    var inner = name.length > 1 && name[0] === '"' && name.endsWith('"') ? name.slice(1, -1) : name;
    // Several authors, or quotes that are part of the name.
    return inner.includes('"') ? name : inner;
  }
  function authorOf(from) {
    var open = from.lastIndexOf("<");
    return open > 0 ? nameOf(from) + " " + from.slice(open) : from;
  }

  function time(iso) {
    var at = new Date(iso);
    var clock = at.toLocaleTimeString([], CLOCK);
    return at.toDateString() === new Date().toDateString() ? clock : at.toLocaleDateString() + " " + clock;
  }
`;
