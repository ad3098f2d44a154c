// The sandbox's page in a real browser: it shows each email with its status as that changes, leaves a person's
// place alone meanwhile, can be used by keyboard, and can be read on small screens and large, light and dark.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type BrowserPage, openBrowser, type Screen } from "../../support/peers/browser.ts";
import { listFaintWords } from "../../support/peers/contrast.ts";
import type { Cleanup } from "../../support/peers/process.ts";
import { startSandbox } from "../../support/peers/sandbox.ts";
import type { Checks } from "./checks.ts";

const WIDE: Screen = { width: 1280, height: 800, scheme: "light" };
const SCREENS: Screen[] = (["light", "dark"] as const).flatMap((scheme) => [
  { width: 1280, height: 800, scheme },
  { width: 360, height: 720, scheme },
]);
const HOSTILE = `<h1>Olá</h1><script>parent.owned = 1; top.owned = 1</script><img src=x onerror="parent.owned = 1">`;
/** More than the list has room for. */
const MANY = 12;

const itemOf = (to: string) =>
  `[...document.querySelectorAll("#messages button")].find((each) => each.querySelector(".to").textContent === "${to}")`;
const statusOf = (to: string) => `${itemOf(to)}?.querySelector(".marks").textContent`;
const textOf = (id: string) => `document.getElementById("${id}").textContent`;

export async function checkPage(options: { folder: string; checks: Checks; cleanup: Cleanup }): Promise<void> {
  const { checks, cleanup } = options;
  const folder = join(options.folder, "page");
  mkdirSync(folder);
  const { url, apiKey } = await startSandbox(join(folder, "sandbox.log"), cleanup);
  const post = async (path: string, body: object) => {
    const headers = { "x-api-key": apiKey, "content-type": "application/json" };
    await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  };
  const email = (to: string, html = "<p>Olá</p>") =>
    post("/api/v1/emails", { from: "Loja <loja@sandbox.test>", to, subject: `To ${to}`, html });
  const sms = (to: string) => post("/api/v1/sms", { to, from: "Sandbox", body: "Bom dia" });
  const page = await openBrowser(folder, cleanup);
  await page.emulate(WIDE);
  await page.goTo(`${url}/sandbox`);
  await page.evaluate("globalThis.isFirstLoad = true");

  await email("defer@example.com");
  await page.until("a deferred email is shown", `${statusOf("defer@example.com")} === "delivery delayed"`);
  await page.evaluate(`${itemOf("defer@example.com")}.click()`);
  await page.until(
    "its reason is shown",
    `${textOf("reason")}.includes("451 4.7.1") && ${textOf("reason")}.includes("next")`,
  );
  await email("bounce@example.com");
  await page.until("a bounced email is shown", `${statusOf("bounce@example.com")} === "bounced"`);
  await checkPlaceIsKept(page, { checks, email });
  await page.until("the deferred email is delivered", `${statusOf("defer@example.com")} === "delivered"`);
  await page.until(
    "its html is shown",
    `!document.getElementById("frame").hidden && document.getElementById("reason").hidden`,
  );
  checks.equal(
    "page: the chosen email stays chosen when it arrives",
    await page.evaluate(textOf("recipient")),
    "defer@example.com",
  );

  await checkWidth(page, checks);
  await checkKeyboard(page, checks);
  await page.evaluate(`${itemOf("bounce@example.com")}.click()`);
  await page.until("why it bounced is shown", `${textOf("reason")}.startsWith("550 5.1.1 ")`);
  for (const [index, number] of ["+258841234567", "+258840000001", "+258840000010"].entries()) {
    await sms(number);
    if (index === 0) await page.evaluate(`location.hash = "#phones"`);
  }
  await checkPhoneStatuses(page, checks);
  await checkScreens(page, { checks, shows: ["", "#phones"] });
  checks.equal("page: it was loaded once", await page.evaluate("globalThis.isFirstLoad"), true);
  checks.equal("page: the browser complains of nothing", page.complaints, []);
  const strangers = page.requests.filter((request) => request.url.startsWith("http") && !request.url.startsWith(url));
  checks.equal("page: every request goes to the sandbox", strangers, []);

  // Last: the browser does complain of what it stops.
  await page.emulate(WIDE);
  await page.evaluate(`location.hash = ""`);
  await page.click("#world-mail");
  await email("hostile@example.com", HOSTILE);
  await page.until("a hostile email is shown", `${statusOf("hostile@example.com")} === "delivered"`);
  await page.evaluate(`${itemOf("hostile@example.com")}.click()`);
  await page.until(
    "its html is loaded",
    `${textOf("recipient")} === "hostile@example.com" && !document.getElementById("frame").hidden`,
  );
  const frame = `document.getElementById("frame")`;
  checks.equal(
    "page: a message's html runs nothing, and is of another origin",
    await page.evaluate(`[${frame}.getAttribute("sandbox"), ${frame}.contentDocument, globalThis.owned ?? null]`),
    ["", null, null],
  );
}

async function checkPlaceIsKept(
  page: BrowserPage,
  { checks, email }: { checks: Checks; email: (to: string) => Promise<void> },
): Promise<void> {
  for (let nth = 1; nth <= MANY; nth += 1) await email(`many+${nth}@example.com`);
  await page.until("all are shown", `document.querySelectorAll("#messages li").length === ${MANY + 2}`);
  await page.until(
    "and arrived",
    `[...document.querySelectorAll("#messages .marks")].filter((each) => each.textContent === "delivered").length >= ${MANY}`,
  );
  await page.evaluate(`${itemOf("many+1@example.com")}.scrollIntoView({ block: "center" })`);
  await page.evaluate(`${itemOf("many+1@example.com")}.focus({ preventScroll: true })`);
  const place = `${itemOf("many+1@example.com")}.getBoundingClientRect().top`;
  const before = await page.evaluate(place);
  await email("one-more@example.com");
  await page.until("one more is shown", `${statusOf("one-more@example.com")} === "delivered"`);
  const moved = Math.abs((await page.evaluate(place)) - before);
  checks.claim("page: the list stays where it was scrolled to", moved < 2, () => moved);
  const isFocused = await page.evaluate(`document.activeElement === ${itemOf("many+1@example.com")}`);
  checks.claim("page: it keeps the focus", isFocused);
  await page.type("#filter", "many+1");
  await email("many+100@example.com");
  await page.until("the filter holds for what comes in", `${statusOf("many+100@example.com")} === "delivered"`);
  const filtered = `[document.getElementById("filter").value, document.activeElement.id, ${itemOf("bounce@example.com")} ?? null]`;
  checks.equal("page: what is typed stays, and the filter holds", await page.evaluate(filtered), [
    "many+1",
    "filter",
    null,
  ]);
  await page.evaluate(
    `(document.getElementById("filter").value = "", document.getElementById("filter").dispatchEvent(new Event("input")), document.activeElement.blur())`,
  );
}

async function checkWidth(page: BrowserPage, checks: Checks): Promise<void> {
  const width = `document.getElementById("frame").clientWidth`;
  const full = await page.evaluate(width);
  await page.press("w");
  checks.equal("page: w shows the html in a phone's width", await page.evaluate(width), 375);
  await page.click("#width-full");
  checks.equal("page: a button shows it in the whole width again", await page.evaluate(width), full);
  checks.claim("page: which is more", full > 800, () => full);
}

async function checkKeyboard(page: BrowserPage, checks: Checks): Promise<void> {
  await page.evaluate(
    `document.querySelector("h1").setAttribute("tabindex", "-1"), document.querySelector("h1").focus()`,
  );
  const reached: string[] = [];
  const step = async () => {
    await page.press("Tab");
    const where = `document.activeElement.id || (document.activeElement.closest("#messages") ? "message" : document.activeElement.tagName)`;
    reached.push(await page.evaluate(where));
  };
  for (let nth = 0; nth < 5; nth += 1) await step();
  checks.equal("page: Tab goes through the bar, the filter and the list", reached, [
    "world-mail",
    "world-phones",
    "empty",
    "filter",
    "message",
  ]);
  const first = await page.evaluate(`document.activeElement.querySelector(".to").textContent`);
  await page.press("Enter");
  await page.until("Enter opens a message", `${textOf("recipient")} === ${JSON.stringify(first)}`);
  await page.press("j");
  await page.until("j opens the next", `${textOf("recipient")} !== ${JSON.stringify(first)}`);
  await page.press("k");
  await page.until("k the one before", `${textOf("recipient")} === ${JSON.stringify(first)}`);
  await page.evaluate(`document.getElementById("tab-html").focus()`);
  await page.press("ArrowRight");
  checks.equal("page: arrows go through the tabs", await page.evaluate("document.activeElement.id"), "tab-text");
  await page.click("#tab-html");
}

async function checkPhoneStatuses(page: BrowserPage, checks: Checks): Promise<void> {
  const marks = `Object.fromEntries([...document.querySelectorAll("#phone-list button")].map((each) => [each.querySelector(".to").textContent, each.querySelector(".marks").textContent]))`;
  await page.until(
    "the phones follow the address, and show each SMS",
    `!document.getElementById("phones").hidden && document.querySelectorAll("#phone-list li").length === 3`,
  );
  await page.until(
    "and its end",
    `Object.values(${marks}).every((each) => ["delivered", "undelivered", "failed"].includes(each))`,
  );
  checks.equal("page: each SMS has its status", await page.evaluate(marks), {
    "+258841234567": "delivered",
    "+258840000001": "undelivered",
    "+258840000010": "failed",
  });
  await page.evaluate(
    `[...document.querySelectorAll("#phone-list button")].find((each) => each.textContent.includes("+258840000010")).click()`,
  );
  const reason = await page.evaluate(`document.querySelector("#bubbles .reason").textContent`);
  checks.claim("page: an SMS that failed says why", /^Not on the phone: \S/.test(reason), () => reason);
}

async function checkScreens(page: BrowserPage, { checks, shows }: { checks: Checks; shows: string[] }): Promise<void> {
  for (const hash of shows) {
    await page.click(hash === "#phones" ? "#world-phones" : "#world-mail");
    for (const screen of SCREENS) {
      await page.emulate(screen);
      const name = `page: ${hash === "" ? "mail" : "phones"}, ${screen.scheme}, ${screen.width} px`;
      const overflow = "document.documentElement.scrollWidth - innerWidth";
      checks.claim(`${name}: fits`, (await page.evaluate(overflow)) <= 0);
      checks.equal(`${name}: can be read`, await listFaintWords(page), []);
    }
  }
}
