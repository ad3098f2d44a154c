/**
 * Last part of the inbox page's script, in the same function as page-list.ts and under the
 * same rules: shows the chosen message, then wires tabs, keys and buttons and starts the
 * asking. A message's html goes only into the frame, by address.
 */
export const READER_SCRIPT = `

  async function choose(id, keepsView) {
    shown = id || null;
    byId("reader").hidden = !shown;
    if (!keepsView) document.body.dataset.view = shown ? "reader" : "list";
    if (world() === "mail") history.replaceState(null, "", shown ? "#" + shown : location.pathname);
    if (!shown) return;
    fresh.delete(shown);
    drawList();
    var message = messages.find(function (candidate) { return candidate.id === id; });
    if (message) drawHead(message);
    clearPanels();
    try {
      var answer = await fetch("/sandbox/messages/" + id + "?raw=false", { cache: "no-store" });
      if (!answer.ok) throw new Error("status " + answer.status);
      var whole = await answer.json();
      // Somebody pressed j meanwhile: this answer is about a message no longer shown.
      if (shown === id) drawMessage(whole);
    } catch (error) {
      if (shown === id) drawFault("The message could not be fetched. It may have been removed.");
    }
  }

  function drawHead(message) {
    byId("subject").textContent = message.subject || "(no subject)";
    byId("author").textContent = authorOf(message.from) || message.envelopeFrom || "(no author)";
    byId("recipient").textContent = message.to;
    byId("received").textContent = time(message.receivedAt);
    byId("received").dateTime = message.receivedAt;
    byId("marks").replaceChildren.apply(byId("marks"), marksOf(message));
  }

  function clearPanels() {
    byId("fault").hidden = true;
    byId("frame").hidden = true;
    ["text", "source", "details", "source-note"].forEach(function (part) { byId(part).textContent = ""; });
    byId("links").hidden = byId("images").hidden = byId("no-html").hidden = true;
  }

  function drawFault(text) {
    byId("fault").textContent = text;
    byId("fault").hidden = false;
  }

  function drawMessage(message) {
    drawHead(message);
    if (message.fault) drawFault("This message could not be taken apart (" + message.fault + "). Its source is complete.");
    var hasHtml = message.html !== null;
    byId("frame").hidden = !hasHtml;
    byId("no-html").hidden = hasHtml;
    if (hasHtml) showFrame(message.id);
    byId("images").hidden = !message.remoteImages;
    byId("images").textContent = message.remoteImages === 1
      ? "1 remote image is not loaded here." : message.remoteImages + " remote images are not loaded here.";
    drawLinks(message.links);
    byId("text").textContent = message.text === null ? "This message has no text part." : shorten(message.text);
    drawDetails(message);
    byId("source-link").href = "/sandbox/messages/" + message.id + "/raw";
    byId("source").dataset.of = "";
    openTab(tab === "html" && !hasHtml ? (message.text === null ? "source" : "text") : tab, true);
  }

  function showFrame(id) {
    isFrameExpected = true;
    byId("frame").src = "/sandbox/messages/" + id + "/html";
  }
  // A link was clicked in the frame, and the page's policy has stopped it: bring the message back
  // and show where its links can be opened.
  byId("frame").addEventListener("load", function () {
    if (isFrameExpected || !shown) { isFrameExpected = false; return; }
    showFrame(shown);
    byId("links").open = true;
  });

  function drawLinks(links) {
    byId("links").hidden = links.length === 0;
    byId("links").open = false;
    byId("links").querySelector("summary").textContent = (links.length === 1 ? "1 link" : links.length + " links") + " in this message";
    byId("links").querySelector("ul").replaceChildren.apply(byId("links").querySelector("ul"), links.map(function (link) {
      var item = make("li");
      var anchor = make("a", "", link);
      if (/^(https?|mailto):/.test(link)) anchor.href = link;
      anchor.target = "_blank";
      anchor.rel = "noopener noreferrer";
      item.append(anchor);
      return item;
    }));
  }

  async function drawSource() {
    var id = shown;
    if (!id || byId("source").dataset.of === id) return;
    byId("source").dataset.of = id;
    try {
      var answer = await fetch("/sandbox/messages/" + id + "/raw", { cache: "no-store" });
      var text = await answer.text();
      if (shown !== id) return;
      byId("source-note").textContent = size(text.length) + (text.length > SHOWN_CHARACTERS ? ", the beginning of it below." : ".");
      byId("source").textContent = shorten(text);
    } catch (error) { byId("source").dataset.of = ""; }
  }

  function shorten(text) {
    return text.length > SHOWN_CHARACTERS ? text.slice(0, SHOWN_CHARACTERS) + " …" : text;
  }

  function size(bytes) {
    return bytes < 1024 ? bytes + " bytes" : bytes < 1048576 ? (bytes / 1024).toFixed(1) + " KB" : (bytes / 1048576).toFixed(1) + " MB";
  }

  function drawDetails(message) {
    var parts = [
      section("Envelope", pairs([
        ["Return path", message.envelopeFrom || "(empty: the null sender)"],
        ["Recipient", message.to],
        ["Received", new Date(message.receivedAt).toLocaleDateString() + " " + new Date(message.receivedAt).toLocaleTimeString([], CLOCK)],
        ["Size", size(message.sizeBytes)],
        ["Encryption", message.tls ? message.tls + ", upgraded by STARTTLS" : "None: the message came in clear text"],
      ])),
      section("DKIM", pairs(dkimWords(message))),
    ];
    if (message.attachments.length) {
      parts.push(section("Attachments", pairs(message.attachments.map(function (attachment) {
        return [attachment.filename || "(no name)", attachment.contentType + ", " + size(attachment.sizeBytes)];
      }))));
    }
    var wire = pairs(message.headers.map(function (field) { return [field.name, field.value]; }));
    wire.classList.add("wire");
    parts.push(section("Header fields", wire));
    byId("details").replaceChildren.apply(byId("details"), parts);
  }

  function dkimWords(message) {
    if (message.dkimSignatures.length === 0) return [["Verdict", "The message carries no DKIM signature."]];
    return message.dkimSignatures.map(function (signature) {
      var because = signature.reason ? " (" + signature.reason + ")" : "";
      var words = {
        pass: "Verifies: the message is from this domain and was not changed on its way" + because + ".",
        fail: "Does not verify" + because + ".",
        temperror: "Could not be checked: the key lookup failed" + because + ".",
        none: "Could not be judged" + because + ".",
      }[signature.result] || signature.result + because;
      return [signature.domain || "Verdict", words + (signature.selector ? " Selector " + signature.selector + ", " + signature.algorithm + "." : "")];
    });
  }

  function section(title, content) {
    var box = make("section");
    box.append(make("h3", "", title), content);
    return box;
  }

  function pairs(rows) {
    var list = make("dl", "pairs");
    rows.forEach(function (row) { list.append(make("dt", "", row[0]), make("dd", "", row[1])); });
    return list;
  }

  // Tabs, keys and buttons

  function openTab(name, isForced) {
    if (!isForced) tab = name;
    TABS.forEach(function (candidate) {
      var isOpen = candidate === name;
      byId("tab-" + candidate).setAttribute("aria-selected", String(isOpen));
      byId("tab-" + candidate).tabIndex = isOpen ? 0 : -1;
      byId("panel-" + candidate).hidden = !isOpen;
    });
    if (name === "source") drawSource();
  }

  function move(step) {
    var list = visible();
    if (!list.length) return;
    var place = list.findIndex(function (message) { return message.id === shown; });
    var next = list[Math.min(Math.max(place + step, 0), list.length - 1)];
    if (next.id !== shown) choose(next.id);
    items.get(next.id).scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || world() !== "mail") return;
    if (event.target === byId("filter")) {
      if (event.key === "Escape") byId("filter").blur();
      return;
    }
    if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "/") { event.preventDefault(); byId("filter").focus(); }
    else if (event.target.getAttribute("role") === "tab" && (event.key === "ArrowRight" || event.key === "ArrowLeft")) {
      var open = TABS.indexOf(event.target.id.slice(4));
      var next = TABS[(open + (event.key === "ArrowRight" ? 1 : TABS.length - 1)) % TABS.length];
      openTab(next);
      byId("tab-" + next).focus();
    }
  });
  TABS.forEach(function (name) { byId("tab-" + name).addEventListener("click", function () { openTab(name); }); });
  byId("filter").addEventListener("input", drawList);
  byId("back").addEventListener("click", function () { choose(null); drawList(); });
  byId("empty").addEventListener("click", async function () {
    if (world() === "phones") return deleteTexts();
    if (!confirm("Delete all messages in the sandbox's inbox?")) return;
    await fetch("/sandbox/messages", { method: "DELETE" });
    fresh.clear();
    poll();
  });
  document.addEventListener("visibilitychange", function () { if (!document.hidden) poll(); });

  var letter = { from: "Sandbox <hello@" + document.documentElement.dataset.domain + ">", to: "ada@example.com", subject: "First flight", html: "<h1>It flies</h1><p>Sent with pombo.</p>" };
  var BACKSLASH = String.fromCharCode(92);
  byId("sample").textContent = [
    "curl -s -w '" + BACKSLASH + "n' " + location.origin + "/api/v1/emails",
    '-H "X-API-Key: $POMBO_KEY"',
    '-H "Content-Type: application/json"',
    "-d '" + JSON.stringify(letter, null, 2) + "'",
  ].join(" " + BACKSLASH + String.fromCharCode(10) + "  ");
  [["copy", "sample"], ["phone-copy", "phone-sample"]].forEach(function (pair) {
    byId(pair[0]).addEventListener("click", async function () {
      await navigator.clipboard.writeText(byId(pair[1]).textContent);
      byId(pair[0]).textContent = "Copied";
      setTimeout(function () { byId(pair[0]).textContent = "Copy"; }, 1500);
    });
  });
  var firstText = { to: "+258841234567", body: "O seu código é 482913." };
  byId("phone-sample").textContent = [
    "curl -s -w '" + BACKSLASH + "n' " + location.origin + "/api/v1/sms",
    '-H "X-API-Key: $POMBO_KEY"',
    '-H "Content-Type: application/json"',
    "-d '" + JSON.stringify(firstText) + "'",
  ].join(" " + BACKSLASH + String.fromCharCode(10) + "  ");
  openTab("html");
  if (OWN_NUMBER && location.hash === "#phones") enter("phones");
  pollForever();
`;
