// A person who uses the keyboard and nothing else: what cannot be reached by Tab cannot be used here.

import type { Locator, Page } from "playwright-core";
import { waitUntil } from "../peers/process.ts";

const FIND_TIMEOUT_MS = 15_000;
/** More than any page has places to stop at. */
const MAX_TABS = 120;

export class Keyboard {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  /** Goes on by Tab until the place has the focus, which is seen there. */
  async reach(place: Locator): Promise<void> {
    await place.waitFor();
    for (let pressed = 0; pressed <= MAX_TABS; pressed += 1) {
      if (await place.evaluate((each) => each.matches(":focus-visible"))) return;
      await this.#page.keyboard.press("Tab");
    }
    throw new Error(`the keyboard does not reach ${String(place)}`);
  }

  /** Types into the field of that label, instead of what it holds. */
  async fill(label: string | RegExp, text: string): Promise<void> {
    await this.reach(await this.#find((front) => front.getByLabel(label, { exact: true })));
    await this.#page.keyboard.press("ControlOrMeta+A");
    await this.#page.keyboard.insertText(text);
  }

  /** Presses the button or follows the link of that name. */
  async press(name: string | RegExp, role: "button" | "link" | "tab" | "menuitem" = "button"): Promise<void> {
    await this.reach(await this.#find((front) => front.getByRole(role, { name, exact: true })));
    await this.#page.keyboard.press("Enter");
  }

  /** Chooses among the radio buttons of which this one stands `steps` below the one that is chosen. */
  async choose(chosen: string | RegExp, steps: number): Promise<void> {
    await this.reach(await this.#find((front) => front.getByRole("radio", { name: chosen })));
    for (let step = 0; step < steps; step += 1) await this.#page.keyboard.press("ArrowDown");
  }

  /** Waits for it in the dialog that is open, else on the page: a dialog that is about to close has it not. */
  async #find(build: (front: Page | Locator) => Locator): Promise<Locator> {
    let place = build(this.#page);
    await waitUntil(`${String(place)} in front`, FIND_TIMEOUT_MS, async () => {
      const dialog = this.#page.locator("dialog[open]").last();
      place = build((await dialog.count()) > 0 ? dialog : this.#page);
      return (await place.count()) > 0;
    });
    return place;
  }
}
