/**
 * The verification of a server's certificate, where policy asks for that (`verify`),
 * and the words for one that is not. Everywhere else certificates are not looked at (R17).
 */
import * as tls from "node:tls";
import { cleanReply } from "../replies/reply.ts";

/** `ca`: PEM, in place of the authorities that come with the program. */
export function verification({ host, ca }: { host: string; ca: string | null }): tls.ConnectionOptions {
  return {
    ...(ca === null ? {} : { ca }),
    // By itself the runtime compares with the server name, and an address has none.
    checkServerIdentity: (_, certificate) => tls.checkServerIdentity(host, certificate),
  };
}

/** OpenSSL's names for what can be wrong with a certificate, and the runtime's for a wrong name in it. */
const CERTIFICATE_FAULT = /^(?:ERR_TLS_CERT_|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_(?:CA|PURPOSE))/;

/** The reason of a break, for people. */
export function describeFault(error: Error & { code?: unknown }): string {
  const isOfCertificate = typeof error.code === "string" && CERTIFICATE_FAULT.test(error.code);
  return (isOfCertificate ? "its certificate is not valid: " : "") + cleanReply(error.message);
}
