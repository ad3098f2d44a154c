// Tells the operator which program cannot hand in mail, and why: each once a minute, so that nobody can fill the log.

import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { isKeyForm } from "../../platform/http/auth.ts";
import type { Refusal } from "./replies.ts";

const EVERY_MS = 60_000;
/** Beyond them all are forgotten. */
const MAX_REMEMBERED = 1_000;
/** As the list of API keys shows it: svc_ and eight characters. */
const PREFIX_CHARACTERS = 12;

export class RefusalLog {
  readonly #deps: { clock: Pick<Clock, "now">; log: Log };
  readonly #told = new Map<string, number>();

  constructor(deps: { clock: Pick<Clock, "now">; log: Log }) {
    this.#deps = deps;
  }

  /** A password that is no valid key. One that is no key at all is not shown: it may open something else. */
  wrongPassword(client: string, password: string): void {
    const key = isKeyForm(password) ? `${password.slice(0, PREFIX_CHARACTERS)}…` : null;
    if (this.#isDue(`password ${client}`)) this.#deps.log.event("submission.auth_failed", { client, key }, "warn");
  }

  /** A message or recipient of a workspace. The words that may name an address are left out. */
  refused({ responseCode: code, message }: Refusal, workspace: string, client: string): void {
    const [why = ""] = message.split(":", 1);
    if (this.#isDue(`${workspace} ${code} ${why}`))
      this.#deps.log.event("submission.refused", { workspace, client, code, why });
  }

  #isDue(what: string): boolean {
    const now = this.#deps.clock.now();
    const last = this.#told.get(what);
    // Also after the clock was put back.
    if (last !== undefined && now >= last && now - last < EVERY_MS) return false;
    if (this.#told.size >= MAX_REMEMBERED) this.#told.clear();
    this.#told.set(what, now);
    return true;
  }
}
