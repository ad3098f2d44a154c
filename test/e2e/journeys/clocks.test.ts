// Clocks that are an hour off: the browser's, and the phone's that makes the codes.

import { expect } from "bun:test";
import { Secret, TOTP } from "otpauth";
import { sendEverything } from "../../support/browser/everything.ts";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { PASSWORD, signInToSandbox, signUpOperator } from "../../support/browser/people.ts";

const sandbox = useSandbox();
const HOUR_MS = 3_600_000;
/** The clock of a page from its first script on. */
const shiftClock = (ms: number) => `(() => {
  const { now } = Date;
  globalThis.Date = class extends Date {
    constructor(...given) { given.length === 0 ? super(now() + ${ms}) : super(...given); }
    static now() { return now() + ${ms}; }
  };
})()`;

journey("in a browser whose clock is an hour off, what was just sent was sent just now", async ({ visit }) => {
  const { origin, workspaceId } = sandbox();
  await sendEverything(sandbox(), { subject: "Encomenda 4711", to: "rui@example.com" });
  for (const hours of [-1, 1]) {
    const ana = await visit(origin);
    await signInToSandbox(ana, sandbox());
    await ana.context.addInitScript(shiftClock(hours * HOUR_MS));
    await ana.page.goto(`/dashboard/w/${workspaceId}/emails`);
    await ana.page.getByText("Encomenda 4711").first().waitFor();
    const apart = await ana.page.evaluate<number>("Date.now()");
    expect(Math.round((apart - Date.now()) / HOUR_MS)).toBe(hours);
    const told = await ana.page.locator("main tbody time").allInnerTexts();
    expect(told).not.toEqual([]);
    for (const words of told) expect(words).toMatch(/^(?:now|\d+ (?:seconds?|minutes?) ago)$/);
  }
});

journey("a code of a phone whose clock is an hour off is refused, and the page says why", async ({ visit }) => {
  const { origin, operatorKey } = sandbox();
  const email = "ana+clock@example.com";
  const ana = await visit(origin);
  ana.allow(/^answer: PUT \/api\/v1\/auth\/totp 401$/);
  await signUpOperator(ana, { url: origin, operatorKey }, email);
  const keys = new Keyboard(ana.page);
  await ana.page.goto("/dashboard/account");
  await keys.press("Set up an app");
  const dialog = ana.page.getByRole("dialog");
  const secret = (await dialog.locator("details code").textContent())?.trim() ?? "";
  const app = new TOTP({ secret: Secret.fromBase32(secret) });
  await keys.fill("Code from the app", app.generate({ timestamp: Date.now() + HOUR_MS }));
  await keys.press("Continue");
  await dialog.getByText(/clock of the app is about \d+ minutes ahead of the server/).waitFor();
  await keys.fill("Code from the app", app.generate());
  await keys.press("Continue");
  await ana.page.getByRole("dialog", { name: "Recovery codes" }).waitFor();

  const phone = await visit(origin, { language: "pt-PT" });
  phone.allow(/^answer: POST \/api\/v1\/auth\/session 401$/);
  const hands = new Keyboard(phone.page);
  await phone.page.goto("/dashboard/signin");
  await hands.fill("Endereço de email", email);
  await hands.fill("Palavra-passe", PASSWORD);
  await hands.press("Iniciar sessão");
  await hands.fill("Código", app.generate({ timestamp: Date.now() - HOUR_MS }));
  await hands.press("Iniciar sessão");
  await phone.page.getByText(/só se os relógios/).waitFor();
  await phone.page.getByText(/clock of the app is about \d+ minutes behind the server/).waitFor();
});
