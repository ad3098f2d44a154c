// The sandbox's phones in a real browser: a text arrives there as it was written, whatever it holds, and what is
// written back goes all the way.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openBrowser } from "../../support/peers/browser.ts";
import type { Cleanup } from "../../support/peers/process.ts";
import { startSandbox } from "../../support/peers/sandbox.ts";
import type { Checks } from "./checks.ts";

const HOSTILE = `<img src=x onerror="document.title='owned'"> já & "então" 👍`;
const BUBBLES = `[...document.querySelectorAll("#bubbles .bubble p")].map((each) => each.textContent)`;

export async function checkPhones(options: { folder: string; checks: Checks; cleanup: Cleanup }): Promise<void> {
  const { checks, cleanup } = options;
  const folder = join(options.folder, "phones");
  mkdirSync(folder);
  const { url, apiKey } = await startSandbox(join(folder, "sandbox.log"), cleanup);
  const ask = async (path: string, body?: object) => {
    const headers = { "x-api-key": apiKey, "content-type": "application/json" };
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    return (await (await fetch(`${url}${path}`, { headers, ...sent })).json()) as { data: { body: string }[] };
  };
  const page = await openBrowser(folder, cleanup);

  await page.goTo(`${url}/sandbox`);
  await page.click("#world-phones");
  await page.until("the phones are shown", `!document.getElementById("phone-welcome").hidden`);
  await ask("/api/v1/sms", { to: "+258841234567", body: HOSTILE });
  await page.until("the text is on the phone", `${BUBBLES}.length === 1`);
  checks.equal("phones: a text is shown as it was written", await page.evaluate(BUBBLES), [HOSTILE]);
  const hint = await page.evaluate(`document.getElementById("no-answer").textContent`);
  checks.claim("phones: a name cannot be answered, which is said", /cannot be answered/.test(hint), () => hint);

  await page.type("#answer", "Obrigada!");
  await page.click("#send");
  await page.until("the answer is on the phone", `${BUBBLES}.length === 2`);
  checks.equal(
    "phones: the workspace has what was written back",
    (await ask("/api/v1/sms/inbound")).data.map(({ body }) => body),
    ["Obrigada!"],
  );
  await page.goTo(`${url}/sandbox#phones`);
  await page.until("the phones are shown again", `${BUBBLES}.length === 2`);

  const strangers = page.requests.filter((request) => request.url.startsWith("http") && !request.url.startsWith(url));
  checks.equal("phones: every request goes to the sandbox", strangers, []);
  checks.equal("phones: the browser complains of nothing", page.complaints, []);
}
