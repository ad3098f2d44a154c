// The receiving side of the interoperability run: a Postfix that is the MX of one domain. It offers
// STARTTLS with a certificate made for the run, knows a few users (550 for all others), asks a small
// policy service about each recipient (which greylists one of them), has OpenDKIM verify signatures,
// and stores mail in maildirs.

import { chownSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { startVerifier } from "../../support/peers/opendkim.ts";
import { startPostfix, userId, type Postfix } from "../../support/peers/postfix.ts";
import { freePort, mustRun, waitUntil, type Cleanup } from "../../support/peers/process.ts";

export const MX_DOMAIN = "interop.test";
export const MX_HOST = `mx.${MX_DOMAIN}`;
/** It accepts mail for everybody there, and finds out afterwards that it has nobody. */
export const LATE_DOMAIN = `late.${MX_DOMAIN}`;
export const GREYLISTED_USER = "grey";
const ARRIVAL_TIMEOUT_MS = 20_000;

export interface Mx {
  readonly postfix: Postfix;
  readonly port: number;
  /** Envelope senders of the greylisted recipient's attempts, in order. */
  readonly greylistedSenders: string[];
  /** Waits for the newest mail in a user's maildir, with CRLF line ends. @throws Error after 20 s */
  mailOf(user: string): Promise<Buffer>;
  /** All mail in a maildir, the oldest first, once there is as much as `count`. @throws Error after 20 s */
  allMailOf(user: string, count: number): Promise<Buffer[]>;
}

export async function startMx(options: {
  folder: string;
  /** The DKIM keys, see withKeyFile. */
  keyFile: string;
  users: string[];
  /** Recipients at other domains than the MX's own, and their maildirs. */
  others: { address: string; folder: string }[];
  /** The domains of those, and any that it takes nothing for. */
  otherDomains: string[];
  /** Further lines of master.cf, by the port. */
  services: (port: number) => string;
  /** Where its own reports go: hosts, and the loopback port they lead to. */
  reports: { hosts: string[]; port: number };
  cleanup: Cleanup;
}): Promise<Mx> {
  const { folder, cleanup } = options;
  const mailFolder = join(folder, "mail");
  mkdirSync(mailFolder);
  const owner = await userId("nobody");
  chownSync(mailFolder, owner, 0);
  const certificate = await makeCertificate(folder);

  const verifier = await startVerifier({ folder, hostname: MX_HOST, keyFile: options.keyFile });
  cleanup.add(() => verifier.process.stop());
  const greylistedSenders: string[] = [];
  const policyPort = await startPolicy(greylistedSenders, cleanup);
  const port = await freePort();
  const own = [GREYLISTED_USER, ...options.users].map((user) => ({ address: `${user}@${MX_DOMAIN}`, folder: user }));
  const mailboxes = [...own, ...options.others].map(({ address, folder: maildir }) => `{${address}=${maildir}/}`);
  const { reports } = options;
  const transports = [
    `{${LATE_DOMAIN}=virtual:}`,
    ...reports.hosts.map((host) => `{${host}=smtp:[127.0.0.1]:${reports.port}}`),
  ];
  const postfix = await startPostfix({
    folder,
    hostname: MX_HOST,
    port,
    services: options.services(port),
    settings: {
      // Nobody is trusted: loopback too is a stranger to this MX.
      mynetworks: "192.0.2.1/32",
      virtual_mailbox_domains: [MX_DOMAIN, ...options.otherDomains].join(", "),
      virtual_mailbox_base: mailFolder,
      virtual_mailbox_maps: `inline:{${mailboxes.join(", ")}}`,
      virtual_uid_maps: `static:${owner}`,
      virtual_gid_maps: `static:${owner}`,
      // No list of its users: every recipient there is accepted.
      relay_domains: LATE_DOMAIN,
      relay_recipient_maps: "",
      transport_maps: `inline:{${transports.join(", ")}}`,
      smtp_tls_security_level: "may",
      smtp_tls_loglevel: "1",
      smtpd_relay_restrictions: "reject_unauth_destination",
      smtpd_recipient_restrictions: `reject_unlisted_recipient, check_policy_service inet:127.0.0.1:${policyPort}`,
      smtpd_tls_security_level: "may",
      smtpd_tls_cert_file: certificate.certFile,
      smtpd_tls_key_file: certificate.keyFile,
      smtpd_tls_received_header: "yes",
      smtpd_milters: verifier.milter,
      milter_default_action: "tempfail",
    },
  });
  cleanup.add(() => postfix.stop());

  const fresh = (user: string): string => join(mailFolder, user, "new");
  // Maildir names start with the second and the microseconds of delivery: the last is the newest.
  const files = (user: string): string[] => list(fresh(user)).toSorted();
  // Postfix stores LF; signatures are over CRLF.
  const read = (user: string, file: string): Buffer =>
    Buffer.from(readFileSync(join(fresh(user), file), "latin1").replace(/\n/g, "\r\n"), "latin1");
  return {
    postfix,
    port,
    greylistedSenders,
    mailOf: async (user) => {
      await waitUntil(`mail for ${user}`, ARRIVAL_TIMEOUT_MS, () => files(user).length > 0);
      return read(user, files(user).at(-1) ?? "");
    },
    allMailOf: async (user, count) => {
      await waitUntil(`${count} mails for ${user}`, ARRIVAL_TIMEOUT_MS, () => files(user).length >= count);
      return files(user).map((file) => read(user, file));
    },
  };
}

/** Self-signed: senders are opportunistic and do not verify it (R17). */
async function makeCertificate(folder: string): Promise<{ certFile: string; keyFile: string }> {
  const [certFile, keyFile] = [join(folder, "mx.crt"), join(folder, "mx.key")];
  const kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", `/CN=${MX_HOST}`];
  await mustRun(["openssl", "req", ...kind, "-keyout", keyFile, "-out", certFile]);
  return { certFile, keyFile };
}

/** Postfix's policy protocol (SMTPD_POLICY_README): `name=value` lines, an empty line, one action back. */
async function startPolicy(greylistedSenders: string[], cleanup: Cleanup): Promise<number> {
  const server = createServer((socket) => {
    let waiting = "";
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk) => {
      waiting += chunk.toString();
      for (let end = waiting.indexOf("\n\n"); end !== -1; end = waiting.indexOf("\n\n")) {
        const action = decide(waiting.slice(0, end), greylistedSenders);
        waiting = waiting.slice(end + 2);
        socket.write(`action=${action}\n\n`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanup.add(() => void server.close());
  const address = server.address();
  return address !== null && typeof address === "object" ? address.port : 0;
}

function decide(request: string, greylistedSenders: string[]): string {
  const value = (name: string): string => new RegExp(`^${name}=(.*)$`, "m").exec(request)?.[1] ?? "";
  if (value("recipient") !== `${GREYLISTED_USER}@${MX_DOMAIN}`) return "DUNNO";
  greylistedSenders.push(value("sender"));
  return greylistedSenders.length === 1 ? "DEFER_IF_PERMIT 4.7.1 Greylisted, please try again later" : "DUNNO";
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // no mail yet
  }
}
