// The programs that pombo is compared with and checked against come from the system's packages.
// Debian and Ubuntu as root: they are installed here when missing. Elsewhere: a sentence says
// which ones to install.

import { existsSync, unlinkSync, writeFileSync } from "node:fs";
import { run } from "./process.ts";

/** Debian's switch for package scripts: exit code 101 forbids starting services (policy-rc.d). */
const SERVICE_POLICY = "/usr/sbin/policy-rc.d";
const SEARCH_PATH = `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin:/usr/local/sbin`;

export interface Tool {
  /** A program, or the full path of a file. */
  program: string;
  package: string;
}

export const POSTFIX: Tool = { program: "postfix", package: "postfix" };
export const SMTP_SINK: Tool = { program: "smtp-sink", package: "postfix" };
export const OPENDKIM: Tool = { program: "opendkim", package: "opendkim" };
/** What lets a Postfix ask for passwords: the tool that keeps them, and the mechanisms. */
export const SASL: Tool = { program: "saslpasswd2", package: "sasl2-bin libsasl2-modules" };
/** Its TLS is a package of its own, which it only recommends. */
export const SWAKS: Tool = { program: "swaks", package: "swaks libnet-ssleay-perl" };
/** SMPP for Perl, with an SMSC among its examples. */
export const NET_SMPP: Tool = { program: "/usr/share/perl5/Net/SMPP.pm", package: "libnet-smpp-perl" };

/** Null when every tool is there (perhaps by now), else what the user must do. */
export async function ensureTools(tools: Tool[]): Promise<string | null> {
  // Postfix itself refuses to run its daemons for anybody but root.
  if (process.getuid?.() !== 0) {
    return `run this as root with the packages ${packagesOf(tools)}: a private Postfix needs root to start`;
  }
  const missing = tools.filter(isMissing);
  if (missing.length === 0) return null;
  if (Bun.which("apt-get", { PATH: SEARCH_PATH }) === null) {
    return `install these packages first: ${packagesOf(missing)}`;
  }
  const trouble = await install(missing);
  return trouble ?? (missing.some(isMissing) ? `install these packages first: ${packagesOf(missing)}` : null);
}

/** The full path of a program, also when the sbin folders are not on the PATH. */
export function pathOf(program: string): string {
  return Bun.which(program, { PATH: SEARCH_PATH }) ?? program;
}

/** Whether this machine lacks it. */
export function isMissing(tool: Tool): boolean {
  if (tool.program.startsWith("/")) return !existsSync(tool.program);
  return Bun.which(tool.program, { PATH: SEARCH_PATH }) === null;
}

function packagesOf(tools: Tool[]): string {
  return [...new Set(tools.map((tool) => tool.package))].join(" ");
}

async function install(tools: Tool[]): Promise<string | null> {
  const packages = packagesOf(tools).split(" ");
  console.error(`installing ${packages.join(" ")} with apt-get …`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  // Without this the packages would start a system-wide Postfix on port 25.
  const isPolicyOurs = !existsSync(SERVICE_POLICY);
  if (isPolicyOurs) writeFileSync(SERVICE_POLICY, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    await run(["apt-get", "update", "-q"], env);
    // --no-remove: another mail server on this machine is not thrown out for a test.
    const options = ["-y", "-q", "--no-remove", "--no-install-recommends"];
    const finished = await run(["apt-get", "install", ...options, ...packages], env);
    if (finished.exitCode === 0) return null;
    return `apt-get could not install ${packages.join(" ")}:\n${finished.output.slice(-2000)}`;
  } finally {
    if (isPolicyOurs) unlinkSync(SERVICE_POLICY);
  }
}
