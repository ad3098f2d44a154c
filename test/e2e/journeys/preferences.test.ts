// Theme and language, by keyboard: from the palette, on the account page, and on a device that is new to the person.

import { expect } from "bun:test";
import { journey, useSandbox } from "../../support/browser/journey.ts";
import { Keyboard } from "../../support/browser/keyboard.ts";
import { PASSWORD, signInToSandbox, signUpOperator } from "../../support/browser/people.ts";
import type { Visitor } from "../../support/browser/visitor.ts";

const sandbox = useSandbox();

const isLanguage = (language: string) => `document.documentElement.lang === "${language}"`;

journey("the palette is opened, used and left by keyboard, and so are the other keys", async ({ visit }) => {
  const { origin, workspaceId } = sandbox();
  const ana = await visit(origin);
  await signInToSandbox(ana, sandbox());
  const { page } = ana;
  const choose = async (words: string) => {
    await page.keyboard.press("ControlOrMeta+K");
    await page.getByRole("dialog").getByRole("combobox").waitFor();
    await page.keyboard.type(words);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  await page.goto(`/dashboard/w/${workspaceId}`);
  await page.locator("main#content h1").waitFor();
  await choose("theme: dark");
  await ana.until("it is dark", `document.documentElement.dataset.theme === "dark"`);
  await choose("portugal");
  await ana.until("it is Portuguese", isLanguage("pt-PT"));
  await page.reload();
  await ana.until("both stay", `document.documentElement.dataset.theme === "dark" && ${isLanguage("pt-PT")}`);
  await page.locator("main#content h1").waitFor();
  await choose("inicio");
  await choose("english");
  await ana.until("it is English", isLanguage("en"));

  await page.keyboard.press("g");
  await page.keyboard.press("e");
  await page.waitForURL("**/emails");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("ControlOrMeta+K");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

async function signIn({ page }: Visitor, email: string): Promise<void> {
  const keys = new Keyboard(page);
  await page.goto("/dashboard/signin?next=/dashboard/account");
  await keys.fill("Email address", email);
  await keys.fill("Password", PASSWORD);
  await keys.press("Sign in");
}

journey("the account's language comes along to a new device, unless another was chosen there", async ({ visit }) => {
  const { origin, operatorKey } = sandbox();
  const email = "ana+language@example.com";
  const desk = await visit(origin);
  await signUpOperator(desk, { url: origin, operatorKey }, email);
  const keys = new Keyboard(desk.page);
  await desk.page.goto("/dashboard/account");
  await keys.reach(desk.page.getByLabel("Language"));
  await desk.page.keyboard.type("Português (Portugal");
  await keys.reach(desk.page.getByLabel("Theme"));
  await desk.page.keyboard.press("End");
  await desk.until("it is dark", `document.documentElement.dataset.theme === "dark"`);
  await keys.press("Save");
  await desk.until("it is Portuguese", isLanguage("pt-PT"));

  const phone = await visit(origin);
  await signIn(phone, email);
  await phone.page.getByRole("heading", { level: 1, name: "A sua conta" }).waitFor();
  expect(await phone.page.evaluate(isLanguage("pt-PT"))).toBe(true);
  await phone.page.reload();
  await phone.page.getByRole("heading", { level: 1, name: "A sua conta" }).waitFor();

  const chosen = await visit(origin);
  await chosen.page.goto("/dashboard/signin");
  await new Keyboard(chosen.page).reach(chosen.page.getByLabel("Language"));
  await chosen.page.keyboard.press("End");
  await chosen.until("it is Brazil's", isLanguage("pt-BR"));
  await chosen.page.keyboard.press("Home");
  await chosen.until("it is English", isLanguage("en"));
  await signIn(chosen, email);
  await chosen.page.getByRole("heading", { level: 1, name: "Your account" }).waitFor();
});
