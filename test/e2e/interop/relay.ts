// The relay of the interoperability run: a Postfix that passes mail on to the MX. It listens four
// times: for everybody on this machine (mynetworks) with STARTTLS, for those alone who sign in after
// STARTTLS, with PLAIN or with LOGIN alone, and for those who sign in over implicit TLS. Its certificate comes from an authority made
// for the run, its one account is in a password file of Cyrus SASL.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate } from "../../support/peers/authority.ts";
import { startPostfix, type Postfix } from "../../support/peers/postfix.ts";
import { freePort, waitForListener, type Cleanup } from "../../support/peers/process.ts";
import { makeAccount } from "../../support/peers/sasl.ts";
import { MX_DOMAIN } from "./mx.ts";

export const RELAY_HOST = "relay.test";
export const RELAY_ACCOUNT = { username: "pombo-relay", password: "geheim # Wort é" };
/** Refused by the relay itself. */
export const UNKNOWN_USER = "unknown-at-relay";

export interface Relay {
  readonly postfix: Postfix;
  /** STARTTLS, for all of this machine. */
  readonly openPort: number;
  /** STARTTLS and AUTH. */
  readonly saslPort: number;
  /** The same without PLAIN. */
  readonly loginPort: number;
  /** Implicit TLS and AUTH. */
  readonly tlsPort: number;
  /** The authority of its certificate, PEM. */
  readonly caFile: string;
}

export async function startRelay(options: { folder: string; mxPort: number; cleanup: Cleanup }): Promise<Relay> {
  const folder = join(options.folder, "relay");
  mkdirSync(folder);
  const certificate = await makeCertificate(folder, [RELAY_HOST]);
  const passwords = await makeAccount(folder, { ...RELAY_ACCOUNT, realm: RELAY_HOST });
  const [openPort, saslPort, loginPort, tlsPort] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const sasl = `pwcheck_method: auxprop\nauxprop_plugin: sasldb\nsasldb_path: ${passwords}\nmech_list: `;
  const signedInOnly = "-o smtpd_sasl_auth_enable=yes -o mynetworks=192.0.2.1/32";
  const postfix = await startPostfix({
    folder,
    hostname: RELAY_HOST,
    port: openPort,
    services: `127.0.0.1:${saslPort} inet n - n - - smtpd ${signedInOnly}
127.0.0.1:${loginPort} inet n - n - - smtpd ${signedInOnly} -o smtpd_sasl_path=login
127.0.0.1:${tlsPort} inet n - n - - smtpd ${signedInOnly} -o smtpd_tls_wrappermode=yes
`,
    sasl: { smtpd: `${sasl}PLAIN LOGIN\n`, login: `${sasl}LOGIN\n` },
    settings: {
      relayhost: `[127.0.0.1]:${options.mxPort}`,
      smtp_tls_security_level: "may",
      smtpd_tls_security_level: "may",
      smtpd_tls_auth_only: "yes",
      smtpd_tls_cert_file: certificate.certFile,
      smtpd_tls_key_file: certificate.keyFile,
      smtpd_tls_received_header: "yes",
      smtpd_sasl_type: "cyrus",
      smtpd_sasl_path: "smtpd",
      smtpd_sasl_local_domain: RELAY_HOST,
      smtpd_sasl_authenticated_header: "yes",
      cyrus_sasl_config_path: "$config_directory/sasl",
      smtpd_relay_restrictions: "permit_mynetworks, permit_sasl_authenticated, reject_unauth_destination",
      smtpd_recipient_restrictions: `check_recipient_access inline:{{${UNKNOWN_USER}@${MX_DOMAIN}=550 5.1.1 No such user}}`,
    },
  });
  options.cleanup.add(() => postfix.stop());
  await Promise.all([saslPort, loginPort, tlsPort].map((port) => waitForListener(port)));
  return { postfix, openPort, saslPort, loginPort, tlsPort, caFile: certificate.caFile };
}
