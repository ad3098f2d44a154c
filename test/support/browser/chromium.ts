// Debian's Chromium without a window. It finds no host but this machine, whatever a page asks for.

import { type Browser, chromium } from "playwright-core";
import { pathOf, type Tool } from "../peers/packages.ts";

export const CHROMIUM: Tool = { program: "chromium", package: "chromium" };

/** A name for this machine that is not its own: another site. */
const STRANGER_HOST = "stranger.test";

const RULES = [
  `MAP ${STRANGER_HOST} 127.0.0.1`,
  "MAP localhost 127.0.0.1",
  "MAP * ~NOTFOUND",
  "EXCLUDE 127.0.0.1",
  "EXCLUDE localhost",
].join(" , ");

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: pathOf(CHROMIUM.program),
    // It refuses its own sandbox to root.
    args: ["--no-sandbox", `--host-resolver-rules=${RULES}`],
  });
}
