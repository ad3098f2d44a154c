// Debian's Chromium without a window. It finds no host but this machine, whatever a page asks for.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { mustRun } from "../peers/process.ts";
import { TLS_HOST, TLS_KEY_HASH } from "./tls-proxy.ts";
import { pathOf, type Tool } from "../peers/packages.ts";

export const CHROMIUM: Tool = { program: "chromium", package: "chromium" };

/** Puts an authority into a Chromium's own store. */
export const CERTUTIL: Tool = { program: "certutil", package: "libnss3-tools" };

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
  return launch([`--host-resolver-rules=${RULES}`, `--ignore-certificate-errors-spki-list=${TLS_KEY_HASH}`]);
}

/** One that knows the authority (a PEM file) as somebody who has added it, and checks all that it is shown. `folder` is its own. */
export async function launchTrusting(authority: string, { folder, name }: { folder: string; name: string }) {
  const store = `sql:${join(folder, ".pki/nssdb")}`;
  mkdirSync(join(folder, ".pki/nssdb"), { recursive: true });
  await mustRun([CERTUTIL.program, "-d", store, "-N", "--empty-password"]);
  await mustRun([CERTUTIL.program, "-d", store, "-A", "-t", "C,,", "-n", "authority", "-i", authority]);
  return launch([`--host-resolver-rules=MAP ${name} 127.0.0.1 , MAP * ~NOTFOUND , EXCLUDE 127.0.0.1`], {
    HOME: folder,
  });
}

/** It refuses its own sandbox to root. */
function launch(args: string[], env: Record<string, string> = {}): Promise<Browser> {
  return chromium.launch({
    executablePath: pathOf(CHROMIUM.program),
    args: ["--no-sandbox", ...args],
    env: { ...process.env, ...env },
  });
}
