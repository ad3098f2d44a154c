/**
 * The phones' half of the page's script, in the same function as page-list.ts and under the same rules: asks for
 * the texts while the phones are shown, draws one phone's conversation, and writes back as it. Texts are set as text.
 */
export const PHONE_SCRIPT = `

  // Phones

  var OWN_NUMBER = document.documentElement.dataset.number;
  var texts = [];
  var textsText = "";
  var phone = null;
  var drawnPhone = null;
  var bubbles = new Map();

  function world() { return document.body.dataset.world; }

  function enter(name) {
    document.body.dataset.world = name;
    ["mail", "phones"].forEach(function (each) {
      byId("world-" + each).setAttribute("aria-pressed", String(each === name));
    });
    byId("mail").hidden = name !== "mail";
    byId("phones").hidden = name !== "phones";
    if (name === "phones") { history.replaceState(null, "", "#phones"); drawPhones(); }
    else history.replaceState(null, "", shown ? "#" + shown : location.pathname);
    showCount();
    drawEmptyButton();
  }

  async function pollTexts() {
    var answer = await fetch("/sandbox/texts?include=sent&limit=" + LISTED, { cache: "no-store" });
    if (!answer.ok) throw new Error("status " + answer.status);
    var text = await answer.text();
    if (text === textsText) return;
    textsText = text;
    texts = JSON.parse(text);
    if (texts.length === 0) phone = null;
    if (world() === "phones") drawPhones();
    drawEmptyButton();
  }

  function phoneOf(text) { return text.direction === "in" ? text.to : text.from; }

  function drawPhones() {
    var seen = new Map();
    texts.forEach(function (text) { if (!seen.has(phoneOf(text))) seen.set(phoneOf(text), text); });
    var wanted = byId("phone-filter").value.replaceAll(" ", "");
    var numbers = Array.from(seen.keys()).filter(function (number) { return number.includes(wanted); });
    if (phone === null && numbers.length && matchMedia("(min-width: 761px)").matches) phone = numbers[0];
    byId("phone-list").replaceChildren.apply(byId("phone-list"), numbers.map(function (number) {
      return phoneItem(number, seen.get(number));
    }));
    byId("no-phones").hidden = numbers.length > 0;
    byId("no-phones").textContent = texts.length ? "No phone matches" : "No texts yet";
    byId("phone").hidden = phone === null;
    byId("phone-welcome").hidden = phone !== null;
    document.body.dataset.phone = phone === null ? "list" : "open";
    if (phone !== null) drawPhone();
  }

  function phoneItem(number, last) {
    var item = make("li");
    var button = make("button");
    button.type = "button";
    button.setAttribute("aria-current", String(number === phone));
    var top = make("span", "top");
    top.append(make("span", "to", number), make("span", "when", time(last.receivedAt)));
    button.append(top, make("span", "title", (last.direction === "out" ? "↩ " : last.from + ": ") + last.body));
    button.addEventListener("click", function () { phone = number; drawPhones(); });
    item.append(button);
    return item;
  }

  function drawPhone() {
    var list = byId("bubbles");
    var isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    if (drawnPhone !== phone) {
      drawnPhone = phone;
      isAtEnd = true;
      bubbles.clear();
      list.replaceChildren();
      byId("phone-number").textContent = phone;
      byId("said").textContent = "";
    }
    var own = texts.filter(function (text) { return phoneOf(text) === phone; }).reverse();
    var ids = new Set(own.map(function (text) { return text.id; }));
    bubbles.forEach(function (bubble, id) { if (!ids.has(id)) { bubble.remove(); bubbles.delete(id); } });
    own.forEach(function (text) {
      if (bubbles.has(text.id)) return;
      var bubble = makeBubble(text);
      bubbles.set(text.id, bubble);
      list.append(bubble);
    });
    drawAnswerable(own);
    if (isAtEnd) list.scrollTop = list.scrollHeight;
  }

  function makeBubble(text) {
    var bubble = make("li", "bubble " + text.direction);
    var who = text.direction === "in" ? text.from : "to " + text.to;
    var parts = text.segments === 1 ? "1 segment" : text.segments + " segments";
    var coding = { gsm7: "GSM-7", ucs2: "UCS-2", latin1: "Latin-1" }[text.encoding] || text.encoding;
    bubble.append(make("span", "who", who), make("p", "", text.body),
      make("span", "facts", time(text.receivedAt) + " · " + parts + " · " + coding));
    return bubble;
  }

  // A name cannot be answered; a number that this phone had a text from can, and the workspace's own.
  function drawAnswerable(own) {
    var numbers = [OWN_NUMBER];
    own.forEach(function (text) {
      if (text.direction === "in" && /^[+]?[0-9]{3,15}$/.test(text.from) && !numbers.includes(text.from)) numbers.push(text.from);
    });
    var select = byId("answer-to");
    var chosen = select.value;
    if (Array.from(select.options).map(function (option) { return option.value; }).join() !== numbers.join()) {
      select.replaceChildren.apply(select, numbers.map(function (number) {
        var option = make("option", "", number);
        option.value = number;
        return option;
      }));
      if (numbers.includes(chosen)) select.value = chosen;
    }
    var last = own.filter(function (text) { return text.direction === "in"; }).pop();
    byId("no-answer").hidden = !last || /^[+]?[0-9]+$/.test(last.from);
    if (last) byId("no-answer").textContent = last.from + " is a name: names cannot be answered. Write to a number instead.";
  }

  async function writeBack() {
    var body = byId("answer").value;
    if (body === "" || phone === null) return;
    byId("send").disabled = true;
    try {
      var answer = await fetch("/sandbox/texts", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ from: phone, to: byId("answer-to").value, body: body }),
      });
      var said = await answer.json();
      if (answer.ok) byId("answer").value = "";
      byId("said").textContent = answer.ok ? "" : said.errors[0].message;
      await pollTexts();
    } catch (error) {
      byId("said").textContent = "pombo dev does not answer.";
    }
    byId("send").disabled = false;
    byId("answer").focus();
  }

  function drawEmptyButton() {
    byId("empty").hidden = (world() === "phones" ? texts : messages).length === 0;
  }

  async function deleteTexts() {
    if (!confirm("Delete all texts on the sandbox's phones?")) return;
    await fetch("/sandbox/texts", { method: "DELETE" });
    pollTexts();
  }

  byId("send").addEventListener("click", writeBack);
  byId("answer").addEventListener("keydown", function (event) {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); writeBack(); }
  });
  byId("phone-filter").addEventListener("input", drawPhones);
  byId("phone-back").addEventListener("click", function () { phone = null; drawnPhone = null; drawPhones(); });
  ["mail", "phones"].forEach(function (each) {
    byId("world-" + each).addEventListener("click", function () { enter(each); });
  });
`;
