// A Postfix that has pombo as its relay, as a server does whose programs call sendmail. It signs in and verifies the
// certificate. The sender's address chooses the way: STARTTLS, implicit TLS, or the proxy that cuts.

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathOf } from "../../../support/peers/packages.ts";
import { startPostfix, type Postfix } from "../../../support/peers/postfix.ts";
import { freePort, mustRun, waitUntil, type Cleanup } from "../../../support/peers/process.ts";
import { runWithInput, writeRaw } from "./commands.ts";
import { SENDER_DOMAIN, type Message } from "./messages.ts";
import type { Mode, Peer, Server, Submit } from "./peers.ts";

const HOST = "app.test";
const SENT_TIMEOUT_MS = 20_000;
const FLUSH_EVERY_MS = 300;

export type Way = Mode | "cut";

export interface PostfixClient {
  postfix: Postfix;
  /** As a program hands it to sendmail: the recipients are those of its header. */
  send(file: string, way: Way): Promise<void>;
  waitUntilSent(): Promise<void>;
  /** Tries at once all that waits. */
  flushUntilSent(): Promise<void>;
}

export async function startPostfixClient(options: {
  folder: string;
  servers: Record<Mode, Server>;
  /** The port of the proxy. */
  cutPort: number;
  cleanup: Cleanup;
}): Promise<PostfixClient> {
  const { servers, cutPort, cleanup } = options;
  const folder = join(options.folder, "postfix-client");
  mkdirSync(folder);
  const { host, caFile, username, password } = servers.starttls;
  const way = (name: Way, transport: string, port: number): string =>
    `{${senderOf(name)}=${transport}:[${host}]:${port}}`;
  const ways = [
    way("starttls", "smtp", servers.starttls.port),
    way("implicit", "submissions", servers.implicit.port),
    way("cut", "smtp", cutPort),
  ];
  const postfix = await startPostfix({
    folder,
    hostname: HOST,
    port: await freePort(),
    services: "submissions unix - - n - - smtp -o smtp_tls_wrappermode=yes\n",
    settings: {
      myorigin: SENDER_DOMAIN,
      sender_dependent_default_transport_maps: `inline:{${ways.join(", ")}}`,
      smtp_host_lookup: "native",
      smtp_sasl_auth_enable: "yes",
      smtp_sasl_password_maps: `static:{${username}:${password}}`,
      smtp_sasl_security_options: "noanonymous",
      smtp_tls_security_level: "secure",
      smtp_tls_secure_cert_match: "nexthop",
      smtp_tls_CAfile: caFile,
      smtp_tls_loglevel: "1",
      // Only a flush tries again.
      minimal_backoff_time: "1000s",
    },
  });
  cleanup.add(() => postfix.stop());
  return {
    postfix,
    send: async (file, name) => {
      const command = [pathOf("sendmail"), "-C", postfix.configFolder, "-f", senderOf(name), "-oi", "-t"];
      const finished = await runWithInput(command, file);
      if (finished.exitCode !== 0) throw new Error(`sendmail: ${finished.output}`);
    },
    waitUntilSent: () => waitUntil("Postfix has sent all", SENT_TIMEOUT_MS, () => postfix.queueLength() === 0),
    flushUntilSent: () =>
      // Once would do if it came after the message had gone to the deferred ones, which Postfix logs before.
      waitUntil("Postfix has sent all", SENT_TIMEOUT_MS, async () => {
        await mustRun([pathOf("postqueue"), "-c", postfix.configFolder, "-f"]);
        await Bun.sleep(FLUSH_EVERY_MS);
        return postfix.queueLength() === 0;
      }),
  };
}

/** Postfix as one of the peers. */
export function postfixPeer(client: PostfixClient, id: string): Peer {
  const submit =
    (folder: string): Submit =>
    async (messagesFile, { mode }) => {
      const logged = client.postfix.log().length;
      const written = await writeRaw(messagesFile, folder);
      const messages = JSON.parse(readFileSync(messagesFile, "utf8")) as Message[];
      for (const { key } of messages) await client.send(join(written, `${key}.eml`), mode);
      await client.waitUntilSent();
      const output = client.postfix.log().slice(logged);
      const isSent = !/status=(deferred|bounced)/.test(output);
      const keys = isSent ? messages.map(({ key }) => `sent ${key}\n`).join("") : "";
      return { exitCode: isSent ? 0 : 1, output: output + keys };
    };
  return { name: "Postfix", id, isSmoke: true, prepare: async (folder) => submit(folder) };
}

function senderOf(way: Way): string {
  return `${way}@${SENDER_DOMAIN}`;
}
