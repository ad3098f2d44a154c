// The peer of `script/bench submission`: Postfix's smtpd with STARTTLS and the passwords of Cyrus SASL, the same certificate
// as pombo's, as many processes as it likes and no in-flow delay. Its access table puts every message on hold: it is synced in
// the queue and stays there, so that neither qmgr nor a delivery costs it anything.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RELAY_CERTIFICATE } from "../../test/support/fakes/certificates.ts";
import { startPostfix } from "../../test/support/peers/postfix.ts";
import { type Cleanup, freePort } from "../../test/support/peers/process.ts";
import { makeAccount } from "../../test/support/peers/sasl.ts";
import type { Account } from "../submission-session.ts";

const HOST = "relay.test";
const ACCOUNT = { username: "bench", password: "a password of the bench" };

export interface SubmissionPeer {
  account: Account;
  /** Messages in its queue. */
  count(): number;
  cpuSeconds(): number;
}

export async function startSubmissionPeer(parent: string, cleanup: Cleanup): Promise<SubmissionPeer> {
  const folder = join(parent, "peer");
  mkdirSync(folder);
  const [certFile, keyFile] = [join(folder, "peer.crt"), join(folder, "peer.key")];
  writeFileSync(certFile, RELAY_CERTIFICATE.cert);
  writeFileSync(keyFile, RELAY_CERTIFICATE.key, { mode: 0o600 });
  const passwords = await makeAccount(folder, { ...ACCOUNT, realm: HOST });
  const postfix = await startPostfix({
    folder,
    hostname: HOST,
    port: await freePort(),
    sasl: { smtpd: `pwcheck_method: auxprop\nauxprop_plugin: sasldb\nsasldb_path: ${passwords}\nmech_list: PLAIN\n` },
    settings: {
      mynetworks: "192.0.2.1/32",
      smtpd_sasl_auth_enable: "yes",
      smtpd_sasl_type: "cyrus",
      smtpd_sasl_path: "smtpd",
      smtpd_sasl_local_domain: HOST,
      cyrus_sasl_config_path: "$config_directory/sasl",
      smtpd_tls_security_level: "may",
      smtpd_tls_auth_only: "yes",
      smtpd_tls_cert_file: certFile,
      smtpd_tls_key_file: keyFile,
      smtpd_relay_restrictions: "permit_sasl_authenticated, reject",
      smtpd_recipient_restrictions: "check_recipient_access static:HOLD, permit_sasl_authenticated, reject",
      default_process_limit: "100",
      in_flow_delay: "0",
    },
  });
  cleanup.add(() => postfix.stop());
  return {
    account: { port: postfix.port, username: `${ACCOUNT.username}@${HOST}`, password: ACCOUNT.password },
    count: () => postfix.queueLength(),
    cpuSeconds: postfix.cpuSeconds,
  };
}
