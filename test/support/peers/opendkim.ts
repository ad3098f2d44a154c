// A private OpenDKIM milter, as signer (the benchmark's peer) or as verifier (the MX of the
// interoperability run). Its files and its socket live in one folder or on one loopback port.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, startProcess, waitForListener, type Running } from "./process.ts";
import { pathOf } from "./packages.ts";

export interface OpenDkim {
  /** As Postfix's smtpd_milters wants it. */
  readonly milter: string;
  readonly process: Running;
}

/** How Postfix reaches the milter. A unix socket has no Nagle delay between the milter's small writes. */
export type MilterSocket = "inet" | "unix";

/** Signs with one RSA key, relaxed/relaxed, for mail that comes from 127.0.0.1. */
export function startSigner(options: {
  folder: string;
  domain: string;
  selector: string;
  privateKeyPem: string;
  socket: MilterSocket;
}): Promise<OpenDkim> {
  const keyFile = join(options.folder, "opendkim.key");
  writeFileSync(keyFile, options.privateKeyPem, { mode: 0o600 });
  return start(options.folder, options.socket, {
    Mode: "s",
    Canonicalization: "relaxed/relaxed",
    SignatureAlgorithm: "rsa-sha256",
    Domain: options.domain,
    Selector: options.selector,
    KeyFile: keyFile,
    InternalHosts: "127.0.0.1",
    OversignHeaders: "From",
  });
}

/**
 * Adds Authentication-Results to what passes. Keys come from `keyFile` (see zone.ts) and not from DNS:
 * OpenDKIM has libunbound read its configuration anew for every message, which two threads cannot do
 * at a time, and it ends ("fatal flex scanner internal error") when two messages come together.
 */
export function startVerifier(options: { folder: string; hostname: string; keyFile: string }): Promise<OpenDkim> {
  return start(options.folder, "unix", {
    Mode: "v",
    AuthservID: options.hostname,
    AlwaysAddARHeader: "yes",
    // With the default, loopback counts as internal and OpenDKIM leaves such mail alone.
    InternalHosts: "192.0.2.1",
    TestPublicKeys: options.keyFile,
  });
}

async function start(folder: string, socket: MilterSocket, settings: Record<string, string>): Promise<OpenDkim> {
  const where = socket === "inet" ? await freePort() : join(folder, "opendkim.sock");
  const all: Record<string, string> = {
    Syslog: "no",
    // The folder's parents belong to everybody, which OpenDKIM otherwise takes for an unsafe key.
    RequireSafeKeys: "no",
    PidFile: join(folder, "opendkim.pid"),
    // Postfix's smtpd connects as its own user.
    UMask: "000",
    Socket: typeof where === "number" ? `inet:${where}@127.0.0.1` : `local:${where}`,
    ...settings,
  };
  const configFile = join(folder, "opendkim.conf");
  writeFileSync(
    configFile,
    Object.entries(all)
      .map(([name, value]) => `${name} ${value}\n`)
      .join(""),
  );
  const process = startProcess({
    command: [pathOf("opendkim"), "-f", "-x", configFile],
    logFile: join(folder, "opendkim.log"),
  });
  try {
    await waitForListener(where);
  } catch (error) {
    await process.stop();
    throw new Error(`OpenDKIM did not start:\n${process.output()}`, { cause: error });
  }
  return { milter: typeof where === "number" ? `inet:127.0.0.1:${where}` : `unix:${where}`, process };
}
