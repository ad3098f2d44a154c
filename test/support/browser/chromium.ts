// Debian's Chromium without a window. It finds no host but this machine, whatever a page asks for.

import { type Browser, chromium } from "playwright-core";
import { TLS_HOST, TLS_KEY_HASH } from "./tls-proxy.ts";
import { pathOf, type Tool } from "../peers/packages.ts";

export const CHROMIUM: Tool = { program: "chromium", package: "chromium" };

/** A name for this machine that is not its own: another site. */
export const STRANGER_HOST = "stranger.test";

const RULES = [
  `MAP ${STRANGER_HOST} 127.0.0.1`,
  `MAP ${TLS_HOST} 127.0.0.1`,
  "MAP localhost 127.0.0.1",
  "MAP * ~NOTFOUND",
  "EXCLUDE 127.0.0.1",
  "EXCLUDE localhost",
].join(" , ");

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: pathOf(CHROMIUM.program),
    args: [
      // It refuses its own sandbox to root.
      "--no-sandbox",
      `--host-resolver-rules=${RULES}`,
      `--ignore-certificate-errors-spki-list=${TLS_KEY_HASH}`,
    ],
  });
}
