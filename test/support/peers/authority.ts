// A certificate from an authority that is made for one run, for peers that verify it.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { mustRun } from "./process.ts";

export interface Certificate {
  /** The authority, PEM. */
  caFile: string;
  certFile: string;
  keyFile: string;
}

/** For these DNS names only, in files of `folder`. */
export async function makeCertificate(folder: string, names: string[], days = 2): Promise<Certificate> {
  const file = (name: string): string => join(folder, name);
  const [caFile, caKey, certFile, keyFile] = [file("ca.crt"), file("ca.key"), file("server.crt"), file("server.key")];
  const [request, extensions] = [file("server.csr"), file("server.ext")];
  const key = ["-newkey", "rsa:2048", "-nodes"];
  const openssl = (...args: string[]): Promise<string> => mustRun(["openssl", ...args]);
  const authority = ["-days", String(days), "-subj", "/CN=Interop authority", "-keyout", caKey, "-out", caFile];
  await openssl("req", "-x509", ...key, ...authority);
  await openssl("req", ...key, "-subj", `/CN=${names[0]}`, "-keyout", keyFile, "-out", request);
  writeFileSync(extensions, `subjectAltName=${names.map((name) => `DNS:${name}`).join()}\n`);
  const issued = ["-CA", caFile, "-CAkey", caKey, "-CAcreateserial", "-days", String(days), "-extfile", extensions];
  await openssl("x509", "-req", "-in", request, ...issued, "-out", certFile);
  return { caFile, certFile, keyFile };
}
